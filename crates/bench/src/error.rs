//! Why a measurement could not be made.

use std::io;
use std::path::PathBuf;

/// A measurement that did not happen. A limit that is not kept is no error but a result.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A server could not be started, or its files could not be used.
    #[error("{path}: {source}")]
    Io {
        /// The program, file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A server ended, or did not say in time where it listens.
    #[error("{server} did not start listening: {last_line}")]
    NotListening {
        /// The server.
        server: String,
        /// The last line that it logged.
        last_line: String,
    },
    /// A connection to a server failed.
    #[error("connection to the server: {0}")]
    Connection(#[from] io::Error),
    /// An exchange with a server failed.
    #[error("exchange with the server: {0}")]
    Exchange(#[from] hyper::Error),
    /// A server gave another answer than the measurement is about.
    #[error("expected status {expected}, observed {observed}: {body}")]
    Status {
        /// The status that the measurement is about.
        expected: u16,
        /// The one that came instead.
        observed: u16,
        /// That answer, shortened.
        body: String,
    },
    /// A server gave an answer of another length than the one that the measurement is about.
    #[error("expected an answer of {expected} bytes, observed {observed}: {body}")]
    Length {
        /// The length that the measurement is about.
        expected: usize,
        /// The one that came instead.
        observed: usize,
        /// That answer, shortened.
        body: String,
    },
    /// An answer that had to be understood could not be.
    #[error("the answer of the server has no usable {what}")]
    Answer {
        /// The part that is missing or malformed.
        what: &'static str,
    },
    /// The process table has no usable entry for a server.
    #[error("no {what} of process {process}")]
    Process {
        /// What was looked for.
        what: &'static str,
        /// The process id.
        process: u32,
    },
    /// Signing a payment failed.
    #[error("signing: {0}")]
    Signing(#[from] secp256k1::Error),
    /// The large ledger could not be made.
    #[error("the ledger of the measurement: {0}")]
    Ledger(#[from] rusqlite::Error),
    /// A plan that the measurement is about was refused.
    #[error("the plan of the measurement is refused: {0}")]
    Refused(#[from] plan_builder::Refusal),
    /// The client of the aggregator could not be set up.
    #[error("the client of the aggregator: {0}")]
    Transport(#[from] data_sources::transport::TransportError),
    /// The fee configuration is not TOML.
    #[error("the fee configuration of the measurement: {0}")]
    FeeDocument(#[from] toml::de::Error),
    /// The fee configuration cannot be used.
    #[error("the fee configuration of the measurement: {0}")]
    Fees(#[from] plan_builder::FeeConfigError),
    /// The recorded answers of the upstreams cannot be served.
    #[error("the recorded answers: {0}")]
    Recordings(#[from] replay::RecordingError),
    /// A file of the benchmark could not be written or read as JSON.
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl BenchError {
    /// Wraps an input or output error with the path it concerns.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
