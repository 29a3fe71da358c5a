//! Short texts that people read before they sign.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::{Refusal, Rule};

/// A policy's name, a project's id or a capability: 1 to 64 characters of
/// `A-Z a-z 0-9 . _ - , space`, neither beginning nor ending with a space. No character can move a
/// cursor, hide a neighbour or look like another letter.
///
/// # Example
/// ```
/// use delegation_fence::Name;
///
/// assert_eq!(Name::new("svc-base-swap-fence.v3")?.as_str(), "svc-base-swap-fence.v3");
/// for text in ["", " shop", "sh\u{43e}p", "shop\n"] {
///     assert!(Name::new(text).is_err());
/// }
/// # Ok::<(), delegation_fence::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Name(String);

const LONGEST: usize = 64;

impl Name {
    /// Reads a name.
    ///
    /// # Errors
    /// `typed_data_malformed`
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let fits = (1..=LONGEST).contains(&text.len())
            && text.trim() == text
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ',' | ' '));
        if fits {
            return Ok(Self(text.to_owned()));
        }
        Err(Refusal::new(
            Rule::TypedDataMalformed,
            "not a name",
            "1 to 64 of A-Z a-z 0-9 . _ - , and inner spaces",
            text,
        ))
    }

    /// The domain's name with the default brand.
    pub(crate) fn of_domain() -> Self {
        Self("svc delegation fence".to_owned())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(|_| {
            D::Error::custom("expected 1 to 64 of A-Z a-z 0-9 . _ - , and inner spaces")
        })
    }
}
