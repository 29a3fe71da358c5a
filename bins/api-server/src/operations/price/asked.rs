//! The sources that were asked for a price, and what they said.

use data_sources::{Error, Provenance, SourceErrorKind, SourceStatus, Sourced};
use readings::token::consensus::{Consensus, MAX_AGE_SECONDS, Quote};

use super::{FRESH_SECONDS, INFO};
use crate::answer::{Part, fresh_together};
use crate::context::Context;

/// The sources that were asked for a price, and what they said.
pub(super) struct Asked<'a> {
    context: &'a Context,
    pub(super) quotes: Vec<Quote>,
    provenance: Vec<Provenance>,
    /// What kept a source from saying anything.
    failure: Option<Error>,
    unknown: bool,
}

impl<'a> Asked<'a> {
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
        leg: Result<Sourced<T>, Error>,
    ) -> Option<T> {
        match leg {
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
                self.silent(error);
                None
            }
        }
    }

    /// A source that has no price, or that could not be asked for one.
    pub(super) fn silent(&mut self, error: Error) {
        if matches!(error, Error::NotPriced { .. } | Error::NoRoute { .. }) {
            self.unknown = true;
        } else if self.failure.as_ref().is_none_or(is_disabled) {
            self.failure = Some(error);
        }
    }

    /// Lists who took part in something else than a list of prices.
    pub(super) fn list(&mut self, provenance: Vec<Provenance>) {
        self.provenance.extend(provenance);
    }

    /// Why there is no price.
    pub(super) fn failure(self, token: alloy_primitives::Address) -> Error {
        match self.failure {
            Some(error) if !(self.unknown && is_disabled(&error)) => error,
            _ => Error::NotPriced { token },
        }
    }

    /// Who took part, the core source first, and for how long all of it counts as fresh: the price, what confirmed it and
    /// the liquidity each have their time. A source of which nothing is told stands there for the record and does not age
    /// the answer.
    pub(super) fn provenance(&self, consensus: &Consensus, liquid: bool) -> (Vec<Provenance>, u64) {
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
        let now = self.context.now();
        let told = provenance.iter().filter(|source| {
            !source.reference && !matches!(source.status, SourceStatus::Unavailable { .. })
        });
        let parts = told.map(|source| {
            let price = consensus.source.is_none_or(|of| of == source.source);
            let fresh = match price || source.source == INFO {
                true => FRESH_SECONDS,
                // What only confirms may be older.
                false => u64::try_from(MAX_AGE_SECONDS).unwrap_or(FRESH_SECONDS),
            };
            Part::of(std::slice::from_ref(source), fresh, now)
        });
        let fresh_seconds = fresh_together(parts);
        (provenance, fresh_seconds)
    }
}

fn is_disabled(error: &Error) -> bool {
    matches!(error, Error::Source(error) if matches!(error.kind, SourceErrorKind::Disabled { .. }))
}
