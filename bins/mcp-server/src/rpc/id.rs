//! Request ids.

use super::Member;

/// A request's id: a string or an integer of any size, in the caller's own spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id<'a>(&'a str);

impl<'a> Id<'a> {
    /// Reads an id; `None` when the value is neither a string nor an integer. MCP has no `null` id.
    pub(crate) fn read(value: Member<'a>) -> Option<Self> {
        let text = value.get();
        let is_string = text.starts_with('"');
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        (is_string || is_integer).then_some(Self(text))
    }

    /// The JSON text of the id.
    pub(crate) fn json(self) -> &'a str {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn strings_and_integers_are_ids_and_stay_as_written() {
        for text in [
            "0",
            "-1",
            "-0",
            "7",
            "123456789012345678901234567890",
            "\"\"",
            "\"a\\u0062\"",
            "\"1\"",
        ] {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            assert_eq!(Id::read(raw).map(Id::json), Some(text));
        }
        for text in ["null", "true", "1.5", "1.0", "1e3", "[]", "{}", "-1.0"] {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            assert_eq!(Id::read(raw), None, "{text}");
        }
    }
}
