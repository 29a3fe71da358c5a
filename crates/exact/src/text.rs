//! Foreign text, made fit for messages, logs and terminals.

/// Returns the first `most` plain characters of a foreign text. An ellipsis says that more follow.
///
/// ```
/// assert_eq!(exact::shortened("USD₮0", 80), "USD₮0");
/// assert_eq!(exact::shortened("no\u{1b}[2Jname", 6), "no[2Jn…");
/// ```
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    let mut plain = text.chars().filter(|c| is_plain(*c));
    let mut short: String = plain.by_ref().take(most).collect();
    if plain.next().is_some() {
        short.push('…');
    }
    short
}

/// Returns whether a character is neither a control character nor one that hides, reorders or
/// replaces its neighbours: bidirectional and zero-width characters, fillers, line separators,
/// variation selectors, interlinear marks, tags.
///
/// ```
/// assert!("USD₮0 ≥ 5".chars().all(exact::is_plain));
/// assert!(!exact::is_plain('\n'));
/// assert!(!exact::is_plain('\u{202e}')); // writes what follows from right to left
/// ```
#[must_use]
pub fn is_plain(c: char) -> bool {
    let hides = matches!(c,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    !c.is_control() && !hides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ellipsis_counts_plain_characters_only() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("abc\n\u{200b}", 3), "abc");
        assert_eq!(shortened("a\nbcd", 3), "abc…");
        assert_eq!(shortened("abc", 0), "…");
        assert_eq!(shortened("", 0), "");
    }
}
