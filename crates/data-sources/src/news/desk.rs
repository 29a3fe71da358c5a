//! What routes ask for between two snapshots.

use std::{sync::Arc, time::Duration};

use readings::{
    news::Article,
    social::{Mood, Post, TokenVoices},
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
    okx::Okx,
    provenance::{Clock, Provenance, Sourced},
    rss::Rss,
    x_api::XApi,
};

/// Searches and symbols that are kept at once.
const KEPT: usize = 256;
const SEARCHES: Ages = Ages::seconds(600, 3600);
const SYMBOLS: Ages = Ages::seconds(120, 900);
const SOCIAL: Ages = Ages::seconds(1800, 2 * 3600);

/// News and social media, composed from every source that tells of it. Clones share everything.
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
    of_majors: Cached<(), Mood>,
    leaders: Cached<(), Vec<TokenVoices>>,
    posts: Cached<(), Vec<Post>>,
}

/// The adapters that a [`NewsDesk`] draws on.
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
    /// Asks nothing yet.
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
            of_majors: Cached::new(1, SOCIAL, clock.clone()),
            leaders: Cached::new(1, SOCIAL, clock.clone()),
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

    /// The mood about the tokens that are talked about most.
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

    /// The mood about the large tokens, with its trend.
    ///
    /// # Errors
    ///
    /// As [`Okx::moods_of`].
    pub async fn mood_of_majors(&self, max_age: Option<Duration>) -> Result<Sourced<Mood>, Error> {
        let okx = self.okx.clone();
        let symbols = MAJORS.map(|token| token.symbol);
        self.of_majors
            .get(
                (),
                max_age,
                || async move { Ok(okx.moods_of(&symbols).await?) },
            )
            .await
    }

    /// Who talks about the large tokens. Tokens whose leaders cannot be had are left out, and the
    /// failure is among the sources.
    ///
    /// # Errors
    ///
    /// The first failure, when no token's leaders can be had.
    pub async fn leaders(
        &self,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Vec<TokenVoices>>, Error> {
        let okx = self.okx.clone();
        self.leaders
            .get((), max_age, || async move { all_leaders(&okx).await })
            .await
    }

    /// Posts of the list of accounts that the operator chose.
    ///
    /// # Errors
    ///
    /// As [`XApi::posts`]; disabled without a key and a list.
    pub async fn posts(&self, max_age: Option<Duration>) -> Result<Sourced<Vec<Post>>, Error> {
        let x_api = self.x_api.clone();
        self.posts
            .get((), max_age, || async move { Ok(x_api.posts().await?) })
            .await
    }
}

async fn all_leaders(okx: &Okx) -> Result<Sourced<Vec<TokenVoices>>, Error> {
    let mut calls = JoinSet::new();
    for (place, token) in MAJORS.iter().enumerate() {
        let okx = okx.clone();
        calls.spawn(async move { (place, token.symbol, okx.leaders_of(token).await) });
    }
    let mut found = Vec::new();
    let (mut sources, mut failure) = (Vec::<Provenance>::new(), None);
    while let Some(call) = calls.join_next().await {
        match call {
            Ok((place, symbol, Ok(voices))) => {
                // They are all of one source: the slowest stands for all.
                let slower = |known: &Provenance| {
                    voices
                        .sources
                        .first()
                        .is_some_and(|new| new.latency_ms > known.latency_ms)
                };
                if sources.first().is_none_or(slower) {
                    sources = voices.sources;
                }
                let voices = voices.value;
                found.push((
                    place,
                    TokenVoices {
                        symbol: symbol.to_owned(),
                        voices,
                    },
                ));
            }
            Ok((_, _, Err(error))) => failure = Some(error),
            Err(_) => {}
        }
    }
    match failure {
        Some(error) if found.is_empty() => return Err(error.into()),
        Some(error) => sources.push(Provenance::unavailable(&error, okx.mode(), okx.now())),
        None => {}
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(Sourced {
        value: found.into_iter().map(|(_, token)| token).collect(),
        sources,
    })
}
