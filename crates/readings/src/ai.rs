//! The outputs of models: images, and researched answers with citations.
//!
//! A model's output is foreign text and foreign bytes. An image is accepted only if its own header
//! describes it, and an answer only if its citations can be checked. Neither can carry markup or
//! addresses that a reader has not asked for.

mod citation;
pub mod image;
mod markdown;
mod research;

pub use self::{
    citation::{Citation, CitationDraft, public_url},
    image::{Image, ImageError, ImageFormat},
    markdown::{Sanitised, sanitise},
    research::{Findings, Research, ResearchError},
};

/// The answer of a model to a prompt: an output or a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Generated<T> {
    /// The output.
    Made(T),
    /// There is no output, because the model or its safety system refuses the prompt.
    Blocked,
}

/// An image, and its model's statements about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The image.
    pub image: Image,
    /// The model that made it, by its own name.
    pub model: String,
    /// The prompt as the model rewrote it, when the model returns it.
    pub revised_prompt: Option<String>,
}
