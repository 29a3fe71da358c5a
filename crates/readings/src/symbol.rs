//! Compares the symbols of tokens. The text that is shown never changes.

use std::fmt;

use unicode_normalization::UnicodeNormalization;

/// The most characters of a symbol.
pub const MAX_CHARS: usize = 64;

/// A symbol in the form for comparison: compatibility forms folded, in upper case, without a
/// leading `$`, and with `₮` read as `T`. The source's text stays unchanged where it is shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolKey(String);

impl SymbolKey {
    /// Makes the key of `text`. `None` when it is empty or longer than [`MAX_CHARS`].
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('$').unwrap_or(text);
        let key: String = text
            .nfkc()
            .map(|c| if c == '₮' { 'T' } else { c })
            .flat_map(char::to_uppercase)
            .collect();
        let key = key.trim().to_owned();
        (!key.is_empty() && key.chars().count() <= MAX_CHARS).then_some(Self(key))
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `text` is the same symbol.
    #[must_use]
    pub fn names(&self, text: &str) -> bool {
        Self::new(text).is_some_and(|other| other == *self)
    }

    /// Whether every character is ASCII. Any other character may imitate one.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.0.is_ascii()
    }
}

impl fmt::Display for SymbolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_symbol_are_equal_and_imitations_are_not() {
        let usdt0 = SymbolKey::new("USD₮0").unwrap();
        for same in ["usdt0", "$USDT0", " USDT0 ", "ＵＳＤＴ０", "$usd₮0"] {
            assert!(usdt0.names(same), "{same}");
        }
        // The symbol has a Cyrillic letter that looks like ours.
        let imitation = SymbolKey::new("USDТ0").unwrap();
        assert_ne!(imitation, usdt0);
        assert!(usdt0.is_plain() && !imitation.is_plain());
        for nothing in ["", " ", "$", "$ "] {
            assert_eq!(SymbolKey::new(nothing), None, "{nothing}");
        }
        assert!(SymbolKey::new(&"A".repeat(65)).is_none());
    }
}
