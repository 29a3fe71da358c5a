//! The errors of a throw-away server.

use std::{io, path::PathBuf};

/// Why an operation on a server failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The program of PostgreSQL is neither on the search path nor in Debian's folders.
    #[error("PostgreSQL is not installed: there is no {program}")]
    NotInstalled {
        /// The program.
        program: &'static str,
    },
    /// A folder, a port or a program could not be used.
    #[error("{what}: {source}")]
    Io {
        /// The folder, or the command.
        what: String,
        /// The reason.
        source: io::Error,
    },
    /// A program reported a failure.
    #[error("{command} failed: {said}\n{log}")]
    Failed {
        /// The program with its arguments.
        command: String,
        /// The text that it wrote to standard error.
        said: String,
        /// The end of the server's log.
        log: String,
    },
}

impl ClusterError {
    pub(crate) fn io(what: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into().display().to_string();
        move |source| Self::Io { what, source }
    }
}
