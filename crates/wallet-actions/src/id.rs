//! The id of an intent.

use std::fmt;
use std::str::FromStr;

use alloy_primitives::hex;
use serde::{Deserialize, Serialize};

/// 128 random bits, as 32 lower-case hexadecimal digits. Nobody can guess an id.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct IntentId(String);

/// The text is no id of an intent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected 32 lower-case hexadecimal digits")]
pub struct InvalidIntentId;

impl IntentId {
    /// Makes a new id.
    ///
    /// # Errors
    ///
    /// When the system gives no random bytes.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(hex::encode(bytes)))
    }

    /// Returns the digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IntentId {
    type Err = InvalidIntentId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for IntentId {
    type Error = InvalidIntentId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == 32 && text.bytes().all(is_digit) {
            true => Ok(Self(text)),
            false => Err(InvalidIntentId),
        }
    }
}

impl From<IntentId> for String {
    fn from(id: IntentId) -> Self {
        id.0
    }
}

impl fmt::Display for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
