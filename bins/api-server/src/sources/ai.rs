//! Text models and image models.

use data_sources::anthropic::Anthropic;
use data_sources::fal::Fal;
use data_sources::gemini::Gemini;
use data_sources::openai::Openai;
use data_sources::perplexity::Perplexity;

use super::connect::Connect;
use crate::error::ServeError;

/// Text models and image models.
#[derive(Debug)]
pub(crate) struct Ai {
    pub(crate) anthropic: Anthropic,
    pub(crate) fal: Fal,
    pub(crate) gemini: Gemini,
    pub(crate) openai: Openai,
    pub(crate) perplexity: Perplexity,
}

impl Ai {
    pub(super) fn connect(connect: &Connect<'_>) -> Result<Self, ServeError> {
        Ok(Self {
            anthropic: connect.one("anthropic", Anthropic::new)?,
            fal: connect.one("fal", Fal::new)?,
            gemini: connect.one("gemini", Gemini::new)?,
            openai: connect.one("openai", Openai::new)?,
            perplexity: connect.one("perplexity", Perplexity::new)?,
        })
    }
}
