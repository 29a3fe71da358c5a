//! What is taken of a post on X: who, where, and which tokens. Never its text.

/// Words in capitals that are symbols of tokens when they stand in a post.
const SYMBOLS: &[&str] = &[
    "BTC", "ETH", "SOL", "XRP", "BNB", "ADA", "DOGE", "TRX", "AVAX", "LINK", "LTC", "HYPE", "SUI",
    "TON", "ARB", "AAVE", "UNI", "USDT", "USDC", "OKB", "PEPE", "SHIB", "NEAR",
];
/// Most symbols that are taken of a post.
const MOST: usize = 5;
/// Longest symbol behind a `$`.
const LONGEST: usize = 12;

/// The name of an account on X: at most fifteen letters of ASCII, digits and underscores.
pub(crate) fn x_handle(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches('@');
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!text.is_empty() && text.len() <= 15 && text.chars().all(plain)).then(|| text.to_owned())
}

/// The address of a post by its account and number: made here, so that no other address can slip in.
pub(crate) fn post_url(handle: &str, id: &str) -> Option<String> {
    let number = !id.is_empty() && id.len() <= 20 && id.bytes().all(|byte| byte.is_ascii_digit());
    number.then(|| format!("https://x.com/{handle}/status/{id}"))
}

/// Symbols of tokens in the text of a post, in the order in which they stand there.
pub(crate) fn symbols_in(text: &str) -> Vec<String> {
    let mut symbols: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '$');
        let symbol = match word.strip_prefix('$') {
            Some(tag) => {
                let letters = tag.chars().all(|c| c.is_ascii_alphanumeric());
                let symbol = letters
                    && tag.len() <= LONGEST
                    && tag.starts_with(|c: char| c.is_ascii_alphabetic());
                symbol.then(|| tag.to_ascii_uppercase())
            }
            None => SYMBOLS.contains(&word).then(|| word.to_owned()),
        };
        if let Some(symbol) = symbol
            && !symbols.contains(&symbol)
            && symbols.len() < MOST
        {
            symbols.push(symbol);
        }
    }
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_and_posts_have_one_form() {
        assert_eq!(x_handle(" @kol_one ").as_deref(), Some("kol_one"));
        for bad in [
            "",
            "@",
            "a b",
            "kol/one",
            "кol_one",
            "sixteen_letters_x",
            "kol?x=1",
        ] {
            assert_eq!(x_handle(bad), None, "{bad}");
        }
        assert_eq!(
            post_url("a", "199").as_deref(),
            Some("https://x.com/a/status/199")
        );
        for bad in ["", "1/../../evil", "12a", "123456789012345678901"] {
            assert_eq!(post_url("a", bad), None, "{bad}");
        }
    }

    #[test]
    fn symbols_are_tagged_or_well_known() {
        assert_eq!(
            symbols_in("BTC looks strong, $eth too; $100k? LINK in bio $BTC"),
            ["BTC", "ETH", "LINK"]
        );
        assert!(symbols_in("link to one suit, ADAM $ $$ $<b>").is_empty());
    }
}
