//! Reads written declarations: `f(address to, (uint256 id, bytes data)[] items)`.

use alloy_dyn_abi::DynSolType;
use alloy_json_abi::Param;

use super::MAX_DEPTH;

/// Returns the name and the parameters of a declaration. `None` when it is malformed or nested too
/// deeply.
pub(super) fn parse(text: &str) -> Option<(&str, Vec<Param>)> {
    let open = text.find('(')?;
    let (name, rest) = text.split_at(open);
    let mut reader = Reader { rest };
    let parameters = reader.list(0)?;
    reader.rest.is_empty().then_some((name, parameters))
}

/// Returns the canonical name of a type, as it is hashed for a selector.
///
/// The library's own name of a tuple with one member ends with a comma, which no compiler writes.
pub(super) fn type_name(ty: &DynSolType) -> String {
    match ty {
        DynSolType::Array(inner) => format!("{}[]", type_name(inner)),
        DynSolType::FixedArray(inner, length) => format!("{}[{length}]", type_name(inner)),
        DynSolType::Tuple(members) => {
            let members: Vec<String> = members.iter().map(type_name).collect();
            format!("({})", members.join(","))
        }
        _ => ty.sol_type_name().into_owned(),
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// Reads `(a, b, …)`.
    fn list(&mut self, depth: usize) -> Option<Vec<Param>> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.take('(')?;
        let mut found = Vec::new();
        self.spaces();
        if self.take(')').is_some() {
            return Some(found);
        }
        loop {
            self.spaces();
            found.push(self.parameter(depth)?);
            self.spaces();
            if self.take(')').is_some() {
                return Some(found);
            }
            self.take(',')?;
        }
    }

    /// Reads a type, its array suffixes, and an optional name.
    fn parameter(&mut self, depth: usize) -> Option<Param> {
        let (stem, components) = if self.rest.starts_with('(') {
            ("tuple", self.list(depth.saturating_add(1))?)
        } else {
            (self.word()?, Vec::new())
        };
        let suffixes = self.while_in(|c| matches!(c, '[' | ']') || c.is_ascii_digit());
        self.spaces();
        let name = self.while_in(|c| c.is_ascii_alphanumeric() || c == '_');
        Some(Param {
            ty: format!("{stem}{suffixes}"),
            name: name.to_owned(),
            components,
            internal_type: None,
        })
    }

    fn word(&mut self) -> Option<&'a str> {
        let word = self.while_in(|c| c.is_ascii_alphanumeric());
        (!word.is_empty()).then_some(word)
    }

    fn while_in(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn spaces(&mut self) {
        self.while_in(|c| c == ' ');
    }

    fn take(&mut self, expected: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }
}
