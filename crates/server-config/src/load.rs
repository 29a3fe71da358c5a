//! Loads the configuration of a server from a file and the environment.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::{ConfigError, Problem, source};

/// The whole configuration of one server.
pub trait Configuration: DeserializeOwned {
    /// Reads the secrets from their files. Then reports every problem that makes the configuration
    /// unusable.
    fn complete(&mut self, problems: &mut Vec<Problem>);
}

/// Reads a file and the environment variables `SVC__SECTION__KEY`. The variables take precedence
/// over the file.
///
/// # Errors
/// When the file cannot be read or is not TOML. Otherwise all problems, each with its key.
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

/// Like [`load`], with the text of the file.
///
/// # Errors
/// The same as [`load`].
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

/// Returns the environment of this process. Skips a variable whose name is not Unicode. In a value
/// that is not Unicode, replacement characters stand for the bad bytes; [`parse`] refuses them.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        Some((
            name.into_string().ok()?,
            value.to_string_lossy().into_owned(),
        ))
    })
}

/// Returns what a deserializer's message says that it expected. When a text was given for a
/// section, the text is not repeated: it may be a misplaced secret.
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
