//! Why a siege could not be held.

use std::io;
use std::path::PathBuf;

use api_server::FenceStageError;
use bench::BenchError;
use custody::CustodyError;
use postgres_cluster::ClusterError;

/// Why a siege could not be held. A broken promise is a finding and no error.
#[derive(Debug, thiserror::Error)]
pub enum SiegeError {
    /// A file could not be used.
    #[error("{path}: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A socket could not be used.
    #[error("a socket of the siege: {0}")]
    Socket(#[from] io::Error),
    /// A server could not be started, observed or stopped.
    #[error("{0}")]
    Server(#[source] Box<BenchError>),
    /// Several servers need PostgreSQL, which is not installed or did not start.
    #[error("several servers share a PostgreSQL database: {0}")]
    Database(#[from] ClusterError),
    /// The chain could not be built or read.
    #[error("the chain of the siege: {0}")]
    Chain(#[from] dev_chain::DevChainError),
    /// The recorded answers of the upstreams cannot be served.
    #[error("the recorded answers: {0}")]
    Recordings(#[from] replay::RecordingError),
    /// A key is invalid.
    #[error("a key of the siege: {0}")]
    Key(#[from] alloy_signer::k256::ecdsa::Error),
    /// A signature could not be made.
    #[error("signing: {0}")]
    Signing(#[from] alloy_signer::Error),
    /// A plan or a message of the fence could not be made.
    #[error("a plan of the siege: {0}")]
    Plan(#[source] Box<FenceStageError>),
    /// The folder of the wallets could not be made.
    #[error("the wallets of the siege: {0}")]
    Wallets(#[source] Box<CustodyError>),
    /// A server did not answer correctly before the siege.
    #[error("{what}: {observed}")]
    NotReady {
        /// The step that was tried.
        what: &'static str,
        /// The result that was observed instead.
        observed: String,
    },
}

impl From<FenceStageError> for SiegeError {
    fn from(error: FenceStageError) -> Self {
        Self::Plan(Box::new(error))
    }
}

impl From<CustodyError> for SiegeError {
    fn from(error: CustodyError) -> Self {
        Self::Wallets(Box::new(error))
    }
}

impl From<BenchError> for SiegeError {
    fn from(error: BenchError) -> Self {
        Self::Server(Box::new(error))
    }
}
