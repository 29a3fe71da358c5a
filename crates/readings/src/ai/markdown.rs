//! Makes a model's text safe to render as Markdown, and keeps its words.

/// The most characters of an answer.
pub(super) const MAX_CHARS: usize = 100_000;

/// A sanitised text, with a map from positions in the original text to positions in the new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sanitised {
    /// The text.
    pub text: String,
    /// For each character of the original, and for its end: how many characters of `text` come
    /// before it.
    places: Vec<usize>,
}

impl Sanitised {
    /// Returns the new positions of the characters `start..end` of the original. `None` when the
    /// range lies outside the original, or when none of its characters is left.
    #[must_use]
    pub fn span(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        if start >= end {
            return None;
        }
        let (start, end) = (*self.places.get(start)?, *self.places.get(end)?);
        (start < end).then_some((start, end))
    }
}

/// Makes `raw` safe to render, and keeps its words.
///
/// - Removes characters that control, hide or reorder text. Line breaks and tabs stay.
/// - Makes HTML visible text: `<` before a letter, `/`, `!` or `?` becomes `&lt;`.
/// - Turns images into links, because showing an image tells its host who reads.
/// - Keeps only links to `http` and `https`. Others become text.
///
/// The marks are those of CommonMark (0.31), which other dialects extend.
#[must_use]
pub fn sanitise(raw: &str) -> Sanitised {
    let mut writer = Writer::default();
    let shown: Vec<(usize, char)> = raw
        .chars()
        .enumerate()
        .filter(|(_, c)| is_shown(*c))
        .collect();
    // Whether the character is escaped: an odd number of backslashes comes before it.
    let mut escaped = false;
    for (index, &(place, c)) in shown.iter().enumerate() {
        let after = |offset: usize| {
            let index = index.checked_add(offset)?;
            shown.get(index).map(|(_, c)| *c)
        };
        let rest = || {
            let rest = shown.get(index..).unwrap_or_default();
            rest.iter().skip(1).map(|(_, c)| *c)
        };
        writer.at(place);
        match c {
            '<' if after(1).is_some_and(|next| next.is_alphabetic() || "/!?".contains(next)) => {
                writer.push_all("&lt;");
            }
            '!' if !escaped && after(1) == Some('[') => writer.push_all("\\!"),
            // The address of a link follows `](`, and that of a definition follows `]:`.
            '(' | ':' if index > 0 && is_closing(&shown, index) && !is_web(rest(), c == ':') => {
                writer.push('\\');
                writer.push(c);
            }
            _ => writer.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    writer.finish(raw.chars().count())
}

/// Whether the previous character is `]`.
fn is_closing(shown: &[(usize, char)], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|index| shown.get(index));
    before.is_some_and(|(_, c)| *c == ']')
}

/// Whether an address of the web follows.
fn is_web(rest: impl Iterator<Item = char>, after_space: bool) -> bool {
    let start: String = rest
        .skip_while(|c| after_space && c.is_whitespace())
        .take("https://".len())
        .collect::<String>()
        .to_ascii_lowercase();
    start.starts_with("http://") || start.starts_with("https://")
}

/// Whether a character is shown: line breaks, tabs, and every visible character. Characters for
/// private use do not count as visible, because each device shows something else for them.
fn is_shown(c: char) -> bool {
    let private = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}');
    matches!(c, '\n' | '\t') || (exact::is_plain(c) && !private)
}

/// A text that grows, with the positions of the original in it.
#[derive(Default)]
struct Writer {
    text: String,
    length: usize,
    places: Vec<usize>,
}

impl Writer {
    /// Says that the next written characters stand for the character at `place`. Earlier characters
    /// for which nothing was written get the same position.
    fn at(&mut self, place: usize) {
        self.places.resize(place.saturating_add(1), self.length);
    }

    fn push(&mut self, c: char) {
        self.text.push(c);
        self.length = self.length.saturating_add(1);
    }

    fn push_all(&mut self, text: &str) {
        text.chars().for_each(|c| self.push(c));
    }

    fn finish(mut self, length: usize) -> Sanitised {
        self.at(length);
        Sanitised {
            text: self.text,
            places: self.places,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(raw: &str, expect: &str) {
        assert_eq!(sanitise(raw).text, expect, "{raw:?}");
    }

    #[test]
    fn plain_markdown_stays_as_it_is() {
        for text in [
            "# Title\n\n- **bold** `code` 1 < 2 and 3 > 2\n\t[1]",
            "see ([docs](https://docs.usdt0.to/?a=b)) and [x](HTTP://a.example)",
            "USD₮0 ist schön, 日本語, עברית",
            "[1]: https://a.example\n[2]:\nhttp://b.example",
            "an array[0] (of things), a [note] (aside)",
            "done! [1]",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn html_is_shown_and_not_run() {
        check(
            "<script>alert(1)</script>",
            "&lt;script>alert(1)&lt;/script>",
        );
        check("<!-- x --><?php", "&lt;!-- x -->&lt;?php");
        check("<javascript:alert(1)>", "&lt;javascript:alert(1)>");
        // Hidden characters are removed first, so that no new mark can form afterwards.
        check("<\u{200b}img src=x>", "&lt;img src=x>");
    }

    #[test]
    fn images_become_links() {
        check(
            "![a](https://t.example/p?d=secret)",
            "\\![a](https://t.example/p?d=secret)",
        );
        check(
            "!\u{2060}[a](https://t.example)",
            "\\![a](https://t.example)",
        );
        // The mark is already escaped. One more backslash would undo that.
        check("\\![a](https://t.example)", "\\![a](https://t.example)");
        check(
            "\\\\![a](https://t.example)",
            "\\\\\\![a](https://t.example)",
        );
    }

    #[test]
    fn links_lead_to_the_web_only() {
        check("[a](javascript:alert(1))", "[a]\\(javascript:alert(1))");
        check("[a]( \n data:text/html,x)", "[a]\\( \n data:text/html,x)");
        check("[a](&#106;avascript:x)", "[a]\\(&#106;avascript:x)");
        check("[a](<javascript:x>)", "[a]\\(&lt;javascript:x>)");
        check("[a](//host/x)", "[a]\\(//host/x)");
        check("[a]\u{202e}(javascript:x)", "[a]\\(javascript:x)");
        check("[a]: javascript:x", "[a]\\: javascript:x");
        check("[a]:\n  vbscript:x", "[a]\\:\n  vbscript:x");
        check("[a](httpx://h)", "[a]\\(httpx://h)");
    }

    #[test]
    fn hiding_and_reordering_characters_are_removed() {
        check(
            "a\u{202e}b\u{0}c\u{7}d\r\ne\u{2028}f\u{e0041}g\u{fe0f}",
            "abcd\nefg",
        );
    }

    #[test]
    fn places_are_found_again() {
        let raw = "a\u{200b}<b> ![c](d) €€";
        let sanitised = sanitise(raw);
        assert_eq!(sanitised.text, "a&lt;b> \\![c]\\(d) €€");
        let read = |start, end| {
            let (start, end) = sanitised.span(start, end)?;
            Some(
                sanitised
                    .text
                    .chars()
                    .skip(start)
                    .take(end - start)
                    .collect::<String>(),
            )
        };
        assert_eq!(read(0, 1).as_deref(), Some("a"));
        assert_eq!(read(0, 3).as_deref(), Some("a&lt;"));
        assert_eq!(read(14, 16).as_deref(), Some("€€"));
        let all = raw.chars().count();
        assert_eq!(read(0, all).as_deref(), Some(sanitised.text.as_str()));
        // The ranges are empty, reversed, of removed characters, and beyond the end.
        for (start, end) in [
            (1, 1),
            (2, 1),
            (1, 2),
            (0, all + 1),
            (usize::MAX, usize::MAX),
        ] {
            assert_eq!(read(start, end), None, "{start}..{end}");
        }
    }

    proptest! {
        #[test]
        fn any_text_becomes_safe_to_render(raw in "[\\\\!\\[\\]()<>:a/\u{200b}\n ]{0,24}|.{0,40}") {
            let sanitised = sanitise(&raw);
            let text = &sanitised.text;
            prop_assert!(text.chars().all(is_shown));
            let whole = raw.chars().count();
            if let Some((start, end)) = sanitised.span(0, whole) {
                prop_assert_eq!((start, end), (0, text.chars().count()));
            }
            let chars: Vec<char> = text.chars().collect();
            for (index, window) in chars.windows(2).enumerate() {
                if let ['<', next] = window {
                    prop_assert!(!next.is_alphabetic() && !"/!?".contains(*next));
                }
                if window == ['!', '['] {
                    let backslashes = chars[..index].iter().rev().take_while(|c| **c == '\\').count();
                    prop_assert!(backslashes % 2 == 1, "{text:?}");
                }
                if window == [']', '('] {
                    let target: String = chars[index + 2..].iter().take(8).collect();
                    prop_assert!(target.to_ascii_lowercase().starts_with("http"), "{text:?}");
                }
            }
        }
    }
}
