//! Loads a configuration from a file and the environment.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::{ConfigError, Problem, source};

/// The whole configuration of one server.
pub trait Configuration: DeserializeOwned {
    /// Reads the secrets from their files, and reports every problem that makes the configuration
    /// unusable.
    fn complete(&mut self, problems: &mut Vec<Problem>);
}

/// Reads a file and the environment variables `SVC__SECTION__KEY`, which take precedence.
///
/// # Errors
/// The file cannot be read or is not TOML; or all problems, each with its key.
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

/// The environment of this process. A variable whose name is not Unicode is skipped. A variable of
/// ours whose value is not Unicode is refused by its key.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| {
        Some((
            name.into_string().ok()?,
            value.to_string_lossy().into_owned(),
        ))
    })
}

/// The expectation in a deserializer's message. A text that was given for a section is not
/// repeated, because it may be a misplaced secret.
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
