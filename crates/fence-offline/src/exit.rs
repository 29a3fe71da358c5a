//! The end of a command: its output and its exit code. Scripts rely on the codes and on the JSON;
//! the words are for people.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::Printable;

/// Exit codes; scripts rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// Success.
    Ok,
    /// Refused, by name.
    Refused,
    /// The command line is wrong.
    Usage,
    /// A file, a key file or its password cannot be used.
    File,
    /// The server cannot be reached, or its answer cannot be used.
    Network,
    /// The requested change is not confirmed by reading it back.
    Unconfirmed,
}

impl Exit {
    /// The number.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::File => 3,
            Self::Network => 4,
            Self::Unconfirmed => 5,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// A command's output and exit. Data goes to standard output, words for people go to standard
/// error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct CommandOutcome {
    /// Data.
    pub stdout: String,
    /// Words.
    pub stderr: String,
    /// The exit.
    pub exit: Exit,
}

impl CommandOutcome {
    /// A success.
    pub fn ok(stdout: impl Into<String>) -> Self {
        Self {
            stdout: stdout.into(),
            stderr: String::new(),
            exit: Exit::Ok,
        }
    }

    /// An answer as one line of JSON.
    pub fn json(value: &Value, exit: Exit) -> Self {
        Self {
            stdout: format!("{value}\n"),
            stderr: String::new(),
            exit,
        }
    }

    /// A refusal by name: as words, or as JSON `{"refused": {"check", "message", …}}`.
    pub fn refused(refused: &Refused, as_json: bool) -> Self {
        if as_json {
            return Self::json(&refused.to_json(), Exit::Refused);
        }
        Self {
            stdout: String::new(),
            stderr: refused.to_words(),
            exit: Exit::Refused,
        }
    }

    /// A command that failed.
    pub fn error(error: impl std::fmt::Display, exit: Exit) -> Self {
        Self {
            stdout: String::new(),
            stderr: format!("error: {error}\n"),
            exit,
        }
    }

    /// Puts a note before the existing text on standard error.
    pub fn with_note(mut self, note: &str) -> Self {
        self.stderr.insert_str(0, note);
        self
    }
}

/// A named refusal of this tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its name.
    pub check: String,
    /// The defect.
    pub message: String,
    /// The expected value.
    pub expected: Option<String>,
    /// The observed value.
    pub observed: Option<String>,
    /// Further lines: where two documents differ.
    pub details: Vec<String>,
}

impl Refused {
    /// A refusal without expected and observed values.
    pub fn new(check: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            check: check.into(),
            message: message.into(),
            expected: None,
            observed: None,
            details: Vec::new(),
        }
    }

    /// Adds the expected and the observed value.
    #[must_use]
    pub fn comparing(mut self, expected: impl ToString, observed: impl ToString) -> Self {
        self.expected = Some(expected.to_string());
        self.observed = Some(observed.to_string());
        self
    }

    /// Adds further lines.
    #[must_use]
    pub fn detailed(mut self, details: Vec<String>) -> Self {
        self.details = details;
        self
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut refused = json!({"check": self.check, "message": self.message});
        if let Some(members) = refused.as_object_mut() {
            let sides = [("expected", &self.expected), ("observed", &self.observed)];
            for (name, side) in sides {
                if let Some(side) = side {
                    members.insert(name.to_owned(), json!(side));
                }
            }
            if !self.details.is_empty() {
                members.insert("details".to_owned(), json!(self.details));
            }
        }
        json!({"refused": refused})
    }

    pub(crate) fn to_words(&self) -> String {
        let mut words = format!(
            "refused: {}: {}\n",
            Printable(&self.check),
            Printable(&self.message)
        );
        for (label, side) in [("expected", &self.expected), ("observed", &self.observed)] {
            if let Some(side) = side {
                words.push_str(&format!("  {label}: {}\n", Printable(side)));
            }
        }
        for line in &self.details {
            words.push_str(&format!("  {}\n", Printable(line)));
        }
        words
    }
}
