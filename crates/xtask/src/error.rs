//! The errors of a task.

use std::io;
use std::path::PathBuf;

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum XtaskError {
    /// A program could not be started.
    #[error("cannot start {program}: {source}")]
    Spawn {
        /// The program with its arguments.
        program: String,
        /// The reason.
        source: io::Error,
    },
    /// An operation on the throw-away PostgreSQL server failed.
    #[error(transparent)]
    Postgres(#[from] postgres_cluster::ClusterError),
    /// A program ran and reported a failure.
    #[error("{program} failed: {status}")]
    Failed {
        /// The program with its arguments.
        program: String,
        /// Its exit status.
        status: std::process::ExitStatus,
    },
    /// A program is missing on this machine, or is too old.
    #[error(
        "{tool} {needed} or newer is needed for the foreign clients, found {found}; \
         install it, or run `cargo xtask lint` and `cargo test` without them"
    )]
    Tool {
        /// The program.
        tool: &'static str,
        /// The oldest sufficient version.
        needed: &'static str,
        /// The version of this machine.
        found: String,
    },
    /// The dependency graph, the modules or the comments break rules. Each line describes one
    /// breach.
    #[error("{} violations", .0.len())]
    Layering(Vec<String>),
    /// The installation of a package panicked.
    #[error("an installation panicked")]
    Panicked,
    /// A suite is not among the test binaries that were built.
    #[error("no test binary {target}")]
    NoBinary {
        /// The name of its target.
        target: &'static str,
    },
    /// The report of a build has no units that can be read.
    #[error("cannot read the units of the build's report")]
    NoUnits,
    /// A test step ran no test, so it proves nothing.
    #[error("no test ran")]
    NoTests,
    /// The dependency graph could not be read.
    #[error("cannot read the dependency graph: {0}")]
    Metadata(#[from] cargo_metadata::Error),
    /// A file or folder could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A source file is not valid Rust.
    #[error("{path}: {source}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where the fault is, and what it is.
        source: syn::Error,
    },
    /// The listing of public items cannot parse a source file.
    #[error("{path}: {detail}")]
    Source {
        /// The file.
        path: PathBuf,
        /// The parser's description of what it expected.
        detail: String,
    },
    /// The public interface of a crate differs from its file.
    #[error(
        "the public interface of {name} has changed; `cargo xtask api` keeps it:\n{}",
        changes.join("\n")
    )]
    Api {
        /// The crate.
        name: &'static str,
        /// The removed and the added lines.
        changes: Vec<String>,
    },
    /// There is no folder for tools and foreign packages.
    #[error("neither XDG_CACHE_HOME nor HOME is set")]
    NoCacheFolder,
}

impl XtaskError {
    /// Wraps an input or output error with its path.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
