//! Reads of accounts on chains.

use std::future::Future;

use alloy_primitives::{Address, Bytes};

use super::{PortError, PortErrorReason};

/// Reads of accounts on chains.
///
/// # Example
/// [`bridge::build`](crate::bridge::build) has an implementation.
pub trait Accounts: Send + Sync {
    /// Reads the code at an address.
    ///
    /// # Errors
    /// [`PortError`]; `NotConfigured` for a chain without an endpoint.
    fn code(
        &self,
        chain_id: u64,
        address: Address,
    ) -> impl Future<Output = Result<Bytes, PortError>> + Send;

    /// Calls a contract at the latest block and returns its return data. `None` when the call
    /// reverts.
    ///
    /// # Errors
    /// [`PortError`]
    fn call(
        &self,
        chain_id: u64,
        to: Address,
        data: Bytes,
    ) -> impl Future<Output = Result<Option<Bytes>, PortError>> + Send;
}

/// A port for embedders that have no endpoints. A Safe-type account then gets no bridge plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct NoAccounts;

impl NoAccounts {
    fn error(detail: String) -> PortError {
        PortError {
            source_name: "rpc".into(),
            reason: PortErrorReason::NotConfigured { detail },
        }
    }
}

impl Accounts for NoAccounts {
    async fn code(&self, chain_id: u64, _: Address) -> Result<Bytes, PortError> {
        Err(Self::error(format!("no endpoint for chain {chain_id}")))
    }

    async fn call(&self, chain_id: u64, _: Address, _: Bytes) -> Result<Option<Bytes>, PortError> {
        Err(Self::error(format!("no endpoint for chain {chain_id}")))
    }
}
