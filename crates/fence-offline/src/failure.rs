//! The reason why a command ends early.

use crate::{
    CommandOutcome, Exit, Refused, output::OutputError, source::SourceError, terminal::AskError,
};
use keystore::KeystoreError;
use serde_json::{Value, json};

/// A refusal by name, or an error with its exit code.
#[derive(Debug)]
pub enum Failure {
    /// Refused.
    Refused(Refused),
    /// The command could not do its work.
    Error(String, Exit),
}

impl Failure {
    /// An error of the command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Error(message.into(), Exit::Usage)
    }

    /// An error of a file.
    pub fn file(error: impl std::fmt::Display) -> Self {
        Self::Error(error.to_string(), Exit::File)
    }

    /// Its exit.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Refused(_) => Exit::Refused,
            Self::Error(_, exit) => *exit,
        }
    }

    /// Lines for a sentence of another command. The first one has the reason.
    #[must_use]
    pub fn to_words(&self) -> String {
        match self {
            Self::Refused(refused) => refused.to_words(),
            Self::Error(error, _) => format!("{error}\n"),
        }
    }

    /// As JSON: `{"refused": {…}}` or `{"error": "…"}`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Refused(refused) => refused.to_json(),
            Self::Error(error, _) => json!({"error": error}),
        }
    }

    /// The printed form.
    pub fn into_outcome(self, as_json: bool) -> CommandOutcome {
        match self {
            Self::Refused(refused) => CommandOutcome::refused(&refused, as_json),
            Self::Error(error, exit) => CommandOutcome::error(error, exit),
        }
    }
}

/// One line, for a sentence of another command.
impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(refused) => write!(f, "{}: {}", refused.check, refused.message),
            Self::Error(error, _) => f.write_str(error),
        }
    }
}

/// Ends a command: its outcome, or the printed form of its failure.
pub fn ended(result: Result<CommandOutcome, Failure>, as_json: bool) -> CommandOutcome {
    result.unwrap_or_else(|failure| failure.into_outcome(as_json))
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<delegation_fence::Refusal> for Failure {
    fn from(refusal: delegation_fence::Refusal) -> Self {
        Self::Refused(
            Refused::new(refusal.code(), refusal.message)
                .comparing(refusal.expected, refusal.observed),
        )
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::file(error)
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        Self::file(error)
    }
}

impl From<KeystoreError> for Failure {
    fn from(error: KeystoreError) -> Self {
        Self::file(error)
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        Self::file(error)
    }
}
