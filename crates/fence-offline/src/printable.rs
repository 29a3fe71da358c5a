//! Foreign text on a terminal.

use std::fmt::{self, Write as _};

/// Most characters of one foreign text that are shown.
const MOST: usize = 500;

/// Text that may come from a foreign plan. Characters that could move the cursor, hide or reorder
/// other text are shown as escapes, so that a plan cannot write "verified" over its own refusal.
#[derive(Debug, Clone, Copy)]
pub struct Printable<'a>(pub &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, character) in self.0.chars().enumerate() {
            if index == MOST {
                return f.write_str("…");
            }
            if exact::is_plain(character) {
                f.write_char(character)?;
            } else {
                write!(f, "{}", character.escape_unicode())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_moves_the_cursor_or_the_text() {
        let shown = |text| Printable(text).to_string();
        assert_eq!(shown("USD₮0 ≥ 5"), "USD₮0 ≥ 5");
        assert_eq!(shown("a\nverified"), "a\\u{a}verified");
        assert_eq!(shown("\u{1b}[2K\r"), "\\u{1b}[2K\\u{d}");
        assert_eq!(shown("\u{9b}1A"), "\\u{9b}1A");
        assert_eq!(shown("\u{202e}deifirev"), "\\u{202e}deifirev");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(Printable(&"a".repeat(500)).to_string().len(), 500);
        assert_eq!(
            Printable(&"a".repeat(501)).to_string(),
            format!("{}…", "a".repeat(500))
        );
    }
}
