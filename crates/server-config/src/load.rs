//! From a file and an environment to a configuration that is complete.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::{ConfigError, Problem, source};

/// Everything that an operator can set of one server.
pub trait Configuration: DeserializeOwned {
    /// Reads the secrets that files hold, and names everything that keeps the configuration from
    /// being used.
    fn complete(&mut self, problems: &mut Vec<Problem>);
}

/// Reads a file and the environment variables `SVC__SECTION__KEY`, which win.
///
/// # Errors
/// The file cannot be read or is not TOML; or every problem that was found, each with its key.
pub fn load<C: Configuration>(
    path: &Path,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<C, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
        path: path.to_owned(),
        kind: error.kind(),
    })?;
    parse(&text, environment)
}

/// [`load`] from text.
///
/// # Errors
/// As [`load`].
pub fn parse<C: Configuration>(
    text: &str,
    environment: impl IntoIterator<Item = (String, String)>,
) -> Result<C, ConfigError> {
    let document = source::document(text, environment)?;
    let mut config: C = serde_path_to_error::deserialize(document).map_err(|error| {
        let key = error.path().to_string();
        ConfigError::one(&key, expectation(error.inner().message()))
    })?;
    let mut problems = Vec::new();
    config.complete(&mut problems);
    if problems.is_empty() {
        Ok(config)
    } else {
        Err(ConfigError::Invalid { problems })
    }
}

/// The environment of this process. What is not text is nobody's key, and a value of ours that is
/// not text is refused by its key.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        Some((
            name.into_string().ok()?,
            value.to_string_lossy().into_owned(),
        ))
    })
}

/// What was expected of a key. A section that is given as text is not repeated: it may be a secret
/// in the wrong place.
fn expectation(message: &str) -> &str {
    let is_section = ["expected struct ", "expected a map"]
        .iter()
        .any(|expected| message.contains(expected));
    if is_section {
        "expected a section with keys"
    } else {
        message
    }
}
