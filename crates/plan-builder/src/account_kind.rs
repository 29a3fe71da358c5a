//! The kind of the account that a plan is for.

use serde::{Deserialize, Serialize};

use crate::Refusal;

/// The kind of the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// An externally owned account.
    Eoa,
    /// A Safe-type contract account.
    Safe,
}

impl AccountKind {
    pub(crate) const WORDS: &'static [&'static str] = &["eoa", "safe"];

    /// Converts the word of the arguments to a kind.
    pub(crate) fn from_word(word: &str) -> Self {
        if word == "safe" {
            Self::Safe
        } else {
            Self::Eoa
        }
    }

    /// Refuses a Safe-type account on an order rail.
    pub(crate) fn require_eoa(self, why: &'static str) -> Result<(), Refusal> {
        match self {
            Self::Eoa => Ok(()),
            Self::Safe => Err(Refusal::new(Refusal::ACCOUNT_KIND_UNSUPPORTED, why)
                .comparing("eoa", "safe")
                .at("$.accountProfile.kind")),
        }
    }
}
