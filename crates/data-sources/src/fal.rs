//! fal: images from a queue.
//!
//! A request is queued once and then polled until it is done. The image is requested inside the
//! answer (`sync_mode`): no address in an answer is ever followed, not even those of the queue
//! itself.

use std::time::{Duration, Instant};

use readings::ai::{Generated, Picture};
use serde::Deserialize;
use serde_json::json;

use crate::{
    budget::{Families, Rate},
    error::{Error, SourceError, SourceErrorKind},
    generated::{self, LIMITS, UNUSABLE_MODEL},
    provenance::Sourced,
    source::{Ask, Fault, KeyRule, UpstreamSpec, upstream},
    transport::Reply,
};

const IMAGES: &str = "fal.images";

/// The model unless the configuration names another one.
const IMAGE_MODEL: &str = "fal-ai/flux/dev";
/// The pause between two polls.
const PAUSE: Duration = Duration::from_millis(1500);
/// The most polls: with their pauses they take more than the time of a call.
const MAX_LOOKS: usize = 80;

upstream!(
    /// fal: images from a queue.
    Fal,
    UpstreamSpec {
        name: "fal",
        urls: &[("base_url", "https://queue.fal.run")],
        key: KeyRule::Required,
        sources: &[IMAGES],
        families: Families::One(Rate::per_minute(60)),
        models: true,
        limits: LIMITS,
        ..UpstreamSpec::DATA
    }
);

#[derive(Deserialize)]
struct Queued {
    request_id: String,
}

#[derive(Deserialize)]
struct Status {
    status: String,
}

#[derive(Deserialize)]
struct Output {
    images: Vec<Item>,
    #[serde(default)]
    has_nsfw_concepts: Option<Vec<bool>>,
    #[serde(default)]
    prompt: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    url: String,
}

#[derive(Deserialize)]
struct Refusal {
    detail: Vec<Reason>,
}

#[derive(Deserialize)]
struct Reason {
    #[serde(default)]
    r#type: Option<String>,
}

impl Fal {
    /// Draws one square image.
    ///
    /// # Errors
    ///
    /// When the upstream fails, takes too long, or does not send exactly one whole image.
    pub async fn image(&self, prompt: &str) -> Result<Sourced<Generated<Picture>>, Error> {
        let model = self.source.option("image_model").unwrap_or(IMAGE_MODEL);
        let app = app(model).ok_or(SourceError {
            source: IMAGES,
            kind: UNUSABLE_MODEL,
        })?;
        let limit = LIMITS.timeout;
        let started = Instant::now();
        let drawn = tokio::time::timeout(limit, self.draw(model, &app, prompt));
        let timed_out = SourceErrorKind::Timeout {
            limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
        };
        let mut drawn = drawn
            .await
            .unwrap_or_else(|_| Err(self.source.reject_response(IMAGES, timed_out).into()))?;
        for source in &mut drawn.sources {
            source.latency_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        }
        Ok(drawn)
    }

    async fn draw(
        &self,
        model: &str,
        app: &str,
        prompt: &str,
    ) -> Result<Sourced<Generated<Picture>>, Error> {
        let body = json!({
            "prompt": prompt,
            "num_images": 1,
            "image_size": "square_hd",
            "output_format": "png",
            "sync_mode": true,
        })
        .to_string();
        let path = format!("/{model}");
        let ask = self.with_key(self.source.post(IMAGES, &path, &body));
        let queued: Sourced<Queued> = self
            .source
            .ask(ask, |reply| {
                Ok::<_, Fault<Error>>(generated::read::<Queued>(reply)?)
            })
            .await?;
        let id = queued.value.request_id;
        if !generated::is_plain(&id) {
            let kind = generated::malformed("$.request_id", "an id");
            return Err(self.source.reject_response(IMAGES, kind).into());
        }
        self.wait(&format!("/{app}/requests/{id}/status")).await?;

        let path = format!("/{app}/requests/{id}");
        let ask = self.with_key(self.source.get(IMAGES, &path).accepts(&[422]).follows_up());
        let output = self.source.ask(ask, |reply| {
            Ok::<_, Fault<Error>>(read(reply, model, prompt)?)
        });
        output.await
    }

    /// Polls until the request is done.
    async fn wait(&self, path: &str) -> Result<(), Error> {
        for _ in 0..MAX_LOOKS {
            let ask = self.with_key(self.source.get(IMAGES, path).follows_up());
            let status = self.source.ask(ask, |reply| {
                Ok::<_, Fault<Error>>(generated::read::<Status>(reply)?)
            });
            let status = status.await?.value.status;
            match status.as_str() {
                "COMPLETED" => return Ok(()),
                "IN_QUEUE" | "IN_PROGRESS" => tokio::time::sleep(PAUSE).await,
                _ => {
                    let kind = generated::failure(Some(&status));
                    return Err(self.source.reject_response(IMAGES, kind).into());
                }
            }
        }
        let kind = generated::failure(Some("still_queued"));
        Err(self.source.reject_response(IMAGES, kind).into())
    }

    fn with_key<'a>(&self, ask: Ask<'a>) -> Ask<'a> {
        ask.secret_header("authorization", "Key ", self.source.api_key())
            .once()
    }
}

/// The part of a model's name that names its queue: its owner and the app.
fn app(model: &str) -> Option<String> {
    let parts: Vec<&str> = model.split('/').collect();
    match parts.as_slice() {
        [owner, app, ..] if parts.iter().all(|part| generated::is_plain(part)) => {
            Some(format!("{owner}/{app}"))
        }
        _ => None,
    }
}

fn read(reply: &Reply, model: &str, asked: &str) -> Result<Generated<Picture>, SourceErrorKind> {
    if !reply.status.is_success() {
        let refusal: Option<Refusal> = generated::read(reply).ok();
        let reasons = refusal.map_or_else(Vec::new, |refusal| refusal.detail);
        let is_policy = |it: &Reason| it.r#type.as_deref() == Some("content_policy_violation");
        return if reasons.iter().any(is_policy) {
            Ok(Generated::Blocked)
        } else {
            Err(SourceErrorKind::HttpStatus {
                status: reply.status.as_u16(),
                code: None,
            })
        };
    }
    let output: Output = generated::read(reply)?;
    // The upstream draws over images that its safety system rejects.
    let flags = output.has_nsfw_concepts.unwrap_or_default();
    if flags.contains(&true) {
        return Ok(Generated::Blocked);
    }
    let [item] = <[Item; 1]>::try_from(output.images)
        .map_err(|_| generated::malformed("$.images", "one image"))?;
    let base64 = item
        .url
        .strip_prefix("data:image/")
        .and_then(|rest| rest.split_once(";base64,"))
        .map(|(_, base64)| base64)
        .ok_or_else(|| generated::malformed("$.images[0].url", "an image inside the answer"))?;
    Ok(Generated::Made(Picture {
        image: generated::image(base64, "$.images[0].url")?,
        model: generated::model(None, model),
        revised_prompt: generated::prompt(output.prompt.filter(|used| used != asked)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_belongs_to_an_app() {
        assert_eq!(app("fal-ai/flux/dev").as_deref(), Some("fal-ai/flux"));
        assert_eq!(app("fal-ai/flux").as_deref(), Some("fal-ai/flux"));
        for other in [
            "flux",
            "",
            "fal-ai/../admin",
            "fal-ai//x",
            "/fal-ai/x",
            "a/b?c=d",
        ] {
            assert_eq!(app(other), None, "{other}");
        }
    }
}
