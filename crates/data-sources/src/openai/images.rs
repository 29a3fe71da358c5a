//! An answer of the image interface.

use readings::ai::Picture;
use serde::Deserialize;

use crate::{error::SourceErrorKind, generated, transport::Reply};

#[derive(Deserialize)]
struct Images {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    b64_json: String,
    #[serde(default)]
    revised_prompt: Option<String>,
}

/// The requested image.
pub(super) fn read(reply: &Reply, model: &str) -> Result<Picture, SourceErrorKind> {
    let images: Images = generated::read(reply)?;
    let [item] = <[Item; 1]>::try_from(images.data)
        .map_err(|_| generated::malformed("$.data", "one image"))?;
    Ok(Picture {
        image: generated::image(&item.b64_json, "$.data[0].b64_json")?,
        model: generated::model(None, model),
        revised_prompt: generated::prompt(item.revised_prompt),
    })
}
