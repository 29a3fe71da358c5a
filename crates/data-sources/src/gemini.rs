//! Gemini: images inside the answer. The first image that is no sketch counts, and its type is read
//! from its bytes.

use readings::ai::{Generated, Picture};
use serde::Deserialize;
use serde_json::json;

use crate::{
    budget::{Families, Rate},
    error::{Error, SourceError, SourceErrorKind},
    generated::{self, LIMITS, NAME_CHARS, UNUSABLE_MODEL},
    json::read_json,
    provenance::Sourced,
    source::{Fault, KeyRule, UpstreamSpec, upstream},
    text::clean,
    transport::Reply,
};

const IMAGES: &str = "gemini.images";
const MODELS: &str = "gemini.models";
/// The word inside a 400 answer for an unknown key.
const WRONG_KEY: &str = "API_KEY_INVALID";

/// The model unless the configuration names another one.
const IMAGE_MODEL: &str = "gemini-3-pro-image";

upstream!(
    /// Gemini: images inside the answer.
    Gemini,
    UpstreamSpec {
        name: "gemini",
        urls: &[("base_url", "https://generativelanguage.googleapis.com")],
        key: KeyRule::Required,
        sources: &[IMAGES, MODELS],
        families: Families::One(Rate::per_minute(60)),
        models: true,
        limits: LIMITS,
        ..UpstreamSpec::DATA
    }
);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    candidates: Vec<Candidate>,
    #[serde(default)]
    prompt_feedback: Option<Feedback>,
    #[serde(default)]
    model_version: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(default)]
    inline_data: Option<Inline>,
    /// Whether the part is a sketch made on the way to the image.
    #[serde(default)]
    thought: bool,
}

#[derive(Deserialize)]
struct Inline {
    data: String,
}

impl Gemini {
    /// Draws one image.
    ///
    /// # Errors
    ///
    /// When the upstream fails, or does not send a whole image.
    pub async fn image(&self, prompt: &str) -> Result<Sourced<Generated<Picture>>, Error> {
        let model = self.source.option("image_model").unwrap_or(IMAGE_MODEL);
        if !generated::is_plain(model) {
            return Err(SourceError {
                source: IMAGES,
                kind: UNUSABLE_MODEL,
            }
            .into());
        }
        let path = format!("/v1beta/models/{model}:generateContent");
        let body = json!({ "contents": [{ "parts": [{ "text": prompt }] }] }).to_string();
        let ask = self
            .source
            .post(IMAGES, &path, &body)
            .secret_header("x-goog-api-key", "", self.source.api_key())
            .once();
        let found = self
            .source
            .ask(ask, |reply| Ok::<_, Fault<Error>>(read(reply, model)?));
        found.await
    }

    /// The models that the key may use, by their names: `GET /v1beta/models`. It costs nothing.
    ///
    /// # Errors
    ///
    /// When the upstream fails or refuses the key.
    pub async fn models(&self) -> Result<Sourced<Vec<String>>, Error> {
        let ask = self
            .source
            .get(MODELS, "/v1beta/models?pageSize=1000")
            .secret_header("x-goog-api-key", "", self.source.api_key())
            .accepts(&[400])
            .timeout(generated::LIST_TIME)
            .free();
        let read = |reply: &Reply| Ok::<_, Fault<Error>>(names(reply)?);
        self.source.ask(ask, read).await
    }
}

/// A list of models.
#[derive(Deserialize)]
struct List {
    models: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
}

/// The reason of a refusal.
#[derive(Deserialize)]
struct Refusal {
    error: Refused,
}

#[derive(Deserialize)]
struct Refused {
    #[serde(default)]
    details: Vec<Detail>,
}

#[derive(Deserialize)]
struct Detail {
    #[serde(default)]
    reason: Option<String>,
}

fn names(reply: &Reply) -> Result<Vec<String>, SourceErrorKind> {
    if !reply.status.is_success() {
        let refusal: Refusal = generated::read(reply)?;
        let mut reasons = refusal.error.details.into_iter();
        let status = match reasons.any(|detail| detail.reason.as_deref() == Some(WRONG_KEY)) {
            true => 401,
            false => reply.status.as_u16(),
        };
        return Err(SourceErrorKind::HttpStatus { status, code: None });
    }
    // A list of models repeats no prompt, so an error may quote it.
    let list: List = read_json(&reply.body)?;
    let names = list.models.into_iter();
    Ok(names.map(|model| clean(&model.name, NAME_CHARS)).collect())
}

fn read(reply: &Reply, model: &str) -> Result<Generated<Picture>, SourceErrorKind> {
    let answer: Answer = generated::read(reply)?;
    let feedback = answer.prompt_feedback.and_then(|it| it.block_reason);
    if feedback.is_some_and(|reason| reason != "BLOCK_REASON_UNSPECIFIED") {
        return Ok(Generated::Blocked);
    }
    let [candidate] = <[Candidate; 1]>::try_from(answer.candidates)
        .map_err(|_| generated::malformed("$.candidates", "one answer"))?;
    match candidate.finish_reason.as_deref() {
        Some("STOP") => {}
        Some(
            "SAFETY"
            | "IMAGE_SAFETY"
            | "PROHIBITED_CONTENT"
            | "IMAGE_PROHIBITED_CONTENT"
            | "BLOCKLIST"
            | "RECITATION"
            | "IMAGE_RECITATION"
            | "SPII",
        ) => return Ok(Generated::Blocked),
        reason => return Err(generated::failure(reason)),
    }
    let parts = candidate
        .content
        .map_or_else(Vec::new, |content| content.parts);
    let image = parts
        .into_iter()
        .filter(|part| !part.thought)
        .find_map(|part| part.inline_data)
        .ok_or_else(|| generated::failure(Some("no_image")))?;
    Ok(Generated::Made(Picture {
        image: generated::image(
            &image.data,
            "$.candidates[0].content.parts[].inlineData.data",
        )?,
        model: generated::model(answer.model_version.as_deref(), model),
        revised_prompt: None,
    }))
}
