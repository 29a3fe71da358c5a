//! `GET /generate-meme`: draws an image with a model.
//!
//! The image is stored before the answer is sent. After a lost answer, the same payment fetches the
//! answer again and the digest fetches the image, so nothing is drawn or paid twice.

use alloy_primitives::hex;
use data_sources::{Error, Sourced};
use jiff::Timestamp;
use readings::ai::{Generated, Picture};
use route_catalog::ErrorCode;
use serde_json::json;
use sha2::{Digest, Sha256};
use storage::{AnyStore, Artifact, ServerStore, StoreError};

use super::ai::{self, FRESH_SECONDS};
use super::fault;
use crate::answer::{Answered, Method, seconds};
use crate::artifacts;
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Ai;

/// The room that has to be free in the store before an image is drawn: no image is larger than the
/// answer that carries it.
const ROOM_BYTES: u64 = 24 << 20;
/// For how many seconds an image can be fetched.
const KEPT_SECONDS: i64 = 86_400;

pub(super) async fn answer(
    context: &Context,
    ai: &Ai,
    store: Option<&AnyStore>,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    // Nothing is drawn that could not be stored, because the operator would pay the model for
    // nothing.
    let store = store.ok_or_else(no_store)?;
    store
        .has_room(ROOM_BYTES, unix(context.now()))
        .await
        .map_err(|error| not_kept(&error))?;
    let prompt = call.parameters.text("prompt").unwrap_or_default();
    let model = call.parameters.text("model").unwrap_or_default();
    let drawn = ai::within_budget(draw(ai, prompt, model)).await?;
    let found = drawn.map_err(|error| fault::reply(&error))?;
    let source = found.source();
    let mut report = SourceReport::default();
    let Generated::Made(picture) = report.accept(found) else {
        return Err(ai::blocked());
    };

    let Picture {
        image,
        model,
        revised_prompt,
    } = picture;
    let (format, width, height) = (image.format(), image.width(), image.height());
    let now = context.now();
    let expires_at = Timestamp::from_second(now.as_second().saturating_add(KEPT_SECONDS));
    let expires_at = expires_at.unwrap_or(Timestamp::MAX);
    let artifact = Artifact::new(
        format.media_type(),
        image.into_bytes().into(),
        unix(expires_at),
    );
    let sha256 = artifact.sha256();
    store
        .keep(artifact, unix(now))
        .await
        .map_err(|error| not_kept(&error))?;

    let data = json!({
        "image": {
            "mime": format.media_type(),
            "width": width,
            "height": height,
            "url": artifacts::url(sha256),
            "sha256": hex::encode(sha256),
            "expires_at": seconds(expires_at),
        },
        "model": model,
        "prompt_sha256": hex::encode(Sha256::digest(prompt)),
        "revised_prompt": revised_prompt,
    });
    Ok(Answered::new(data, FRESH_SECONDS)
        .with_report(report)
        .origin("image", source, Method::Direct))
}

/// Asks the chosen model once. If only the other model is configured, asks that one.
async fn draw(ai: &Ai, prompt: &str, model: &str) -> Result<Sourced<Generated<Picture>>, Error> {
    let has_gemini = ai.gemini.source().disabled().is_none();
    let has_fal = ai.fal.source().disabled().is_none();
    match model {
        "alternative" if !has_gemini && has_fal => ai.fal.image(prompt).await,
        "alternative" => ai.gemini.image(prompt).await,
        _ => ai.openai.image(prompt).await,
    }
}

fn unix(time: Timestamp) -> u64 {
    u64::try_from(time.as_second()).unwrap_or_default()
}

fn no_store() -> ErrorReply {
    ErrorReply::new(
        ErrorCode::UpstreamUnavailable,
        "this server cannot store images, so it draws none",
    )
    .detail("reason", "no_store")
    .retryable(false)
}

fn not_kept(error: &StoreError) -> ErrorReply {
    tracing::error!(code = error.code(), %error, "an image cannot be stored");
    ErrorReply::new(
        ErrorCode::UpstreamUnavailable,
        "the image cannot be stored right now",
    )
    .detail("reason", error.code())
    .retry_after(60)
}
