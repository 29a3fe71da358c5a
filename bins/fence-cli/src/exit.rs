//! How a command ends (decisions section 7).

use std::process::ExitCode;

/// Exit codes; scripts rely on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exit {
    /// Everything holds.
    Ok,
    /// Refused, by name.
    Refused,
    /// The command line is wrong.
    Usage,
    /// A file cannot be read or is not what it must be.
    File,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Refused => 1,
            Exit::Usage => 2,
            Exit::File => 3,
        })
    }
}

/// What a command prints, and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) exit: Exit,
}
