//! Titles of feeds and interfaces as plain text: tags are removed, entities are decoded once, then
//! the text is cleaned.

use crate::text::clean;

/// Longest title.
const TITLE_CHARS: usize = 300;
/// Longest name of a publisher, symbol or category.
const LABEL_CHARS: usize = 64;

/// Named entities that titles contain.
const NAMED: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ndash", '–'),
    ("mdash", '—'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("hellip", '…'),
    ("bull", '•'),
    ("middot", '·'),
    ("euro", '€'),
    ("pound", '£'),
    ("yen", '¥'),
    ("cent", '¢'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("times", '×'),
    ("deg", '°'),
    ("eacute", 'é'),
    ("uuml", 'ü'),
    ("ouml", 'ö'),
    ("auml", 'ä'),
];

/// Most characters that are read of a text before it is cut.
const READ_CHARS: usize = 4 * TITLE_CHARS;

/// A title in HTML as plain text.
pub(crate) fn html_title(text: &str) -> String {
    clean(&unescape(&clean(text, READ_CHARS)), TITLE_CHARS)
}

/// A title that is already plain text.
pub(crate) fn plain_title(text: &str) -> String {
    clean(text, TITLE_CHARS)
}

/// A name, symbol or category.
pub(crate) fn label(text: &str) -> String {
    clean(&unescape(&clean(text, READ_CHARS)), LABEL_CHARS)
}

/// Decodes entities once: `&amp;lt;` is the text `&lt;`.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, entity)) = rest.split_once('&') {
        plain.push_str(before);
        let named = entity
            .split_once(';')
            .filter(|(name, _)| name.len() <= 10)
            .and_then(|(name, after)| Some((character(name)?, after)));
        match named {
            Some((character, after)) => {
                plain.push(character);
                rest = after;
            }
            None => {
                plain.push('&');
                rest = entity;
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        return char::from_u32(code.ok()?);
    }
    let found = NAMED.iter().find(|(known, _)| *known == name);
    found.map(|(_, character)| *character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn titles_become_plain_text() {
        for (html, plain) in [
            ("Funds &amp; flows", "Funds & flows"),
            ("AT&T &#8217;s &#x2014; 5 &lt; 6", "AT&T ’s — 5 < 6"),
            ("<b>Bold</b> claim<br/>here", "Bold claim here"),
            ("One<script>alert(1)</script> two", "One two"),
            ("One<SCRIPT src=x>alert(1)", "One"),
            ("<style>p{}</style>Text", "Text"),
            // Decoded once: text about a tag stays text, and does not become a tag.
            ("About &amp;lt;b&amp;gt;", "About &lt;b&gt;"),
            (
                "Hidden &lt;img src=x onerror=alert(1)&gt; end",
                "Hidden end",
            ),
            (
                "&unknown; &#xffffffff; &; & end",
                "&unknown; &#xffffffff; &; & end",
            ),
            ("Bidi &#8238;txet", "Bidi txet"),
            ("5 < 6 <", "5 < 6 <"),
            ("<unclosed", ""),
        ] {
            assert_eq!(html_title(html), plain, "{html}");
        }
    }

    proptest! {
        #[test]
        fn no_tag_survives(text in "[<>/!a\u{fe00}\u{202e}&;lt ]{0,40}") {
            let plain = html_title(&text);
            let tag = plain.split('<').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
            prop_assert!(!tag, "{plain}");
        }
    }
}
