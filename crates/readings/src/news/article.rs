//! An article, as a source describes it.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{publisher::Publisher, sentiment::Tone, url::canonical_url};

/// By how many seconds a time of publication may be in the future, because clocks differ.
pub const FUTURE_TOLERANCE_SECONDS: i64 = 300;
/// How many hours old an article may be. An older one is not news.
pub const WINDOW_HOURS: i64 = 72;

/// An article as a source describes it. Only a reference to its text is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Article {
    /// Its publisher.
    pub publisher: Publisher,
    /// The source that lists it, for example `okx.news`.
    pub via: String,
    /// Its title, as plain text.
    pub title: String,
    /// Its address, in the form of [`canonical_url`].
    pub url: String,
    /// Its time of publication. `None` when no source states a credible one; `date_flag` then has
    /// the reason.
    pub published_at: Option<Timestamp>,
    /// The reason why the time is unknown.
    pub date_flag: Option<DateFlag>,
    /// The symbols of tokens that the source connects with it.
    pub symbols: Vec<String>,
    /// The categories that the source gives it.
    pub categories: Vec<String>,
    /// How important the source rates it.
    pub importance: Option<Importance>,
    /// How the source labels its tone, with one label for each token or one for all.
    pub tones: Vec<Tone>,
    /// The weight that the source gives its publisher, from 0 to 100.
    pub weight: Option<u8>,
}

/// How important a source rates an article.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Importance {
    /// The lowest rating.
    Low,
    /// The rating between.
    Medium,
    /// The highest rating.
    High,
}

/// The reason why a time of publication is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DateFlag {
    /// The source states no time, or one that cannot be read.
    Unparsable,
    /// The time is more than [`FUTURE_TOLERANCE_SECONDS`] in the future.
    InFuture,
}

impl Article {
    /// Makes an article with the members that every source has. `None` when the title is empty or
    /// the address is invalid.
    #[must_use]
    pub fn new(via: &str, publisher: Publisher, title: String, url: &str) -> Option<Self> {
        if title.trim().is_empty() {
            return None;
        }
        Some(Self {
            publisher,
            via: via.to_owned(),
            title,
            url: canonical_url(url)?,
            published_at: None,
            date_flag: Some(DateFlag::Unparsable),
            symbols: Vec::new(),
            categories: Vec::new(),
            importance: None,
            tones: Vec::new(),
            weight: None,
        })
    }

    /// Sets the time of publication, judged at `now`. A time that is slightly in the future counts
    /// as now. A time further ahead is rejected, because it would keep the article at the top.
    #[must_use]
    pub fn published(mut self, time: Option<Timestamp>, now: Timestamp) -> Self {
        let tolerance = SignedDuration::from_secs(FUTURE_TOLERANCE_SECONDS);
        (self.published_at, self.date_flag) = match time {
            None => (None, Some(DateFlag::Unparsable)),
            Some(time) if time.duration_since(now) > tolerance => (None, Some(DateFlag::InFuture)),
            Some(time) => (Some(time.min(now)), None),
        };
        self
    }

    /// Whether it is young enough to be news at `now`. An article without a time counts as young
    /// enough.
    #[must_use]
    pub fn is_news(&self, now: Timestamp) -> bool {
        let window = SignedDuration::from_hours(WINDOW_HOURS);
        self.published_at
            .is_none_or(|time| now.duration_since(time) <= window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn article() -> Article {
        Article::new(
            "rss.decrypt",
            Publisher::of("decrypt"),
            "Title".into(),
            "https://a.example/1",
        )
        .unwrap()
    }

    #[test]
    fn times_are_believed_only_up_to_now() {
        let now = Timestamp::from_second(1_795_222_800).unwrap();
        let at = |seconds: i64| {
            let then = now + SignedDuration::from_secs(seconds);
            let article = article().published(Some(then), now);
            (
                article
                    .published_at
                    .map(|time| time.duration_since(now).as_secs()),
                article.date_flag,
            )
        };
        assert_eq!(at(-60), (Some(-60), None));
        assert_eq!(at(300), (Some(0), None));
        assert_eq!(at(301), (None, Some(DateFlag::InFuture)));
        let undated = article().published(None, now);
        assert_eq!(
            (undated.published_at, undated.date_flag),
            (None, Some(DateFlag::Unparsable))
        );
        assert!(undated.is_news(now));
        let old = article().published(Some(now - SignedDuration::from_hours(73)), now);
        assert!(!old.is_news(now));
    }

    #[test]
    fn an_entry_without_title_or_address_is_no_article() {
        let of = |title: &str, url: &str| Article::new("x", Publisher::of("x"), title.into(), url);
        assert!(of(" ", "https://a.example/1").is_none());
        assert!(of("Title", "javascript:alert(1)").is_none());
        assert!(of("Title", "https://a.example/1").is_some());
    }
}
