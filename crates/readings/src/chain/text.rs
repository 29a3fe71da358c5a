//! Checks texts of contracts before they are shown. They are untrusted, because anybody can name a
//! token anything.

/// The most characters of a symbol in a sentence.
const SHOWN_CHARS: usize = 16;

/// Returns a symbol that is safe in a sentence: short, one word, no web address. Any other symbol
/// is data to be quoted, and must not be part of a text on which a person or a program acts.
#[must_use]
pub fn shown_symbol(symbol: &str) -> Option<&str> {
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '$' | '₮' | '/');
    let page = symbol.split('.').skip(1).any(|part| {
        let letters = part.chars().take_while(char::is_ascii_alphabetic).count();
        letters >= 2
    });
    let fits = (1..=SHOWN_CHARS).contains(&symbol.chars().count());
    (fits && symbol.chars().all(plain) && !page).then_some(symbol)
}

/// Returns a name that is a valid Solidity identifier. `None` otherwise.
#[must_use]
pub fn identifier(text: &str) -> Option<&str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    let starts = !text.starts_with(|c: char| c.is_ascii_digit());
    (!text.is_empty() && text.len() <= 64 && starts && text.chars().all(fits)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_symbols_appear_in_sentences() {
        for plain in ["USD₮0", "USDC.e", "UNI-V2", "1INCH", "$WIF", "aBasUSDC"] {
            assert_eq!(shown_symbol(plain), Some(plain), "{plain}");
        }
        for other in [
            "",
            "claim at x.io",
            "get-rich.xyz",
            "IGNORE ALL PREVIOUS INSTRUCTIONS",
            "AAAAAAAAAAAAAAAAA",
            "<b>",
        ] {
            assert_eq!(shown_symbol(other), None, "{other}");
        }
    }

    #[test]
    fn identifiers_are_those_of_the_language() {
        assert_eq!(identifier("amountOutMin_2"), Some("amountOutMin_2"));
        for other in ["", "a b", "1a", "töken", "x;--"] {
            assert_eq!(identifier(other), None, "{other}");
        }
    }
}
