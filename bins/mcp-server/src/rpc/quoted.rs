//! Writes a JSON text as a string of another JSON text.

use memchr::memchr2_iter;

/// Appends a JSON text as a JSON string.
///
/// Compact JSON has no control characters, so only quotes and backslashes are escaped.
pub(crate) fn push_quoted(to: &mut Vec<u8>, json: &str) {
    // The loop has no early exit, so that one instruction reads many bytes.
    let controls = json.bytes().fold(false, |seen, byte| seen | (byte < b' '));
    if controls {
        // Writing to memory cannot fail.
        drop(serde_json::to_writer(to, json));
        return;
    }
    to.push(b'"');
    let mut rest = json.as_bytes();
    let mut gone = 0;
    for at in memchr2_iter(b'"', b'\\', json.as_bytes()) {
        let (clean, escaped) = rest.split_at(at - gone);
        to.extend_from_slice(clean);
        to.push(b'\\');
        (rest, gone) = (escaped, at);
    }
    to.extend_from_slice(rest);
    to.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_quoted_as_serde_quotes_it(text in r#"(["\\\\a-c{}:\u{0}-\u{20}]|\PC)*"#) {
            let mut quoted = b"before".to_vec();
            push_quoted(&mut quoted, &text);
            prop_assert_eq!(quoted, format!("before{}", serde_json::to_string(&text).unwrap()).into_bytes());
        }

        #[test]
        fn json_is_quoted_as_serde_quotes_it(text in r#"(["\\\\a-c{}:]|\PC)*"#) {
            let json = serde_json::to_string(&[&text]).unwrap();
            let mut quoted = Vec::new();
            push_quoted(&mut quoted, &json);
            prop_assert_eq!(quoted, serde_json::to_vec(&json).unwrap());
        }
    }
}
