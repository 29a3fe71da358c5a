//! What models make: images, and researched answers with citations.
//!
//! A model's output is foreign text and foreign bytes. An image is believed as far as its own
//! header goes, an answer as far as its citations do, and neither can bring markup or addresses
//! along that a reader has not asked for.

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

/// What a model makes of a prompt, when it answers at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Generated<T> {
    /// What was asked for.
    Made(T),
    /// Nothing: the model or its safety system does not serve this prompt.
    Blocked,
}

/// An image with what its model says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The image.
    pub image: Image,
    /// The model that made it, by its own name.
    pub model: String,
    /// The prompt as the model has rewritten it, when it says so.
    pub revised_prompt: Option<String>,
}
