//! Anthropic: research with web search. A call may pause and continue; each continuation counts as
//! a request of the caller.

mod messages;

use readings::ai::{Generated, Research};
use serde::Serialize;
use serde_json::{json, value::RawValue};

use self::messages::Turn;
use crate::{
    budget::{Families, Rate},
    error::{Error, SourceError},
    generated::{self, INSTRUCTIONS, LIMITS, MAX_SEARCHES, MAX_TOKENS},
    provenance::{Provenance, Sourced},
    source::{Fault, KeyRule, UpstreamSpec, upstream},
    transport::{Limits, Reply},
};

const MESSAGES: &str = "anthropic.messages";
const MODELS: &str = "anthropic.models";

/// The model unless the configuration names another one.
const RESEARCH_MODEL: &str = "claude-sonnet-5";
/// The version of the interface.
const VERSION: &str = "2023-06-01";
/// The version of the search tool.
const SEARCH_TOOL: &str = "web_search_20260318";
/// The most calls of one answer: a long turn is paused, and the next call continues it.
const MAX_TURNS: usize = 4;

upstream!(
    /// Anthropic: research with web search.
    Anthropic,
    UpstreamSpec {
        name: "anthropic",
        urls: &[("base_url", "https://api.anthropic.com")],
        key: KeyRule::Required,
        sources: &[MESSAGES, MODELS],
        families: Families::One(Rate::per_minute(60)),
        models: true,
        limits: Limits {
            max_body_bytes: 4 * 1024 * 1024,
            ..LIMITS
        },
        ..UpstreamSpec::DATA
    }
);

/// One side of the conversation.
#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Content<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    /// Blocks exactly as they came.
    Blocks(&'a [Box<RawValue>]),
}

impl Anthropic {
    /// Researches a question on the web.
    ///
    /// # Errors
    ///
    /// When the upstream fails, its search fails, or its answer does not end.
    pub async fn research(&self, prompt: &str) -> Result<Sourced<Generated<Research>>, Error> {
        let model = self
            .source
            .option("research_model")
            .unwrap_or(RESEARCH_MODEL);
        let mut blocks: Vec<Box<RawValue>> = Vec::new();
        let mut searches = None;
        let mut latency_ms = 0_u64;
        for _ in 0..MAX_TURNS {
            let Sourced { value, sources } = self.turn(model, prompt, &blocks).await?;
            let Turn {
                content,
                model: named,
                end,
                searches: made,
            } = value;
            blocks.extend(content);
            searches = match (searches, made) {
                (Some(before), Some(made)) => Some(u64::saturating_add(before, made)),
                (before, made) => before.or(made),
            };
            for source in &sources {
                latency_ms = latency_ms.saturating_add(source.latency_ms);
            }
            let research = match end {
                messages::End::Paused => continue,
                messages::End::Refused => Generated::Blocked,
                messages::End::Done => Generated::Made(
                    messages::assemble(
                        &blocks,
                        generated::model(named.as_deref(), model),
                        searches,
                    )
                    .map_err(|kind| self.source.reject_response(MESSAGES, kind))?,
                ),
            };
            let slow = |source: Provenance| Provenance {
                latency_ms,
                ..source
            };
            return Ok(Sourced {
                value: research,
                sources: sources.into_iter().map(slow).collect(),
            });
        }
        let kind = generated::failure(Some("incomplete"));
        Err(SourceError {
            source: MESSAGES,
            kind,
        }
        .into())
    }

    /// The models that the key may use, by their ids: `GET /v1/models`. It costs nothing.
    ///
    /// # Errors
    ///
    /// When the upstream fails or refuses the key.
    pub async fn models(&self) -> Result<Sourced<Vec<String>>, Error> {
        let ask = self
            .source
            .get(MODELS, "/v1/models?limit=1000")
            .secret_header("x-api-key", "", self.source.api_key())
            .header("anthropic-version", VERSION)
            .timeout(generated::LIST_TIME)
            .free();
        let read = |reply: &Reply| Ok::<_, Fault<Error>>(generated::ids(reply)?);
        self.source.ask(ask, read).await
    }

    /// One call, which sends the part of the answer that exists so far.
    async fn turn(
        &self,
        model: &str,
        prompt: &str,
        so_far: &[Box<RawValue>],
    ) -> Result<Sourced<Turn>, Error> {
        let mut conversation = vec![Message {
            role: "user",
            content: Content::Text(prompt),
        }];
        if !so_far.is_empty() {
            conversation.push(Message {
                role: "assistant",
                content: Content::Blocks(so_far),
            });
        }
        let body = Request {
            model,
            max_tokens: MAX_TOKENS,
            system: INSTRUCTIONS,
            messages: conversation,
            tools: json!([{ "type": SEARCH_TOOL, "name": "web_search", "max_uses": MAX_SEARCHES }]),
        };
        let body = serde_json::to_string(&body).unwrap_or_default();
        let ask = self
            .source
            .post(MESSAGES, "/v1/messages", &body)
            .secret_header("x-api-key", "", self.source.api_key())
            .header("anthropic-version", VERSION)
            .once();
        let turn = self
            .source
            .ask(ask, |reply| Ok::<_, Fault<Error>>(messages::read(reply)?));
        turn.await
    }
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    max_tokens: u32,
    system: &'static str,
    messages: Vec<Message<'a>>,
    tools: serde_json::Value,
}
