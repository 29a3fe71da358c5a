//! Citations of an answer: addresses of the public web, and the cited places in the answer's text.

use serde::Serialize;
use url::{Host, Url};

use super::Sanitised;

/// The most characters of an address.
const MAX_URL_CHARS: usize = 2048;

/// A page that supports a part of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Citation {
    /// The address, `http` or `https`, of a page of the public web.
    pub url: String,
    /// Its title, when the source names one.
    pub title: Option<String>,
    /// Where the cited part begins, in characters (Unicode code points) of the answer.
    pub start: Option<usize>,
    /// The character before which the cited part ends.
    pub end: Option<usize>,
}

/// A citation as a model returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CitationDraft {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
    /// The cited part of the raw text, in characters: the first one, and the one after the last.
    pub span: Option<(usize, usize)>,
}

impl CitationDraft {
    /// Returns the citation for the sanitised text. `None` when a reader cannot visit the address.
    /// A cited part outside the text is dropped, because its meaning is unknown.
    pub(super) fn check(self, text: &Sanitised) -> Option<Citation> {
        let url = public_url(&self.url)?;
        let span = self.span.and_then(|(start, end)| text.span(start, end));
        Some(Citation {
            url,
            title: self.title.filter(|title| !title.trim().is_empty()),
            start: span.map(|(start, _)| start),
            end: span.map(|(_, end)| end),
        })
    }
}

/// Returns the normal form of an address that is a page of the public web: `http` or `https`, a
/// host name with a domain, no user. Any other address supports no citation. It may even be an
/// attempt to make a reader's program ask a machine of its own network.
#[must_use]
pub fn public_url(text: &str) -> Option<String> {
    if text.chars().count() > MAX_URL_CHARS {
        return None;
    }
    let url = Url::parse(text.trim()).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https");
    let has_user = !url.username().is_empty() || url.password().is_some();
    let has_name = match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            let top = name.rsplit_once('.').map(|(_, top)| top);
            top.is_some_and(|top| !matches!(top, "localhost" | "local" | "internal" | "arpa"))
        }
        _ => false,
    };
    (is_web && !has_user && has_name).then(|| url.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ai::sanitise;

    #[test]
    fn addresses_are_those_of_the_public_web() {
        for (text, expect) in [
            ("https://docs.usdt0.to/", "https://docs.usdt0.to/"),
            (
                " HTTP://Example.COM/a b?q=1#x ",
                "http://example.com/a%20b?q=1#x",
            ),
            (
                "https://bücher.example/ü",
                "https://xn--bcher-kva.example/%C3%BC",
            ),
        ] {
            assert_eq!(public_url(text).as_deref(), Some(expect));
        }
        for text in [
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://example.com/",
            "file:///etc/passwd",
            "//example.com/x",
            "docs.usdt0.to",
            "https://localhost/x",
            "https://printer.local/",
            "http://169.254.169.254/latest/meta-data",
            "http://2852039166/",
            "http://[::1]/",
            "https://intranet/",
            "https://a.localhost./",
            "https://docs.usdt0.to@evil.example/",
            "",
        ] {
            assert_eq!(public_url(text), None, "{text}");
        }
        let long = format!("https://example.com/{}", "a".repeat(2048));
        assert_eq!(public_url(&long), None);
    }

    #[test]
    fn cited_places_are_checked_against_the_text() {
        let text = sanitise("USD₮0 <b>");
        let of = |span| {
            let draft = CitationDraft {
                url: "https://docs.usdt0.to/".to_owned(),
                title: Some("  ".to_owned()),
                span,
            };
            let citation = draft.check(&text).unwrap();
            assert_eq!(citation.title, None);
            (citation.start, citation.end)
        };
        assert_eq!(of(Some((0, 5))), (Some(0), Some(5)));
        assert_eq!(of(Some((0, 9))), (Some(0), Some(12)));
        for span in [None, Some((0, 10)), Some((5, 5)), Some((5, 4))] {
            assert_eq!(of(span), (None, None), "{span:?}");
        }
    }
}
