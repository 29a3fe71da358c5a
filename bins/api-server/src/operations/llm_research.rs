//! `GET /llm-research`: answers a question by a model that searches the web.
//!
//! The route asks one model at a time, and the next one only when a model fails. An answer without
//! citations still counts as an answer, because another model would be paid for the same question
//! in vain.

use data_sources::{Error, Source, SourceError, SourceErrorKind, Sourced};
use readings::ai::{Generated, Research};
use tokio::time::{Duration, Instant, timeout_at};

use super::ai::{self, BUDGET, FRESH_SECONDS};
use super::fault;
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Ai;

/// The least time for asking a further model after one has failed.
const LEAST_TIME: Duration = Duration::from_secs(30);

/// The models in the order in which they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Model {
    Openai,
    Anthropic,
    Perplexity,
}

pub(super) async fn answer(
    context: &Context,
    ai: &Ai,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let prompt = call.parameters.text("prompt").unwrap_or_default();
    let end = Instant::now() + BUDGET;
    let mut failures: Vec<Error> = Vec::new();
    let mut models = vec![Model::Openai, Model::Anthropic, Model::Perplexity];
    models.retain(|model| model.source(ai).disabled().is_none());
    if models.is_empty() {
        // Its own error says why it is not asked.
        models.push(Model::Openai);
    }
    for model in models {
        let left = end.saturating_duration_since(Instant::now());
        if !failures.is_empty() && left < LEAST_TIME {
            break;
        }
        let asked = timeout_at(end, model.research(ai, prompt)).await;
        match asked.unwrap_or_else(|_| Err(model.timed_out())) {
            Ok(found) => return answered(context, found, &failures),
            Err(error) => failures.push(error),
        }
    }
    Err(failures.first().map_or_else(ai::too_slow, fault::reply))
}

fn answered(
    context: &Context,
    found: Sourced<Generated<Research>>,
    failures: &[Error],
) -> Result<Answered, ErrorReply> {
    let source = found.source();
    let mut report = SourceReport::default();
    let Generated::Made(research) = report.accept(found) else {
        return Err(ai::blocked());
    };
    if research.citations.is_empty() {
        return Err(fault::core_missing("citations", "no_citations"));
    }
    for failure in failures {
        report.failed(context, failure);
    }
    Ok(Answered::new(research, FRESH_SECONDS)
        .with_report(report)
        .origin("answer_markdown", source, Method::Direct)
        .origin("citations", source, Method::Direct))
}

impl Model {
    fn source(self, ai: &Ai) -> &Source {
        match self {
            Self::Openai => ai.openai.source(),
            Self::Anthropic => ai.anthropic.source(),
            Self::Perplexity => ai.perplexity.source(),
        }
    }

    async fn research(self, ai: &Ai, prompt: &str) -> Result<Sourced<Generated<Research>>, Error> {
        match self {
            Self::Openai => ai.openai.research(prompt).await,
            Self::Anthropic => ai.anthropic.research(prompt).await,
            Self::Perplexity => ai.perplexity.research(prompt).await,
        }
    }

    fn timed_out(self) -> Error {
        let limit_ms = u64::try_from(BUDGET.as_millis()).unwrap_or(u64::MAX);
        SourceError {
            source: match self {
                Self::Openai => "openai.responses",
                Self::Anthropic => "anthropic.messages",
                Self::Perplexity => "perplexity.sonar",
            },
            kind: SourceErrorKind::Timeout { limit_ms },
        }
        .into()
    }
}
