//! The requests of routes between two snapshots: searches, symbols, moods, leaders and posts.
//!
//! Each answer is kept for a while, so that many callers cost one request.
//! [`gather`](super::gather) asks all sources for the snapshot itself.

use std::{sync::Arc, time::Duration};

use readings::{
    news::Article,
    social::{Mood, Posts, TokenVoices, Voice},
    symbol::SymbolKey,
};
use tokio::task::JoinSet;

use super::leaders::MAJORS;
use crate::{
    alternative_me::AlternativeMe,
    cached::{Ages, Cached},
    coindesk::Coindesk,
    cryptopanic::Cryptopanic,
    error::Error,
    meter::Meter,
    okx::Okx,
    provenance::{Clock, Sourced},
    rss::Rss,
    x_api::XApi,
};

/// How many searches and symbols are kept at once.
const KEPT: usize = 256;
const SEARCHES: Ages = Ages::seconds(600, 3600);
const SYMBOLS: Ages = Ages::seconds(120, 900);
const SOCIAL: Ages = Ages::seconds(1800, 2 * 3600);

/// News and social media, composed from every source that has them. Clones share everything.
#[derive(Clone, Debug)]
pub struct NewsDesk {
    pub(super) okx: Okx,
    pub(super) coindesk: Coindesk,
    pub(super) rss: Rss,
    pub(super) alternative_me: AlternativeMe,
    pub(super) cryptopanic: Cryptopanic,
    x_api: XApi,
    searches: Cached<String, Vec<Article>>,
    of_symbol: Cached<SymbolKey, Vec<Article>>,
    mood_of: Cached<SymbolKey, Mood>,
    moods: Cached<(), Mood>,
    leaders: Cached<&'static str, Vec<Voice>>,
    posts: Cached<(), Posts>,
}

/// The opinion leaders of the large tokens.
#[derive(Clone, Debug)]
pub struct Leading {
    /// The tokens whose leaders were read.
    pub tokens: Sourced<Vec<TokenVoices>>,
    /// The tokens whose leaders were not read, and why.
    pub failed: Vec<(&'static str, Error)>,
}

impl Default for Leading {
    fn default() -> Self {
        let tokens = Sourced {
            value: Vec::new(),
            sources: Vec::new(),
        };
        let failed = Vec::new();
        Self { tokens, failed }
    }
}

/// The adapters of a [`NewsDesk`].
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each adapter says what it is")]
pub struct NewsSources {
    pub okx: Okx,
    pub coindesk: Coindesk,
    pub rss: Rss,
    pub alternative_me: AlternativeMe,
    pub cryptopanic: Cryptopanic,
    pub x_api: XApi,
}

impl NewsDesk {
    /// Builds the desk. It sends no request yet.
    pub fn new(sources: NewsSources, clock: Arc<dyn Clock>) -> Self {
        Self {
            okx: sources.okx,
            coindesk: sources.coindesk,
            rss: sources.rss,
            alternative_me: sources.alternative_me,
            cryptopanic: sources.cryptopanic,
            x_api: sources.x_api,
            searches: Cached::new(KEPT, SEARCHES, clock.clone()),
            of_symbol: Cached::new(KEPT, SYMBOLS, clock.clone()),
            mood_of: Cached::new(KEPT, SYMBOLS, clock.clone()),
            moods: Cached::new(1, SOCIAL, clock.clone()),
            leaders: Cached::new(KEPT, SOCIAL, clock.clone()),
            posts: Cached::new(1, SOCIAL, clock),
        }
    }

    /// Articles in which a source finds `keyword`.
    ///
    /// # Errors
    ///
    /// As [`Okx::news_search`].
    pub async fn search(
        &self,
        keyword: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Vec<Article>>, Error> {
        let (okx, keyword) = (self.okx.clone(), keyword.trim().to_lowercase());
        let key = keyword.clone();
        self.searches
            .get(key, max_age, || async move {
                Ok(okx.news_search(&keyword).await?)
            })
            .await
    }

    /// Articles that a source connects with `symbol`.
    ///
    /// # Errors
    ///
    /// As [`Okx::news_of`].
    pub async fn news_of(
        &self,
        symbol: &SymbolKey,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Vec<Article>>, Error> {
        let (okx, symbol) = (self.okx.clone(), symbol.clone());
        let key = symbol.clone();
        self.of_symbol
            .get(
                key,
                max_age,
                || async move { Ok(okx.news_of(&symbol).await?) },
            )
            .await
    }

    /// The mood about one symbol.
    ///
    /// # Errors
    ///
    /// As [`Okx::mood_of`].
    pub async fn mood_of(
        &self,
        symbol: &SymbolKey,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Mood>, Error> {
        let (okx, symbol) = (self.okx.clone(), symbol.clone());
        let key = symbol.clone();
        self.mood_of
            .get(key, max_age, || async move { okx.mood_of(&symbol).await })
            .await
    }

    /// The mood about the most discussed tokens.
    ///
    /// # Errors
    ///
    /// As [`Okx::moods`].
    pub async fn moods(&self, max_age: Option<Duration>) -> Result<Sourced<Mood>, Error> {
        let okx = self.okx.clone();
        self.moods
            .get((), max_age, || async move { Ok(okx.moods().await?) })
            .await
    }

    /// The opinion leaders of the large tokens. Each token is kept separately: a token whose
    /// leaders could not be read is asked for again by the next caller.
    ///
    /// # Errors
    ///
    /// A failure, when no token's leaders can be read.
    pub async fn leaders(&self, max_age: Option<Duration>) -> Result<Leading, Error> {
        let mut calls = JoinSet::new();
        for (place, token) in MAJORS.iter().enumerate() {
            let (okx, kept) = (self.okx.clone(), self.leaders.clone());
            let fetch = move || async move { Ok(okx.leaders_of(token).await?) };
            calls.spawn(Meter::carry(async move {
                let told = kept.get(token.symbol, max_age, fetch).await;
                (place, token.symbol, told)
            }));
        }
        let mut told = calls.join_all().await;
        told.sort_by_key(|(place, ..)| *place);
        let mut leading = Leading::default();
        for (_, symbol, told) in told {
            match told {
                Ok(voices) => {
                    leading.tokens.sources.extend(voices.sources);
                    leading.tokens.value.push(TokenVoices {
                        symbol: symbol.to_owned(),
                        voices: voices.value,
                    });
                }
                Err(error) => leading.failed.push((symbol, error)),
            }
        }
        match leading.failed.last() {
            Some((_, error)) if leading.tokens.value.is_empty() => Err(error.clone()),
            _ => Ok(leading),
        }
    }

    /// Posts of the list of accounts that the operator chose.
    ///
    /// # Errors
    ///
    /// As [`XApi::posts`]; disabled without a key and a list.
    pub async fn posts(&self, max_age: Option<Duration>) -> Result<Sourced<Posts>, Error> {
        let x_api = self.x_api.clone();
        self.posts
            .get((), max_age, || async move { Ok(x_api.posts().await?) })
            .await
    }
}
