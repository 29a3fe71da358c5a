//! Cleans texts of upstreams, such as the names of tokens and messages. They are untrusted, so they
//! are cleaned before they are shown.

/// Returns `text` without control, formatting and bidirectional characters, with each run of white
/// space reduced to one space, and cut after `max_chars` characters. Letters of every script stay:
/// `USD₮0` keeps its `₮`.
#[must_use]
pub fn clean(text: &str, max_chars: usize) -> String {
    let mut cleaned = String::with_capacity(text.len().min(max_chars.saturating_mul(4)));
    let mut count = 0_usize;
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() {
            gap = count > 0;
            continue;
        }
        if !exact::is_plain(c) {
            continue;
        }
        let needed = if gap { 2 } else { 1 };
        if count.saturating_add(needed) > max_chars {
            break;
        }
        if gap {
            cleaned.push(' ');
            gap = false;
        }
        cleaned.push(c);
        count = count.saturating_add(needed);
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cleaning_keeps_letters_and_drops_hidden_characters() {
        assert_eq!(clean("USD₮0", 32), "USD₮0");
        assert_eq!(clean("US\u{202e}D\u{200b}T\u{0}", 32), "USDT");
        assert_eq!(clean("  a \n\t b  ", 32), "a b");
        assert_eq!(clean("tag\u{e0041}", 32), "tag");
        assert_eq!(clean("abcdef", 3), "abc");
        assert_eq!(clean("ab cd", 3), "ab");
    }

    proptest! {
        #[test]
        fn cleaned_text_is_never_longer_and_never_invisible(text in any::<String>(), max in 0usize..40) {
            let cleaned = clean(&text, max);
            prop_assert!(cleaned.chars().count() <= max);
            prop_assert!(!cleaned.chars().any(|c| !exact::is_plain(c)));
            prop_assert_eq!(clean(&cleaned, max), cleaned);
        }
    }
}
