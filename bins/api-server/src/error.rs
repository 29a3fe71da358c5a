//! Errors of starting a server.

use std::net::SocketAddr;

use alloy_primitives::Address;
use data_sources::transport::TransportError;
use ledger::LedgerError;
use route_catalog::CatalogError;
use settlement::SettlementError;
use storage::StoreError;
use storage::postgres::PostgresError;
use storage::sqlite::DatabaseError;
use thiserror::Error;

/// An error of starting a server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// `payment.pay_to` is missing.
    #[error("payment.pay_to: is missing")]
    NoPayee,
    /// The server cannot listen on the address.
    #[error("server.listen: cannot listen on {address}: {error}")]
    Listen {
        /// The configured address.
        address: SocketAddr,
        /// The operating system's error.
        error: std::io::Error,
    },
    /// `server.public_url` cannot be used in documents.
    #[error("server.public_url: {0}")]
    Catalog(#[from] CatalogError),
    /// The ledger cannot be opened.
    #[error("storage.url: {0}")]
    Ledger(#[from] LedgerError),
    /// The database cannot be reached or used.
    #[error("storage.url: {0}")]
    Database(#[source] PostgresError),
    /// The store beside the ledger cannot be opened.
    #[error("storage.url: {0}")]
    Store(#[from] StoreError),
    /// The transaction records of the settling account, stored beside the ledger, cannot be opened.
    #[error("storage.url: {0}")]
    Records(#[source] DatabaseError),
    /// The mandates, stored beside the ledger, cannot be opened.
    #[error("storage.url: {0}")]
    Mandates(#[source] DatabaseError),
    /// The settlement cannot be set up.
    #[error("settlement: {0}")]
    Settlement(#[from] SettlementError),
    /// A gas account is configured, but no signer for it.
    #[error(
        "settlement.gas_account: this program has no signer for {account}; set settlement.private_key_file, \
         settlement.keystore_file or settlement.web3signer_url, or serve with a program that brings one"
    )]
    NoSigner {
        /// The account.
        account: Address,
    },
    /// The program supplies a signer that the configuration does not use.
    #[error("settlement.{key}: {message}")]
    Signer {
        /// The key.
        key: &'static str,
        /// The problem.
        message: String,
    },
    /// A task of the start-up was cancelled or panicked.
    #[error("the start was interrupted: {0}")]
    Interrupted(#[source] tokio::task::JoinError),
    /// The reviewed contracts cannot be used.
    #[error("{0}")]
    Reviewed(crate::config::Problem),
    /// The wallets cannot be opened.
    #[error("custody: {0}")]
    Custody(#[source] custody::CustodyError),
    /// The external custody provider cannot be set up.
    #[error("{0}")]
    Provider(crate::config::Problem),
    /// The signing policy of the wallets' keys cannot be used.
    #[error("{0}")]
    Wallets(crate::config::Problem),
    /// The rules for plans of wallets' actions cannot be used.
    #[error("{0}")]
    Fees(crate::config::Problem),
    /// A contract or document that `[delegation]` pins cannot be used.
    #[error("{0}")]
    Delegation(crate::config::Problem),
    /// The pinned policy cannot be installed.
    #[error("delegation.policy: {0}")]
    Fence(#[source] fence_server::StoreError),
    /// An upstream cannot be set up.
    #[error("upstreams.{name}: {error}")]
    Upstream {
        /// The upstream's table.
        name: &'static str,
        /// The client's error.
        error: TransportError,
    },
}
