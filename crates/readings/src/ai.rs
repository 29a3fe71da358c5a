//! The outputs of models: images, and researched answers with citations.
//!
//! A model's output is foreign text and foreign bytes. An image is accepted only as far as its own
//! header describes it, an answer only as far as its citations support it. Neither can carry markup
//! or addresses that a reader has not asked for.

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

/// A model's output for a prompt, when the model answers at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Generated<T> {
    /// The output.
    Made(T),
    /// No output: the model or its safety system refuses the prompt.
    Blocked,
}

/// An image, and the facts that its model states about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The image.
    pub image: Image,
    /// The model that made it, by its own name.
    pub model: String,
    /// The prompt as the model rewrote it, when the model returns it.
    pub revised_prompt: Option<String>,
}
