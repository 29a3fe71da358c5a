//! What several sources gave, and what could not be had of them.

use data_sources::{Error, Provenance, SourceStatus, Sourced};

use crate::Sources;
use crate::answer::Unavailable;

/// The sources of an answer and the gaps that they left, collected leg by leg.
#[derive(Debug, Default)]
pub(crate) struct Legs {
    /// Every source that was asked, in order.
    pub(crate) sources: Vec<Provenance>,
    /// Every member that could not be had.
    pub(crate) unavailable: Vec<Unavailable>,
}

impl Legs {
    /// The value of a leg; when it failed, `field` is listed with the reason.
    pub(crate) fn take<T>(
        &mut self,
        sources: &Sources,
        field: &str,
        leg: Result<Sourced<T>, Error>,
    ) -> Option<T> {
        match leg {
            Ok(sourced) => Some(self.got(sourced)),
            Err(error) => {
                let source = error.source_id().unwrap_or_default();
                self.failed(sources, &error);
                self.missing(field, error.reason(), source);
                None
            }
        }
    }

    /// The value of a leg that did not fail.
    pub(crate) fn got<T>(&mut self, sourced: Sourced<T>) -> T {
        for source in sourced.sources {
            self.add(source);
        }
        sourced.value
    }

    /// Takes over the sources and the gaps of other legs.
    pub(crate) fn join(&mut self, other: Self) {
        self.got(Sourced {
            value: (),
            sources: other.sources,
        });
        self.unavailable.extend(other.unavailable);
    }

    /// The first source that gave something.
    pub(crate) fn core(&self) -> &'static str {
        let given = self.sources.iter().find(|source| gave(source));
        given.map_or("", |source| source.source)
    }

    /// Whether `source` gave something.
    pub(crate) fn has(&self, source: &str) -> bool {
        let mut of = self.sources.iter().filter(|known| known.source == source);
        of.any(gave)
    }

    /// Lists the source that failed.
    pub(crate) fn failed(&mut self, sources: &Sources, error: &Error) {
        if let Error::Source(error) = error {
            let mode = sources.mode_of(error.source);
            self.add(Provenance::unavailable(error, mode, sources.now()));
        }
    }

    /// Lists a member of `data` that could not be had.
    pub(crate) fn missing(&mut self, field: &str, reason: impl Into<String>, source: &'static str) {
        self.unavailable.push(Unavailable {
            field: format!("data.{field}"),
            reason: reason.into(),
            source,
        });
    }

    /// A source counts once; of two answers of one source the older one ages the whole, and one that only names things
    /// does not.
    fn add(&mut self, source: Provenance) {
        let known = self
            .sources
            .iter_mut()
            .find(|known| known.source == source.source && known.status == source.status);
        match known {
            Some(_) if source.reference => {}
            Some(known) if known.reference => *known = source,
            Some(known) => {
                known.as_of = match (known.as_of, source.as_of) {
                    (Some(one), Some(other)) => Some(one.min(other)),
                    (one, other) => one.or(other),
                };
                known.fetched_at = known.fetched_at.min(source.fetched_at);
                known.latency_ms = known.latency_ms.max(source.latency_ms);
                known.cached &= source.cached;
            }
            None => self.sources.push(source),
        }
    }
}

fn gave(source: &Provenance) -> bool {
    !matches!(source.status, SourceStatus::Unavailable { .. })
}
