//! One harmless question to an upstream, and its answer with the exchanges on the wire.
//! [`row`](super::row) judges the answer.

use std::{fmt, future::Future, pin::Pin};

use jiff::Timestamp;
use plan_builder::ports::PortError;

use super::witness::{Exchange, Witness};
use crate::{
    error::{Error, SourceError},
    provenance::{Provenance, Sourced},
    source::Source,
};

/// An adapter that can be probed: it lists one harmless question for each of its endpoints. A
/// question calls the method that the routes call, so that the probe reads answers as they do.
pub trait Probed: Sync {
    /// The upstream that the adapter asks; `None` where there are several, such as the nodes of a
    /// chain.
    fn source(&self) -> Option<&Source>;

    /// Its questions.
    fn questions(&self) -> Vec<Question<'_>>;
}

/// One question.
pub struct Question<'a> {
    /// The upstream, by the name of its table.
    pub upstream: String,
    /// The sources that it asks.
    pub sources: &'static [&'static str],
    ask: Pin<Box<dyn Future<Output = Result<ProbeReading, Option<SourceError>>> + Send + 'a>>,
}

/// The reading of an adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeReading {
    /// Times of the data by source, where sources state them.
    pub times: Vec<(&'static str, Timestamp)>,
    /// The reading as text; equal texts are equal readings.
    pub text: String,
}

/// The result of a question.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    /// The upstream.
    pub upstream: String,
    /// The sources that the question asks.
    pub sources: &'static [&'static str],
    /// The reading; `None` when there is none.
    pub answer: Option<ProbeReading>,
    /// The exchanges on the wire. Empty when the answer was still kept from an earlier call.
    pub exchanges: Vec<Exchange>,
}

impl<'a> Question<'a> {
    /// A question whose answer states its provenance.
    pub(crate) fn new<T, E, F>(
        upstream: impl Into<String>,
        sources: &'static [&'static str],
        ask: F,
    ) -> Self
    where
        T: fmt::Debug,
        E: Into<Error>,
        F: Future<Output = Result<Sourced<T>, E>> + Send + 'a,
    {
        let ask = async move {
            match ask.await {
                Ok(told) => Ok(ProbeReading::of(&told.sources, &told.value)),
                Err(error) => Err(source_error(error.into())),
            }
        };
        Self {
            upstream: upstream.into(),
            sources,
            ask: Box::pin(ask),
        }
    }

    /// A question whose answer is a plain value.
    pub(crate) fn plain<T, F>(
        upstream: impl Into<String>,
        sources: &'static [&'static str],
        ask: F,
    ) -> Self
    where
        T: fmt::Debug,
        F: Future<Output = Result<T, PortError>> + Send + 'a,
    {
        let ask = async move {
            // The exchange already carries the reason.
            let told = ask.await.map_err(|_| None)?;
            Ok(ProbeReading::of(&[], &told))
        };
        Self {
            upstream: upstream.into(),
            sources,
            ask: Box::pin(ask),
        }
    }

    /// Asks the question.
    pub async fn ask(self) -> ProbeResult {
        let witness = Witness::default();
        let outcome = witness.scope(self.ask).await;
        let answer = match outcome {
            Ok(answer) => Some(answer),
            Err(error) => {
                if let Some(SourceError { source, kind }) = error {
                    witness.note_fault(source, &kind);
                }
                None
            }
        };
        ProbeResult {
            upstream: self.upstream,
            sources: self.sources,
            answer,
            exchanges: witness.exchanges(),
        }
    }
}

impl ProbeReading {
    fn of(sources: &[Provenance], value: &dyn fmt::Debug) -> Self {
        let time = |source: &Provenance| Some((source.source, source.as_of?));
        Self {
            times: sources.iter().filter_map(time).collect(),
            text: format!("{value:?}"),
        }
    }
}

fn source_error(error: Error) -> Option<SourceError> {
    match error {
        Error::Source(error) => Some(error),
        _ => None,
    }
}

impl fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("upstream", &self.upstream)
            .field("sources", &self.sources)
            .finish_non_exhaustive()
    }
}
