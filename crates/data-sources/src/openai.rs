//! OpenAI: images and research with web search.
//!
//! Prompts are sent once, and the upstream does not keep them (`store: false`). Images come inside
//! the answer; an address is never followed.

mod images;
mod responses;

use readings::ai::{Generated, Picture, Research};
use serde::Deserialize;
use serde_json::json;

use crate::{
    budget::{Families, Rate},
    error::{Error, SourceErrorKind},
    generated::{self, INSTRUCTIONS, LIMITS, MAX_TOKENS},
    provenance::Sourced,
    source::{Ask, Fault, KeyRule, UpstreamSpec, upstream},
    transport::Reply,
};

const IMAGES: &str = "openai.images";
const RESPONSES: &str = "openai.responses";
const MODELS: &str = "openai.models";

/// The image model unless the configuration names another one.
const IMAGE_MODEL: &str = "gpt-image-2";
/// The research model unless the configuration names another one.
const RESEARCH_MODEL: &str = "gpt-5.5";

upstream!(
    /// OpenAI: images and research with web search.
    Openai,
    UpstreamSpec {
        name: "openai",
        urls: &[("base_url", "https://api.openai.com")],
        key: KeyRule::Required,
        sources: &[IMAGES, RESPONSES, MODELS],
        families: Families::One(Rate::per_minute(60)),
        models: true,
        limits: LIMITS,
        ..UpstreamSpec::DATA
    }
);

/// An error answer.
#[derive(Deserialize)]
struct Refusal {
    error: RefusalBody,
}

#[derive(Deserialize)]
struct RefusalBody {
    #[serde(default)]
    code: Option<String>,
}

impl Openai {
    /// Draws one square image.
    ///
    /// # Errors
    ///
    /// When the upstream fails, or does not send exactly one whole image.
    pub async fn image(&self, prompt: &str) -> Result<Sourced<Generated<Picture>>, Error> {
        let model = self.source.option("image_model").unwrap_or(IMAGE_MODEL);
        let body = json!({
            "model": model,
            "prompt": prompt,
            "n": 1,
            "size": "1024x1024",
            "quality": "medium",
            "output_format": "png",
        })
        .to_string();
        let ask = self.post(IMAGES, "/v1/images/generations", &body);
        let found = self.source.ask(ask, |reply| {
            if is_blocked(reply)? {
                return Ok(Generated::Blocked);
            }
            Ok::<_, Fault<Error>>(Generated::Made(images::read(reply, model)?))
        });
        found.await
    }

    /// Researches a question on the web.
    ///
    /// # Errors
    ///
    /// When the upstream fails or does not finish its answer.
    pub async fn research(&self, prompt: &str) -> Result<Sourced<Generated<Research>>, Error> {
        let model = self
            .source
            .option("research_model")
            .unwrap_or(RESEARCH_MODEL);
        let body = json!({
            "model": model,
            "instructions": INSTRUCTIONS,
            "input": prompt,
            "tools": [{ "type": "web_search" }],
            "include": ["web_search_call.action.sources"],
            "max_output_tokens": MAX_TOKENS,
            "store": false,
        })
        .to_string();
        let ask = self.post(RESPONSES, "/v1/responses", &body);
        let found = self.source.ask(ask, |reply| {
            if is_blocked(reply)? {
                return Ok(Generated::Blocked);
            }
            Ok::<_, Fault<Error>>(responses::read(reply, model)?)
        });
        found.await
    }

    /// The models that the key may use, by their ids: `GET /v1/models`. It costs nothing.
    ///
    /// # Errors
    ///
    /// When the upstream fails or refuses the key.
    pub async fn models(&self) -> Result<Sourced<Vec<String>>, Error> {
        let ask = self
            .source
            .get(MODELS, "/v1/models")
            .secret_header("authorization", "Bearer ", self.source.api_key())
            .timeout(generated::LIST_TIME)
            .free();
        let read = |reply: &Reply| Ok::<_, Fault<Error>>(generated::ids(reply)?);
        self.source.ask(ask, read).await
    }

    fn post<'a>(&self, source: &'static str, path: &'a str, body: &'a str) -> Ask<'a> {
        self.source
            .post(source, path, body)
            .secret_header("authorization", "Bearer ", self.source.api_key())
            .accepts(&[400])
            .once()
    }
}

/// Whether the safety system refuses the prompt. Any other 400 is our fault or the upstream's.
fn is_blocked(reply: &Reply) -> Result<bool, SourceErrorKind> {
    if reply.status.is_success() {
        return Ok(false);
    }
    let refusal: Option<Refusal> = generated::read(reply).ok();
    let code = refusal.and_then(|refusal| refusal.error.code);
    match code.as_deref() {
        Some("moderation_blocked" | "content_policy_violation" | "invalid_prompt") => Ok(true),
        _ => Err(SourceErrorKind::HttpStatus {
            status: reply.status.as_u16(),
            code: None,
        }),
    }
}
