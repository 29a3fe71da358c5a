//! News: articles of many sources in one ranked list, and a brief that contains only facts from
//! sources.
//!
//! Everything is computed from titles, times and labels with exact decimals. So the same articles
//! give the same ranking on every machine.

mod article;
mod brief;
mod dedupe;
mod overall;
mod publisher;
mod rank;
mod score;
mod sentiment;
mod title;
mod topic;
mod url;

pub use self::{
    article::{Article, DateFlag, FUTURE_TOLERANCE_SECONDS, Importance, WINDOW_HOURS},
    brief::{Brief, Digest, FearGreed, FearGreedBand, TooThin, compile},
    dedupe::{DUPLICATE_HOURS, SAME_TITLE_PCT},
    overall::{Sentiment, overall},
    publisher::Publisher,
    rank::{Headline, Ranking, rank},
    score::{DECAY_HOURS, UNDATED_HOURS, decay},
    sentiment::{HeadlineSentiment, SentimentMethod, Tone, of_title},
    title::{TitleTokens, words},
    topic::{Topic, mentions_symbol, topic_named, topics_in},
    url::canonical_url,
};
