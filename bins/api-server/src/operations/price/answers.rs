//! The sources of a price, and their answers.

use std::sync::Arc;

use alloy_primitives::Address;
use data_sources::{Error, Provenance, SourceErrorKind, SourceStatus, Sourced};
use readings::token::consensus::{Consensus, MAX_AGE_SECONDS, Quote};
use readings::token::pools::DexPair;

use super::{FRESH_SECONDS, INFO, PAIRS, of_pools};
use crate::answer::Part;
use crate::context::Context;

/// The sources that were asked for a price, and their answers.
pub(super) struct PriceAnswers<'a> {
    context: &'a Context,
    pub(super) quotes: Vec<Quote>,
    provenance: Vec<Provenance>,
    /// The failure of a source that could not answer.
    failure: Option<Error>,
    unknown: bool,
}

impl<'a> PriceAnswers<'a> {
    pub(super) fn new(context: &'a Context) -> Self {
        Self {
            context,
            quotes: Vec::new(),
            provenance: Vec::new(),
            failure: None,
            unknown: false,
        }
    }

    pub(super) fn take<T>(
        &mut self,
        source: &'static str,
        result: Result<Sourced<T>, Error>,
    ) -> Option<T> {
        match result {
            Ok(sourced) => {
                self.provenance.extend(sourced.sources);
                Some(sourced.value)
            }
            Err(error) => {
                self.provenance.push(Provenance {
                    status: SourceStatus::Unavailable {
                        reason: error.reason(),
                    },
                    mode: self.context.mode_of(source),
                    as_of: None,
                    ..Provenance::local(source, self.context.now())
                });
                self.without_price(error);
                None
            }
        }
    }

    /// Takes the price of the deepest pool among the requested pairs, and that of a pool which
    /// contradicts it.
    pub(super) fn pool(
        &mut self,
        platform: &str,
        token: Address,
        pairs: Result<Sourced<Arc<Vec<DexPair>>>, Error>,
    ) -> Vec<Quote> {
        let fetched_at = match &pairs {
            Ok(sourced) => sourced.sources.iter().map(|source| source.fetched_at).min(),
            Err(_) => None,
        };
        let (Some(pairs), Some(fetched_at)) = (self.take(PAIRS, pairs), fetched_at) else {
            return Vec::new();
        };
        let quotes = of_pools(platform, token, &pairs, fetched_at);
        if let Some(deepest) = quotes.first() {
            let sources = self.provenance.iter_mut();
            for source in sources.filter(|source| source.source == PAIRS) {
                source.as_of = deepest.as_of;
            }
        }
        quotes
    }

    /// Records a source that has no price or could not be asked.
    pub(super) fn without_price(&mut self, error: Error) {
        if matches!(error, Error::NotPriced { .. } | Error::NoRoute { .. }) {
            self.unknown = true;
        } else if self.failure.as_ref().is_none_or(is_disabled) {
            self.failure = Some(error);
        }
    }

    /// Lists sources that contributed something other than a price.
    pub(super) fn list(&mut self, provenance: Vec<Provenance>) {
        self.provenance.extend(provenance);
    }

    /// The error when there is no price.
    pub(super) fn failure(self, token: alloy_primitives::Address) -> Error {
        match self.failure {
            Some(error) if !(self.unknown && is_disabled(&error)) => error,
            _ => Error::NotPriced { token },
        }
    }

    /// The sources that took part, the core source first, and the parts of the answer: the price,
    /// its confirmation and the liquidity, each with its time. A source that contributed no data is
    /// listed for the record and does not age the answer.
    pub(super) fn provenance(
        &self,
        consensus: &Consensus,
        liquid: bool,
    ) -> (Vec<Provenance>, Vec<Part>) {
        let mut provenance = self.provenance.clone();
        for source in &mut provenance {
            let quoted = consensus
                .used
                .iter()
                .any(|quote| quote.source == source.source);
            let measured = liquid && source.source == INFO;
            source.reference = !(quoted || measured);
        }
        provenance.sort_by_key(|source| consensus.source != Some(source.source));
        let of = |wanted: &dyn Fn(&Provenance) -> bool| -> Vec<Provenance> {
            let sources = provenance.iter().filter(|source| {
                !source.reference && !matches!(source.status, SourceStatus::Unavailable { .. })
            });
            sources.filter(|source| wanted(source)).cloned().collect()
        };
        let quoted = |source: &Provenance| {
            let mut used = consensus.used.iter();
            used.any(|quote| quote.source == source.source)
        };
        let priced = |source: &Provenance| consensus.source.is_none_or(|of| of == source.source);
        // Data that only confirms, and a pool's price at the age of its last possible trade, may be
        // older.
        let lasting = u64::try_from(MAX_AGE_SECONDS).unwrap_or(FRESH_SECONDS);
        let pool = |source: &Provenance| source.source == PAIRS;
        let parts = [
            (
                "price",
                FRESH_SECONDS,
                of(&|of| quoted(of) && priced(of) && !pool(of)),
            ),
            (
                "pool_price",
                lasting,
                of(&|of| quoted(of) && priced(of) && pool(of)),
            ),
            ("confirmation", lasting, of(&|of| quoted(of) && !priced(of))),
            ("liquidity", FRESH_SECONDS, of(&|of| !quoted(of))),
        ];
        let parts = parts
            .into_iter()
            .filter(|(_, _, sources)| !sources.is_empty())
            .map(|(name, fresh, sources)| Part::of(name, &sources, fresh))
            .collect();
        (provenance, parts)
    }
}

fn is_disabled(error: &Error) -> bool {
    matches!(error, Error::Source(error) if matches!(error.kind, SourceErrorKind::Disabled { .. }))
}
