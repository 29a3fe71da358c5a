//! Ranks stories, and makes the list of headlines.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    article::{Article, DateFlag, Importance},
    dedupe::{Story, stories},
    score::{importance, score},
    sentiment::{HeadlineSentiment, of_title},
};
use crate::Figure;

/// One story of the list: an element of `headlines`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headline {
    /// Rank, from 1.
    pub rank: usize,
    /// The title of the earliest report.
    pub title: String,
    /// The publisher of the earliest report.
    pub source: String,
    /// The address of that report.
    pub url: String,
    /// When it was published.
    pub published_at: Option<Timestamp>,
    /// Why there is no `published_at`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_at_flag: Option<DateFlag>,
    /// The highest importance that a source states. Without one, it is derived from the number of
    /// publishers.
    pub importance: Importance,
    /// The weight in the ranking: publisher × importance × corroboration × exp(−age / 12 h), from 0
    /// to 1.
    pub score: Figure,
    /// Symbols of tokens that sources connect with it.
    pub symbols: Vec<String>,
    /// Its tone.
    pub sentiment: HeadlineSentiment,
    /// Other publishers that report it.
    pub also_reported_by: Vec<String>,
}

/// Headlines, with the reports on which they are based.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// The headlines, the heaviest first.
    pub headlines: Vec<Headline>,
    /// The addresses of all reports of each headline, in the same order.
    pub reports: Vec<Vec<String>>,
    /// The sources of the reports, each once.
    pub sources: BTreeSet<String>,
}

/// Ranks the stories of `articles` at `now`. Leaves out articles that are too old to be news.
#[must_use]
pub fn rank(articles: Vec<Article>, now: Timestamp) -> Ranking {
    let news: Vec<Article> = articles
        .into_iter()
        .filter(|article| article.is_news(now))
        .collect();
    let sources = news.iter().map(|article| article.via.clone()).collect();
    let mut weighed: Vec<_> = stories(news)
        .into_iter()
        .map(|story| (score(&story, now), story))
        .collect();
    weighed.sort_by(|(ours, a), (theirs, b)| {
        theirs
            .cmp(ours)
            .then_with(|| b.first.published_at.cmp(&a.first.published_at))
            .then_with(|| a.first.url.cmp(&b.first.url))
    });
    let addresses = |story: &Story| story.reports().map(|report| report.url.clone()).collect();
    let reports = weighed.iter().map(|(_, story)| addresses(story)).collect();
    let headlines = weighed
        .into_iter()
        .zip(1..)
        .map(|((score, story), rank)| headline(rank, Figure(score.round_dp(4)), &story))
        .collect();
    Ranking {
        headlines,
        reports,
        sources,
    }
}

fn headline(rank: usize, score: Figure, story: &Story) -> Headline {
    let mut symbols: Vec<String> = Vec::new();
    for symbol in story.reports().flat_map(|report| &report.symbols) {
        if !symbols.contains(symbol) {
            symbols.push(symbol.clone());
        }
    }
    let labelled = story.reports().find(|report| !report.tones.is_empty());
    let sentiment = match labelled {
        Some(report) => HeadlineSentiment::of_labels(&report.tones),
        None => of_title(&story.first.title),
    };
    let others = story.publishers().into_iter().skip(1);
    Headline {
        rank,
        title: story.first.title.clone(),
        source: story.first.publisher.name().to_owned(),
        url: story.first.url.clone(),
        published_at: story.first.published_at,
        published_at_flag: story.first.date_flag,
        importance: importance(story),
        score,
        symbols,
        sentiment,
        also_reported_by: others.map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::news::{Publisher, SentimentMethod, Tone};

    fn now() -> Timestamp {
        Timestamp::from_second(1_795_222_800).unwrap()
    }

    fn article(publisher: &str, title: &str, path: &str, hours_ago: i64) -> Article {
        let then = now() - SignedDuration::from_hours(hours_ago);
        Article::new(
            publisher,
            Publisher::of(publisher),
            title.into(),
            &format!("https://{path}.example/n"),
        )
        .unwrap()
        .published(Some(then), now())
    }

    fn titles(articles: Vec<Article>) -> Vec<String> {
        rank(articles, now())
            .headlines
            .into_iter()
            .map(|headline| headline.title)
            .collect()
    }

    #[test]
    fn the_score_is_the_product_of_its_factors() {
        let mut one = article("coindesk", "Lender opens a market in Spain", "a", 12);
        one.importance = Some(Importance::High);
        let two = article("decrypt", "Lender opens market in Spain", "b", 11);
        let ranking = rank(vec![one, two], now());
        assert_eq!(ranking.sources.len(), 2);
        let [headline] = ranking.headlines.as_slice() else {
            panic!("one story: {ranking:?}")
        };
        // 0.70 × 1 × 0.8 × exp(−1)
        assert_eq!(headline.score.to_string(), "0.206");
        assert_eq!(headline.also_reported_by, ["Decrypt"]);
        assert_eq!((headline.rank, headline.importance), (1, Importance::High));
    }

    #[test]
    fn young_important_and_corroborated_stories_come_first_and_undated_ones_late() {
        let mut important = article("blog", "Court rules on custody", "a", 1);
        important.importance = Some(Importance::High);
        let plain = article("blog", "Team ships a wallet", "b", 1);
        let old = article("coindesk", "Bridge reopens after audit", "c", 30);
        let undated = article("coindesk", "Item with a bad date", "d", 0).published(None, now());
        let future = article("coindesk", "Item from tomorrow", "e", -24);
        let gone = article("coindesk", "Item of last week", "f", 100);
        let ranking = rank(vec![future, gone, undated, old, plain, important], now());
        let titles: Vec<_> = ranking
            .headlines
            .iter()
            .map(|headline| headline.title.as_str())
            .collect();
        assert_eq!(
            titles,
            [
                "Court rules on custody",
                "Team ships a wallet",
                "Bridge reopens after audit",
                "Item with a bad date",
                "Item from tomorrow",
            ]
        );
        let flags: Vec<_> = ranking
            .headlines
            .iter()
            .map(|headline| headline.published_at_flag)
            .collect();
        assert_eq!(
            flags[3..],
            [Some(DateFlag::Unparsable), Some(DateFlag::InFuture)]
        );
    }

    #[test]
    fn labels_of_a_source_count_before_the_words_of_the_title() {
        let mut labelled = article(
            "okx",
            "Exchange halts withdrawals after oracle exploit",
            "a",
            1,
        );
        labelled.tones = vec![Tone::Positive, Tone::Neutral];
        let told = rank(vec![labelled], now()).headlines.remove(0).sentiment;
        assert_eq!(
            (told.label, told.score.to_string().as_str()),
            (Tone::Positive, "0.5")
        );
        assert_eq!(told.method, SentimentMethod::UpstreamLabels);
    }

    #[test]
    fn the_order_of_answers_does_not_matter() {
        let articles = vec![
            article("a", "One thing happens", "a", 3),
            article("b", "Quite another thing occurs", "b", 3),
            article("c", "Third matter settled", "c", 3),
        ];
        let mut reversed = articles.clone();
        reversed.reverse();
        assert_eq!(titles(articles), titles(reversed));
    }

    #[test]
    fn a_headline_has_the_documented_members() {
        let json = serde_json::to_value(
            rank(
                vec![article("decrypt", "Team ships a wallet", "a", 0)],
                now(),
            )
            .headlines
            .remove(0),
        )
        .unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "rank": 1, "title": "Team ships a wallet", "source": "Decrypt", "url": "https://a.example/n",
                "published_at": "2026-11-21T01:00:00Z", "importance": "low", "score": "0.18", "symbols": [],
                "sentiment": {"label": "neutral", "score": "0", "method": "vader_finance_lexicon"},
                "also_reported_by": [],
            })
        );
    }
}
