//! The reason why a measurement could not be made.

use std::io;
use std::path::PathBuf;

/// A measurement that was not made. An exceeded limit is a result, not an error.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A server could not be started, or its files could not be used.
    #[error("{path}: {source}")]
    Io {
        /// The program, file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A server ended, or did not print its address in time.
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
    /// A server gave another status than the measured one.
    #[error("expected status {expected}, observed {observed}: {body}")]
    Status {
        /// The measured status.
        expected: u16,
        /// The observed status.
        observed: u16,
        /// That answer, shortened.
        body: String,
    },
    /// A server gave an answer of another length than the measured one.
    #[error("expected an answer of {expected} bytes, observed {observed}: {body}")]
    Length {
        /// The measured length.
        expected: usize,
        /// The observed length.
        observed: usize,
        /// That answer, shortened.
        body: String,
    },
    /// An answer could not be read.
    #[error("the answer of the server has no usable {what}")]
    Answer {
        /// The part that is missing or malformed.
        what: &'static str,
    },
    /// The process table has no usable entry for a server.
    #[error("no {what} of process {process}")]
    Process {
        /// The missing entry.
        what: &'static str,
        /// The process id.
        process: u32,
    },
    /// Signing a payment failed.
    #[error("signing: {0}")]
    Signing(#[from] secp256k1::Error),
    /// The large ledger could not be created.
    #[error("the ledger of the measurement: {0}")]
    Ledger(#[from] rusqlite::Error),
    /// The wallets of the measurement could not be made or opened.
    #[error("the wallets of the measurement: {0}")]
    Custody(#[from] custody::CustodyError),
    /// A statement of the measurement failed.
    #[error("the database of the measurement: {0}")]
    Database(#[from] storage::postgres::PostgresError),
    /// The PostgreSQL server of the measurement could not be started.
    #[error(transparent)]
    Cluster(#[from] postgres_cluster::ClusterError),
    /// `--database` names a server whose processor time cannot be read.
    #[error("--database: expected a server on this machine, whose processor time can be read")]
    RemoteDatabase,
    /// A plan of the measurement was refused.
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
