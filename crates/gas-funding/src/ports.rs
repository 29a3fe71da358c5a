//! The ports to the prices of coins and to the payments of owners. The budgets depend on both.

use std::pin::Pin;

use alloy_primitives::{B256, U256};
use custody::Owner;

/// The pending answer of a port.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The prices of coins.
pub trait CoinPrices: Send + Sync + 'static {
    /// Converts wei of the chain's own coin to micro US dollars; `None` when the price is
    /// unavailable.
    fn micro_usd(&self, chain_id: u64, wei: U256) -> PortFuture<'_, Option<u64>>;
}

/// The sums that owners have paid to the service.
pub trait PaidTotals: Send + Sync + 'static {
    /// Returns the sum of the owner's settled payments in micro US dollars; `None` when it is
    /// unavailable.
    fn paid(&self, owner: Owner) -> PortFuture<'_, Option<u64>>;

    /// Whether the service knows a payment by the digest of its authorization, and the payment is
    /// not in the sum of [`Self::paid`] yet. `false` when this cannot be read.
    fn is_unsettled(&self, payment: B256) -> PortFuture<'_, bool>;
}
