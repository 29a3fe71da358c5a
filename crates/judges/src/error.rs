//! Why a judge gave no verdict. A verdict, good or bad, is data and not an error.

use std::io;
use std::path::PathBuf;

use serde_json::Value;
use thiserror::Error;

/// Why a judge could not be asked.
#[derive(Debug, Error)]
pub enum JudgeError {
    /// An environment variable that names a foreign program is missing.
    #[error("the environment variable {name} is not set; see the README of the judges")]
    Variable {
        /// The name of the variable.
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
    /// A program failed, or ended before its awaited output.
    #[error("{program} ended with {status}:\n{log}")]
    Ended {
        /// The program.
        program: String,
        /// The exit status of the program.
        status: String,
        /// The output of the program.
        log: String,
    },
    /// A program did not finish within its time limit.
    #[error("{program} took more than {seconds} seconds:\n{log}")]
    TimedOut {
        /// The program.
        program: String,
        /// The limit.
        seconds: u64,
        /// The output of the program so far.
        log: String,
    },
    /// A text of a program or of a file is not the expected JSON.
    #[error("{origin}: {source}, observed {observed}")]
    Json {
        /// Where the text came from.
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
        /// The error's data. For a reverted call it is the returned data.
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
