//! Gathers all news from every source at once.
//!
//! A failed source is listed and does not end the round. [`readings`] judges and ranks the
//! articles.

use jiff::Timestamp;
use readings::news::{Article, Digest, FearGreed, compile};

use super::NewsDesk;
use crate::{
    error::{Error, SourceError, SourceErrorKind},
    provenance::{Provenance, Sourced},
    source::Source,
};

/// The source id of a digest that is refused because too few sources answered.
const DIGEST: &str = "news";

/// The material that was collected so far.
#[derive(Default)]
struct Collection {
    articles: Vec<Article>,
    sources: Vec<Provenance>,
    failure: Option<SourceError>,
}

impl NewsDesk {
    /// Asks every source at once and makes the digest of their answers, as of `now`. Each source
    /// has its own time limit. A source that fails is named and left out.
    ///
    /// # Errors
    ///
    /// When too little is left for a digest: the failure of a source, if one failed.
    pub async fn gather(&self, now: Timestamp) -> Result<Sourced<Digest>, Error> {
        let rss = &self.rss;
        let (okx, coindesk, cryptopanic, index, one, two, three, four, five, six) = tokio::join!(
            self.okx.latest_news(),
            self.coindesk.news(),
            self.cryptopanic.news(),
            self.alternative_me.fear_greed(),
            rss.articles(0),
            rss.articles(1),
            rss.articles(2),
            rss.articles(3),
            rss.articles(4),
            rss.articles(5),
        );
        let mut all = Collection::default();
        all.add(self.okx.source(), okx);
        all.add(self.coindesk.source(), coindesk);
        if self.cryptopanic.source().disabled().is_none() {
            all.add(self.cryptopanic.source(), cryptopanic);
        }
        for (feed, told) in rss.feeds().iter().zip([one, two, three, four, five, six]) {
            all.add(feed, told);
        }
        let fear_greed = all.index(self.alternative_me.source(), index);
        let Collection {
            articles,
            sources,
            failure,
        } = all;
        let digest = compile(articles, fear_greed, now).map_err(|thin| {
            failure.unwrap_or_else(|| SourceError {
                source: DIGEST,
                kind: SourceErrorKind::Malformed {
                    path: "headlines".to_owned(),
                    expected: "at least 5 headlines from 2 sources",
                    observed: thin.to_string(),
                },
            })
        })?;
        Ok(Sourced {
            value: digest,
            sources,
        })
    }

    /// Ids of all sources that [`Self::gather`] asks.
    pub fn source_ids(&self) -> Vec<&'static str> {
        let one = [
            self.okx.source(),
            self.coindesk.source(),
            self.cryptopanic.source(),
            self.alternative_me.source(),
        ];
        let all = one.into_iter().chain(self.rss.feeds());
        all.flat_map(|source| source.spec().sources.iter().copied())
            .collect()
    }
}

impl Collection {
    fn add(&mut self, source: &Source, told: Result<Sourced<Vec<Article>>, SourceError>) {
        if let Some(articles) = self.take(source, told) {
            self.articles.extend(articles);
        }
    }

    /// The index carries its own day, so it does not age the news.
    fn index(
        &mut self,
        source: &Source,
        told: Result<Sourced<FearGreed>, SourceError>,
    ) -> Option<FearGreed> {
        self.take(source, told.map(|told| told.as_of(None)))
    }

    fn take<T>(&mut self, source: &Source, told: Result<Sourced<T>, SourceError>) -> Option<T> {
        match told {
            Ok(told) => {
                self.sources.extend(told.sources);
                Some(told.value)
            }
            Err(error) => {
                let unavailable = Provenance::unavailable(&error, source.mode(), source.now());
                self.sources.push(unavailable);
                self.failure.get_or_insert(error);
                None
            }
        }
    }
}
