//! What the budgets are held against: what coins are worth, and what owners have paid.

use std::pin::Pin;

use alloy_primitives::U256;
use custody::Owner;

/// The answer of a port.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What coins are worth.
pub trait CoinPrices: Send + Sync + 'static {
    /// So much of the chain's own coin in micro US dollars; `None` where no price can be read.
    fn micro_usd(&self, chain_id: u64, wei: U256) -> PortFuture<'_, Option<u64>>;
}

/// What owners have paid to the service.
pub trait PaidTotals: Send + Sync + 'static {
    /// The sum of the owner's settled payments in micro US dollars; `None` where it cannot be read.
    fn paid(&self, owner: Owner) -> PortFuture<'_, Option<u64>>;
}
