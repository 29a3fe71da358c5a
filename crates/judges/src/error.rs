//! Failures around a judge. A judge's verdict is data, not an error.

use std::io;
use std::path::PathBuf;

use serde_json::Value;
use thiserror::Error;

/// The reason why a judge could not be asked.
#[derive(Debug, Error)]
pub enum JudgeError {
    /// An environment variable with the place of a foreign program is missing.
    #[error("the environment variable {name} is not set; see the README of the judges")]
    Variable {
        /// Its name.
        name: &'static str,
    },
    /// A file of this repository or of an installed package could not be used.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A program could not be started or did not communicate.
    #[error("{program}: {source}")]
    Program {
        /// The program.
        program: String,
        /// The reason.
        source: io::Error,
    },
    /// A program failed, or ended before the awaited output.
    #[error("{program} ended with {status}:\n{log}")]
    Ended {
        /// The program.
        program: String,
        /// Its exit status.
        status: String,
        /// Its output.
        log: String,
    },
    /// A program did not finish in its time limit.
    #[error("{program} took more than {seconds} seconds:\n{log}")]
    TimedOut {
        /// The program.
        program: String,
        /// The limit.
        seconds: u64,
        /// Its output so far.
        log: String,
    },
    /// A program or an artifact does not contain the expected JSON.
    #[error("{origin}: {source}, observed {observed}")]
    Json {
        /// The origin of the text.
        origin: String,
        /// The defect.
        source: serde_json::Error,
        /// The text.
        observed: String,
    },
    /// A chain could not be reached.
    #[error("{method}: {source}")]
    Transport {
        /// The JSON-RPC method.
        method: &'static str,
        /// The reason.
        source: reqwest::Error,
    },
    /// A chain answered a call with an error.
    #[error("{method}: {message} ({code})")]
    Rpc {
        /// The JSON-RPC method.
        method: &'static str,
        /// The error code.
        code: i64,
        /// The error message.
        message: String,
        /// Its data: for a reverted call, the returned data.
        data: Option<Value>,
    },
    /// A contract's answer does not match its interface.
    #[error("{call}: {source}")]
    Abi {
        /// The function.
        call: &'static str,
        /// The defect of the answer.
        source: alloy_sol_types::Error,
    },
    /// A transaction that prepares the chain failed.
    #[error("the transaction {transaction} of {call} failed")]
    Failed {
        /// The function that was called.
        call: &'static str,
        /// The transaction hash.
        transaction: String,
    },
}
