//! The error of starting a server.

use std::net::SocketAddr;

use data_sources::transport::TransportError;
use ledger::{LedgerError, ShelfError};
use route_catalog::CatalogError;
use settlement::SettlementError;
use thiserror::Error;

/// Why a server could not be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// `payment.pay_to` is missing.
    #[error("payment.pay_to: is missing")]
    NoPayee,
    /// The address cannot be bound.
    #[error("server.listen: cannot listen on {address}: {error}")]
    Listen {
        /// The configured address.
        address: SocketAddr,
        /// What the operating system says.
        error: std::io::Error,
    },
    /// `server.public_url` cannot stand in documents.
    #[error("server.public_url: {0}")]
    Catalog(#[from] CatalogError),
    /// The ledger cannot be opened.
    #[error("storage.url: {0}")]
    Ledger(#[from] LedgerError),
    /// The store beside the ledger cannot be opened.
    #[error("storage.url: {0}")]
    Shelf(#[from] ShelfError),
    /// The settlement cannot be set up.
    #[error("settlement: {0}")]
    Settlement(#[from] SettlementError),
    /// A part of the start-up was cut off.
    #[error("the start was interrupted: {0}")]
    Interrupted(#[source] tokio::task::JoinError),
    /// An upstream cannot be set up.
    #[error("upstreams.{name}: {error}")]
    Upstream {
        /// The upstream's table.
        name: &'static str,
        /// What is wrong.
        error: TransportError,
    },
}
