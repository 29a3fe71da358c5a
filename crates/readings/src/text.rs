//! Cleans texts of upstreams, such as the names of tokens and messages. They are untrusted, so they
//! are cleaned before they are shown.

/// How many characters are read for each that may be shown: tags take room.
const READ_FOR_EACH: usize = 4;

/// Returns `text` without control, formatting and bidirectional characters and without markup, with
/// each run of white space reduced to one space, and cut after `max_chars` characters. Letters of
/// every script stay: `USD₮0` keeps its `₮`.
#[must_use]
pub fn clean(text: &str, max_chars: usize) -> String {
    if !text.contains('<') {
        return visible(text, max_chars);
    }
    // Invisible characters go first, because they could hide a tag.
    let read = visible(text, max_chars.saturating_mul(READ_FOR_EACH));
    visible(&without_tags(&read), max_chars)
}

/// Removes everything that looks like a tag, and the content of scripts and styles. A `<` that
/// begins no tag stays: `5 < 6`.
fn without_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        plain.push_str(before);
        if !tag.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
            plain.push('<');
            rest = tag;
            continue;
        }
        plain.push(' ');
        let name: String = tag
            .chars()
            .take_while(char::is_ascii_alphabetic)
            .collect::<String>()
            .to_ascii_lowercase();
        // A tag that never ends takes the rest with it.
        rest = tag.split_once('>').map_or("", |(_, after)| after);
        if matches!(name.as_str(), "script" | "style") {
            let end = rest.to_ascii_lowercase().find(&format!("</{name}"));
            rest = end.and_then(|end| rest.get(end..)).unwrap_or("");
        }
    }
    plain.push_str(rest);
    plain
}

/// Removes invisible characters and surplus white space.
fn visible(text: &str, max_chars: usize) -> String {
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

    #[test]
    fn markup_is_removed_and_comparisons_stay() {
        assert_eq!(clean("<script>alert(1)</script>Dog", 32), "Dog");
        assert_eq!(clean("Do<b>g</b> <img src=x onerror=y>", 32), "Do g");
        assert_eq!(clean("<\u{200b}script>x", 32), "");
        assert_eq!(clean("5 < 6 <", 32), "5 < 6 <");
    }

    proptest! {
        #[test]
        fn cleaned_text_is_never_longer_and_never_invisible(text in any::<String>(), max in 0usize..40) {
            let cleaned = clean(&text, max);
            prop_assert!(cleaned.chars().count() <= max);
            prop_assert!(!cleaned.chars().any(|c| !exact::is_plain(c)));
            let tag = cleaned.split('<').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
            prop_assert!(!tag, "{cleaned}");
            prop_assert_eq!(clean(&cleaned, max), cleaned);
        }
    }
}
