//! Merges several reports of one event into one story.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::{article::Article, title::TitleTokens, url::same_article_key};

/// Two titles that are further apart in time belong to two stories.
pub const DUPLICATE_HOURS: i64 = 48;
/// From which likeness on, in percent, two titles report the same event.
pub const SAME_TITLE_PCT: usize = 60;

/// One event, with its earliest report and the later ones.
#[derive(Clone, Debug)]
pub(super) struct Story {
    pub(super) first: Article,
    pub(super) others: Vec<Article>,
    tokens: TitleTokens,
}

impl Story {
    fn new(first: Article) -> Self {
        let tokens = TitleTokens::of(&first.title);
        Self {
            first,
            others: Vec::new(),
            tokens,
        }
    }

    /// Returns all reports, the earliest first.
    pub(super) fn reports(&self) -> impl Iterator<Item = &Article> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Returns the names of the publishers, the earliest first. Each occurs once.
    pub(super) fn publishers(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for report in self.reports() {
            let name = report.publisher.name();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether an article reports this event. It is compared only with the first report, because a
    /// chain of similar titles may end at another event.
    fn matches(&self, article: &Article, tokens: &TitleTokens) -> bool {
        let near = match (self.first.published_at, article.published_at) {
            (Some(ours), Some(theirs)) => {
                theirs.duration_since(ours).abs() <= SignedDuration::from_hours(DUPLICATE_HOURS)
            }
            _ => true,
        };
        near && self.tokens.likeness_pct(tokens) >= SAME_TITLE_PCT
            && !self.tokens.contradicts(tokens)
    }
}

/// Makes the stories of `articles`. The earliest come first, and those without a time last. The
/// result does not depend on the order of the sources.
pub(super) fn stories(mut articles: Vec<Article>) -> Vec<Story> {
    articles.sort_by(|a, b| {
        let key = |article: &Article| (article.published_at.is_none(), article.published_at);
        key(a)
            .cmp(&key(b))
            .then_with(|| a.url.cmp(&b.url))
            .then_with(|| a.via.cmp(&b.via))
            .then_with(|| a.title.cmp(&b.title))
    });
    let mut stories: Vec<Story> = Vec::new();
    let mut by_url: BTreeMap<String, usize> = BTreeMap::new();
    for article in articles {
        let key = same_article_key(&article.url);
        let tokens = TitleTokens::of(&article.title);
        let same_url = key.as_ref().and_then(|key| by_url.get(key).copied());
        let same = same_url.or_else(|| {
            stories
                .iter()
                .position(|story| story.matches(&article, &tokens))
        });
        let place = same.unwrap_or(stories.len());
        match stories.get_mut(place) {
            Some(story) => story.others.push(article),
            None => stories.push(Story::new(article)),
        }
        if let Some(key) = key {
            by_url.entry(key).or_insert(place);
        }
    }
    stories
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::news::Publisher;

    const NOW: i64 = 1_795_222_800;

    fn article(publisher: &str, title: &str, url: &str, minutes_ago: Option<i64>) -> Article {
        let now = Timestamp::from_second(NOW).unwrap();
        let then = minutes_ago.map(|minutes| now - SignedDuration::from_mins(minutes));
        Article::new("test", Publisher::of(publisher), title.into(), url)
            .unwrap()
            .published(then, now)
    }

    fn grouped(articles: Vec<Article>) -> Vec<(String, Vec<String>)> {
        let of = |story: Story| {
            let others = story
                .publishers()
                .iter()
                .skip(1)
                .map(|name| (*name).to_owned())
                .collect();
            (story.first.publisher.name().to_owned(), others)
        };
        stories(articles).into_iter().map(of).collect()
    }

    #[test]
    fn the_earliest_report_is_kept_and_names_the_others() {
        let a1 = article(
            "coindesk",
            "Exchange-traded funds extend inflow streak & open interest climbs",
            "https://www.coindesk.com/a1",
            Some(20),
        );
        let b1 = article(
            "cointelegraph",
            "Bitcoin ETFs extend inflow streak as open interest climbs",
            "https://cointelegraph.com/b1",
            Some(75),
        );
        let same = article(
            "Aggregator",
            "Another title altogether",
            "http://coindesk.com/a1/",
            None,
        );
        let expected = vec![(
            "Cointelegraph".to_owned(),
            vec!["CoinDesk".to_owned(), "Aggregator".to_owned()],
        )];
        for order in [
            vec![a1.clone(), b1.clone(), same.clone()],
            vec![same.clone(), b1.clone(), a1.clone()],
            vec![b1, same, a1],
        ] {
            assert_eq!(grouped(order), expected);
        }
    }

    #[test]
    fn similar_titles_differ_after_two_days_or_about_another_asset() {
        let early = article(
            "a",
            "Exchange halts withdrawals again",
            "https://a.example/1",
            Some(49 * 60),
        );
        let late = article(
            "b",
            "Exchange halts withdrawals again",
            "https://b.example/1",
            Some(10),
        );
        assert_eq!(grouped(vec![early, late]).len(), 2);
        let bitcoin = article(
            "a",
            "Bitcoin ETF inflows hit a record",
            "https://a.example/2",
            Some(10),
        );
        let solana = article(
            "b",
            "Solana ETF inflows hit a record",
            "https://b.example/2",
            Some(9),
        );
        assert_eq!(grouped(vec![bitcoin, solana]).len(), 2);
    }

    #[test]
    fn a_feed_that_links_its_front_page_everywhere_is_not_one_story() {
        let one = article(
            "a",
            "Exchange opens in Spain",
            "https://a.example/",
            Some(10),
        );
        let two = article("a", "Lender cuts its rates", "https://a.example/", Some(9));
        assert_eq!(grouped(vec![one, two]).len(), 2);
    }

    #[test]
    fn two_reports_of_one_publisher_count_as_one() {
        let feed = article(
            "The Block",
            "Layer-2 fee cut passes",
            "https://www.theblock.co/post/1",
            Some(60),
        );
        let passed_on = article(
            "theblock",
            "Layer-2 fee cut proposal passes",
            "https://x.example/n3",
            Some(50),
        );
        assert_eq!(
            grouped(vec![feed, passed_on]),
            vec![("The Block".to_owned(), vec![])]
        );
    }
}
