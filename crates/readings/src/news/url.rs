//! Gives each article's address one spelling.

use url::Url;

/// The longest address that is accepted.
const MAX_LEN: usize = 2048;

/// Parameters that show where a reader comes from, and do not identify the page. Parameters that
/// begin with `utm_` are removed as well.
const TRACKING: &[&str] = &[
    "fbclid",
    "gclid",
    "dclid",
    "msclkid",
    "yclid",
    "igshid",
    "mc_cid",
    "mc_eid",
    "cmpid",
    "ref_src",
    "outputtype",
    "_hsenc",
    "_hsmi",
];

/// Returns the one spelling of the address `text`: a host in lower case, no fragment, no tracking
/// parameters, no default port. `None` for anything except an `http` or `https` address of a named
/// host, because other texts must not appear where a reader expects a link.
#[must_use]
pub fn canonical_url(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > MAX_LEN {
        return None;
    }
    let mut url = Url::parse(text).ok()?;
    let web = matches!(url.scheme(), "http" | "https");
    let named = url.host_str().is_some_and(|host| !host.is_empty());
    // With a user name before the host, a link could pretend to lead elsewhere.
    if !web || !named || !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    url.set_fragment(None);
    let kept: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| !is_tracking(name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    if kept.is_empty() {
        url.set_query(None);
    } else if url.query_pairs().count() != kept.len() {
        url.query_pairs_mut().clear().extend_pairs(kept);
    }
    let canonical = String::from(url);
    (canonical.len() <= MAX_LEN).then_some(canonical)
}

/// Returns the part that two addresses of one article share: without the scheme, `www.`, and a
/// slash at the end. `None` for the front page of a host, which is no article's address.
pub(super) fn same_article_key(canonical: &str) -> Option<String> {
    let (_, rest) = canonical.split_once("://")?;
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    let rest = rest.trim_end_matches('/');
    rest.contains(['/', '?']).then(|| rest.to_owned())
}

fn is_tracking(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("utm_") || TRACKING.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_article_has_one_address() {
        let of = |text: &str| canonical_url(text).unwrap();
        assert_eq!(
            of(" HTTPS://WWW.CoinDesk.com:443/Markets/a1?utm_source=rss&UTM_Campaign=x#top "),
            "https://www.coindesk.com/Markets/a1"
        );
        assert_eq!(
            of("https://a.example/p?id=7&gclid=1&b=2"),
            "https://a.example/p?id=7&b=2"
        );
        // All other parts stay byte for byte.
        assert_eq!(
            of("https://a.example/p?q=a%20b&c"),
            "https://a.example/p?q=a%20b&c"
        );
        for no_link in [
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://a.example/x",
            "//a.example/x",
            "a1",
            "",
            "https://coindesk.com@evil.example/x",
            "https://:p@a.example/",
            "file:///etc/passwd",
            "https://",
        ] {
            assert_eq!(canonical_url(no_link), None, "{no_link}");
        }
        assert_eq!(
            canonical_url(&format!("https://a.example/{}", "x".repeat(2048))),
            None
        );
    }

    #[test]
    fn spellings_share_a_key_and_front_pages_have_none() {
        let key = |text: &str| same_article_key(&canonical_url(text).unwrap());
        assert_eq!(key("http://www.a.example/p/"), key("https://a.example/p"));
        assert_ne!(key("https://a.example/p"), key("https://a.example/q"));
        assert_ne!(key("https://a.example/?p=1"), key("https://a.example/?p=2"));
        assert_eq!(key("https://a.example/"), None);
    }

    proptest! {
        #[test]
        fn a_canonical_address_stays_as_it_is(path in "[a-z/%0-9]{0,20}", query in "[a-z=&_%0-9]{0,30}", fragment in "[a-z]{0,5}") {
            if let Some(once) = canonical_url(&format!("https://A.example/{path}?{query}#{fragment}")) {
                prop_assert_eq!(canonical_url(&once), Some(once.clone()));
                prop_assert!(!once.contains('#'));
            }
        }
    }
}
