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
        if c.is_control() || is_invisible(c) {
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

/// Whether a character shows nothing, or changes how the text around it is shown. These are
/// bidirectional controls, zero-width characters, variation selectors, tags, interlinear marks, the
/// soft hyphen, and the byte-order mark.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
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
            prop_assert!(!cleaned.chars().any(|c| c.is_control() || is_invisible(c)));
            prop_assert_eq!(clean(&cleaned, max), cleaned);
        }
    }
}
