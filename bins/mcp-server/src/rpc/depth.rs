//! Bounds the nesting of a foreign JSON text without recursion.

/// The deepest accepted nesting. A plan's arguments need four levels.
pub(crate) const MAX_DEPTH: usize = 64;

/// Whether a text opens at most [`MAX_DEPTH`] arrays and objects inside one another. The parser
/// refuses a text that is not JSON.
pub(crate) fn is_shallow(text: &[u8]) -> bool {
    let mut depth = 0_usize;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => skip_string(&mut bytes),
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return false;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    true
}

fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_open_brackets_outside_strings_count() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(is_shallow(nested(MAX_DEPTH).as_bytes()));
        assert!(!is_shallow(nested(MAX_DEPTH + 1).as_bytes()));
        assert!(!is_shallow("{\"a\":".repeat(MAX_DEPTH + 1).as_bytes()));
        let text = format!("[\"{}\\\"{}\"]", "[".repeat(100), "{".repeat(100));
        assert!(is_shallow(text.as_bytes()));
        assert!(is_shallow("[]".repeat(1000).as_bytes()));
        assert!(is_shallow(b"]]]]\"\\"));
    }
}
