//! What can go wrong around a judge; what a judge says is data, not an error.

use std::io;
use std::path::PathBuf;

use serde_json::Value;
use thiserror::Error;

/// Why a judge could not be asked.
#[derive(Debug, Error)]
pub enum JudgeError {
    /// An environment variable that says where a foreign program is.
    #[error("the environment variable {name} is not set; see the README of the judges")]
    Variable {
        /// Its name.
        name: &'static str,
    },
    /// A file of this repository or of an installed package.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why it could not be used.
        source: io::Error,
    },
    /// A program could not be started or talked to.
    #[error("{program}: {source}")]
    Program {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A program ended with a failure, or ended before it said what it was waited for.
    #[error("{program} ended with {status}:\n{log}")]
    Ended {
        /// The program.
        program: String,
        /// Its exit status.
        status: String,
        /// What it wrote.
        log: String,
    },
    /// A program did not do within its time what it was asked for.
    #[error("{program} took more than {seconds} seconds:\n{log}")]
    TimedOut {
        /// The program.
        program: String,
        /// The limit.
        seconds: u64,
        /// What it wrote so far.
        log: String,
    },
    /// A program or an artifact does not hold the JSON that was expected.
    #[error("{origin}: {source}, observed {observed}")]
    Json {
        /// Where the text comes from.
        origin: String,
        /// What is wrong with it.
        source: serde_json::Error,
        /// The text.
        observed: String,
    },
    /// A chain could not be reached.
    #[error("{method}: {source}")]
    Transport {
        /// The JSON-RPC method.
        method: &'static str,
        /// Why.
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
        /// What came with it: of a reverted call, its return data.
        data: Option<Value>,
    },
    /// A contract answered something that its interface does not allow.
    #[error("{call}: {source}")]
    Abi {
        /// The function.
        call: &'static str,
        /// What is wrong with the answer.
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
