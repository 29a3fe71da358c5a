//! An answer of the image interface.

use jiff::Timestamp;
use readings::ai::Picture;
use serde::Deserialize;
use serde_json::Number;

use crate::{error::SourceErrorKind, generated, transport::Reply};

#[derive(Deserialize)]
struct Images {
    #[serde(default)]
    created: Option<Number>,
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    b64_json: String,
    #[serde(default)]
    revised_prompt: Option<String>,
}

/// The image that was asked for, and when it was made.
pub(super) fn read(
    reply: &Reply,
    model: &str,
    now: Timestamp,
) -> Result<(Picture, Option<Timestamp>), SourceErrorKind> {
    let images: Images = generated::read(reply)?;
    let created = generated::instant(images.created.as_ref(), now);
    let [item] = <[Item; 1]>::try_from(images.data)
        .map_err(|_| generated::malformed("$.data", "one image"))?;
    let picture = Picture {
        image: generated::image(&item.b64_json, "$.data[0].b64_json")?,
        model: generated::model(None, model),
        revised_prompt: generated::prompt(item.revised_prompt),
    };
    Ok((picture, created))
}
