//! The errors of a configuration. Each names the key and the expected value, and never repeats a
//! secret.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A problem with one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key with its section, as the file has it: `payment.pay_to`.
    pub key: String,
    /// The expected value and the reason.
    pub message: String,
}

impl Problem {
    /// Makes a problem with this key.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() || self.key == "." {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.key, self.message)
    }
}

/// Why a configuration cannot be used. The process exits with code 2.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {kind}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The kind of the operating system's error.
        kind: io::ErrorKind,
    },
    /// The file is not TOML.
    #[error("the configuration is not TOML: {detail}")]
    Syntax {
        /// The position and the reason.
        detail: String,
    },
    /// Some keys have unusable values. All of them are reported together.
    #[error("the configuration cannot be used:{}", lines(problems))]
    Invalid {
        /// Every problem.
        problems: Vec<Problem>,
    },
}

impl ConfigError {
    pub(crate) fn one(key: &str, message: &str) -> Self {
        Self::Invalid {
            problems: vec![Problem::new(key, message)],
        }
    }
}

fn lines(problems: &[Problem]) -> String {
    problems
        .iter()
        .map(|problem| format!("\n  {problem}"))
        .collect()
}
