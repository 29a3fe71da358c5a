//! The articles of a feed.

use feed_rs::model::{Entry, FeedType, Text};
use jiff::Timestamp;
use readings::news::{Article, Publisher};

use crate::{
    error::SourceErrorKind,
    news::{html_title, label, plain_title},
    text::clean,
    transport::QUOTED_CHARS,
};

/// Most entries that are read of a feed.
const MOST: usize = 100;
/// Most categories that are kept of an entry.
const MOST_CATEGORIES: usize = 12;

/// Reads RSS or Atom; anything else, a page in HTML for example, is malformed. Entries without a
/// title or a link are left out.
pub(super) fn read(
    source: &'static str,
    publisher: &'static str,
    body: &[u8],
    now: Timestamp,
) -> Result<Vec<Article>, SourceErrorKind> {
    let malformed = |observed: &str| SourceErrorKind::Malformed {
        path: "$".to_owned(),
        expected: "an rss or atom feed",
        observed: clean(observed, QUOTED_CHARS),
    };
    let feed = feed_rs::parser::parse(body).map_err(|error| malformed(&error.to_string()))?;
    if feed.feed_type == FeedType::JSON {
        return Err(malformed("json"));
    }
    let atom = feed.feed_type == FeedType::Atom;
    let entries = feed.entries.iter().take(MOST);
    let articles: Vec<Article> = entries
        .filter_map(|entry| article(source, publisher, entry, atom, now))
        .collect();
    if articles.is_empty() {
        return Err(malformed("a feed without a usable entry"));
    }
    Ok(articles)
}

fn article(
    source: &'static str,
    publisher: &'static str,
    entry: &Entry,
    atom: bool,
    now: Timestamp,
) -> Option<Article> {
    let title = title(entry.title.as_ref()?, atom);
    let link = entry
        .links
        .iter()
        .find(|link| link.rel.as_deref().is_none_or(|rel| rel == "alternate"))?;
    let mut article = Article::new(source, Publisher::of(publisher), title, &link.href)?;
    // The time of the last change of an entry is not its time of publication.
    let published = entry.published.or(if atom { entry.updated } else { None });
    let time = published.and_then(|time| Timestamp::from_second(time.timestamp()).ok());
    article = article.published(time, now);
    for category in entry.categories.iter().take(MOST_CATEGORIES) {
        let name = label(&category.term);
        if !name.is_empty() && !article.categories.contains(&name) {
            article.categories.push(name);
        }
    }
    Some(article)
}

/// The XML reader has decoded the entities of XML. A title of RSS is also HTML, even inside CDATA;
/// a title of Atom is HTML only if it says so.
fn title(text: &Text, atom: bool) -> String {
    if atom && text.content_type.as_str() == "text/plain" {
        plain_title(&text.content)
    } else {
        html_title(&text.content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-21T01:02:00Z".parse().unwrap()
    }

    fn rss(items: &str) -> String {
        format!(
            r#"<?xml version="1.0"?><rss version="2.0"><channel><title>T</title>{items}</channel></rss>"#
        )
    }

    fn item(title: &str, link: &str, date: &str) -> String {
        format!("<item><title>{title}</title><link>{link}</link><pubDate>{date}</pubDate></item>")
    }

    fn articles(body: &str) -> Result<Vec<Article>, SourceErrorKind> {
        read("rss.test", "Decrypt", body.as_bytes(), now())
    }

    #[test]
    fn entities_are_read_once_inside_and_outside_cdata() {
        for (written, expected) in [
            ("<![CDATA[Funds &amp; flows]]>", "Funds & flows"),
            ("Funds &amp; flows", "Funds & flows"),
            ("Funds &amp;amp; flows", "Funds & flows"),
            ("<![CDATA[About &amp;lt;b&amp;gt;]]>", "About &lt;b&gt;"),
            (
                "<![CDATA[<b>Bold</b><script>alert(1)</script> news]]>",
                "Bold news",
            ),
            ("Don&#8217;t", "Don’t"),
        ] {
            let body = rss(&item(
                written,
                "https://a.example/1",
                "Sat, 21 Nov 2026 00:40:00 +0000",
            ));
            assert_eq!(articles(&body).unwrap()[0].title, expected, "{written}");
        }
    }

    #[test]
    fn offsets_become_utc_and_bad_dates_none() {
        for (date, expected) in [
            (
                "Sat, 21 Nov 2026 00:45:00 +0100",
                Some("2026-11-20T23:45:00Z"),
            ),
            (
                "Fri, 20 Nov 2026 19:00:00 EST",
                Some("2026-11-21T00:00:00Z"),
            ),
            (
                "Sat, 21 Nov 2026 00:00:00 GMT",
                Some("2026-11-21T00:00:00Z"),
            ),
            ("not a date", None),
            ("", None),
            ("Sun, 22 Nov 2026 00:00:00 GMT", None),
        ] {
            let body = rss(&item("T", "https://a.example/1", date));
            let article = articles(&body).unwrap().remove(0);
            assert_eq!(
                article.published_at.map(|time| time.to_string()).as_deref(),
                expected,
                "{date}"
            );
            assert_eq!(article.date_flag.is_some(), expected.is_none());
        }
    }

    #[test]
    fn atom_titles_are_plain_unless_they_say_html() {
        let entry = |kind: &str, title: &str| {
            format!(
                r#"<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><id>x</id><updated>2026-11-21T00:50:00Z</updated>
                <entry><title {kind}>{title}</title><id>1</id><link rel="alternate" href="https://a.example/1"/>
                <updated>2026-11-21T00:30:00Z</updated><published>2026-11-20T23:59:00Z</published></entry></feed>"#
            )
        };
        let plain = articles(&entry("", "R&amp;amp;D")).unwrap().remove(0);
        assert_eq!(plain.title, "R&amp;D");
        assert_eq!(
            plain.published_at.unwrap().to_string(),
            "2026-11-20T23:59:00Z"
        );
        assert_eq!(
            articles(&entry(r#"type="html""#, "R&amp;amp;D")).unwrap()[0].title,
            "R&D"
        );
    }

    #[test]
    fn a_text_that_is_no_feed_or_has_no_entry_is_malformed() {
        let page = "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>challenge</body></html>";
        for body in [
            page,
            "",
            "{}",
            "<rss",
            &rss(""),
            &rss("<item><title>x</title></item>"),
            "<rss version=\"2.0\"></rss>",
        ] {
            assert!(
                matches!(articles(body), Err(SourceErrorKind::Malformed { .. })),
                "{body}"
            );
        }
        // A bad entry does not affect the others, and an invalid link is left out.
        let mixed = rss(&(item("", "https://a.example/1", "")
            + &item("B", "javascript:x", "")
            + &item("C", "https://a.example/3", "")));
        assert_eq!(articles(&mixed).unwrap().len(), 1);
    }

    #[test]
    fn entities_of_a_document_are_not_expanded() {
        let bomb = format!(
            r#"<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>{}"#,
            rss(&item("&b;", "https://a.example/1", ""))
                .trim_start_matches(r#"<?xml version="1.0"?>"#)
        );
        match articles(&bomb) {
            Ok(articles) => assert!(!articles[0].title.contains("aaaa")),
            Err(kind) => assert!(matches!(kind, SourceErrorKind::Malformed { .. })),
        }
    }
}
