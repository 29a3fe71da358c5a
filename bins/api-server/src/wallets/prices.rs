//! Prices of tokens and of the chains' own coins.

use alloy_primitives::{Address, U256};
use data_sources::evm::EvmReader;
use data_sources::worth::WorthJudge;
use fence_server::worth_micro_usd;
use gas_funding::{CoinPrices, PortFuture};

use super::TokenPrices;
use crate::Sources;

/// Millionths of a dollar in one.
const MICRO: u32 = 1_000_000;

/// Prices of tokens, and of the coins that pay gas. Each coin has the price of its wrapped token.
pub struct NativePrices {
    worth: WorthJudge,
    evm: EvmReader,
}

impl NativePrices {
    /// Uses the judge of worth and the nodes of these sources.
    #[must_use]
    pub fn new(sources: &Sources) -> Self {
        Self {
            worth: sources.worth.clone(),
            evm: sources.accounts.evm.clone(),
        }
    }
}

impl std::fmt::Debug for NativePrices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NativePrices").finish_non_exhaustive()
    }
}

impl TokenPrices for NativePrices {
    fn usd(&self, chain_id: u64, token: Address) -> PortFuture<'_, Option<readings::Decimal>> {
        Box::pin(async move {
            let price = self.worth.price(chain_id, token).await;
            Some(price.ok()?.usd.get())
        })
    }

    fn gas_usd(&self, chain_id: u64, gas: u64) -> PortFuture<'_, Option<readings::Decimal>> {
        Box::pin(async move {
            let price = self.evm.gas_price(chain_id).await.ok()?.value;
            let wei = price.checked_mul(U256::from(gas))?;
            let micro = self.micro_usd(chain_id, wei).await?;
            readings::Decimal::from(micro).checked_div(readings::Decimal::from(MICRO))
        })
    }
}

impl CoinPrices for NativePrices {
    fn micro_usd(&self, chain_id: u64, wei: U256) -> PortFuture<'_, Option<u64>> {
        Box::pin(async move {
            let price = self.worth.coin_price(chain_id).await;
            let price = price.inspect_err(|reason| {
                tracing::warn!(chain_id, %reason, "a coin has no price");
            });
            worth_micro_usd(price.ok()?.usd.to_string().parse().ok()?, wei)
        })
    }
}
