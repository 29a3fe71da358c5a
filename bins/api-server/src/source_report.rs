//! The report on the sources of an answer: their contributions, the missing fields and the
//! shortened lists. It collects; the answer renders it into `meta`.

use data_sources::{Error, Provenance, SourceStatus, Sourced};
use serde::Serialize;

use crate::context::Context;

/// A member of `data` that is unavailable, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Unavailable {
    /// `data.` and the path; `[]` stands for any element of a list.
    pub(crate) field: String,
    pub(crate) reason: String,
    pub(crate) source: &'static str,
}

/// A list of an answer that is shortened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Cut {
    /// `data.` and the path.
    pub(crate) field: String,
    /// Rows that are shown.
    pub(crate) shown: usize,
    /// Rows of the whole list.
    pub(crate) total: usize,
}

impl Cut {
    /// The shortening of the list at `place` below `data`; `None` when every row is shown.
    pub(crate) fn of(place: &str, shown: usize, total: usize) -> Option<Self> {
        (total > shown).then(|| Self {
            field: format!("data.{place}"),
            shown,
            total,
        })
    }

    /// This entry in an enclosing answer, in which the value at `from` moves to `to`. `None` for a
    /// list that the enclosing answer leaves out.
    pub(crate) fn moved(self, from: &str, to: &str) -> Option<Self> {
        let rest = self.field.strip_prefix(from)?;
        let field = format!("{to}{rest}");
        Some(Self { field, ..self })
    }
}

/// The sources of an answer and the missing fields, collected source by source.
#[derive(Debug, Default)]
pub(crate) struct SourceReport {
    /// Every source that was asked, in order.
    pub(crate) sources: Vec<Provenance>,
    /// Every member that is unavailable.
    pub(crate) unavailable: Vec<Unavailable>,
    /// Every list that is shortened.
    pub(crate) cut: Vec<Cut>,
}

impl SourceReport {
    /// Returns the value of a request. If the request failed, lists `field` as unavailable with the
    /// reason.
    pub(crate) fn take<T>(
        &mut self,
        context: &Context,
        field: &str,
        asked: Result<Sourced<T>, Error>,
    ) -> Option<T> {
        match asked {
            Ok(sourced) => Some(self.accept(sourced)),
            Err(error) => {
                let source = error.source_id().unwrap_or_default();
                self.failed(context, &error);
                self.missing(field, error.reason(), source);
                None
            }
        }
    }

    /// Returns the value of a successful request and records its source.
    pub(crate) fn accept<T>(&mut self, sourced: Sourced<T>) -> T {
        for source in sourced.sources {
            self.add(source);
        }
        sourced.value
    }

    /// Adds the sources and missing fields of another report.
    pub(crate) fn join(&mut self, other: Self) {
        self.accept(Sourced {
            value: (),
            sources: other.sources,
        });
        self.unavailable.extend(other.unavailable);
        self.cut.extend(other.cut);
    }

    /// Records that only `shown` of all rows of the list at `place` are shown, if that is so.
    pub(crate) fn cut(&mut self, place: &str, shown: usize, total: usize) {
        self.cut.extend(Cut::of(place, shown, total));
    }

    /// The first source that contributed.
    pub(crate) fn core(&self) -> &'static str {
        let given = self.sources.iter().find(|source| gave(source));
        given.map_or("", |source| source.source)
    }

    /// Whether `source` contributed.
    pub(crate) fn has(&self, source: &str) -> bool {
        let mut of = self.sources.iter().filter(|known| known.source == source);
        of.any(gave)
    }

    /// Records a failed source.
    pub(crate) fn failed(&mut self, context: &Context, error: &Error) {
        if let Error::Source(error) = error {
            let mode = context.mode_of(error.source);
            self.add(Provenance::unavailable(error, mode, context.now()));
        }
    }

    /// Lists a member of `data` as unavailable.
    pub(crate) fn missing(&mut self, field: &str, reason: impl Into<String>, source: &'static str) {
        self.unavailable.push(Unavailable {
            field: format!("data.{field}"),
            reason: reason.into(),
            source,
        });
    }

    /// Records a source once. When one source answered twice, the older answer sets its age.
    /// Answers that only name things do not age.
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
