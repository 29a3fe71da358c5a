//! Prices of tokens and of the chains' own coins.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, U256};
use calldata_checks::Decimal;
use data_sources::Clock;
use data_sources::defillama::Defillama;
use data_sources::evm::EvmReader;
use fence_server::worth_micro_usd;
use gas_funding::{CoinPrices, PortFuture};
use readings::Figure;
use readings::defi::chains::gas_coin;

use super::TokenPrices;
use crate::Sources;

/// Millionths of a dollar in one.
const MICRO: u32 = 1_000_000;
/// The greatest age of a price.
const PRICE_AGE: Duration = Duration::from_secs(60);

/// The price of a whole token in US dollars. A stale or doubtful price is an error.
///
/// # Errors
/// The reason why there is no price, for logs.
pub(crate) async fn token_usd(
    defillama: &Defillama,
    clock: &dyn Clock,
    platform: &'static str,
    token: Address,
) -> Result<Decimal, String> {
    let asked = defillama.token_price(platform, token, Some(PRICE_AGE));
    let quote = asked.await.map_err(|error| error.to_string())?;
    if let Some(weakness) = quote.value.weakness(clock.now()) {
        return Err(format!("{weakness:?}"));
    }
    // A missing certainty is no certainty.
    if quote.value.certainty_ratio.is_none() {
        return Err("its source states no certainty".to_owned());
    }
    let price = quote.value.price_usd.to_string().parse();
    price.map_err(|_| "it has too many digits".to_owned())
}

/// Prices of tokens, and of the coins that pay gas. Each coin has the price of its wrapped token.
pub struct NativePrices {
    defillama: Defillama,
    evm: EvmReader,
    clock: Arc<dyn Clock>,
}

impl NativePrices {
    /// Uses the upstreams of these sources.
    #[must_use]
    pub fn new(sources: &Sources) -> Self {
        Self {
            defillama: sources.accounts.defillama.clone(),
            evm: sources.accounts.evm.clone(),
            clock: Arc::clone(sources.context.clock()),
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
            let platform = Defillama::platform(chain_id)?;
            let price = token_usd(&self.defillama, self.clock.as_ref(), platform, token).await;
            let price = price.inspect_err(|reason| {
                tracing::warn!(chain_id, %token, %reason, "a token has no price");
            });
            let price: Figure = price.ok()?.to_string().parse().ok()?;
            Some(price.0)
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
            let coin = gas_coin(chain_id)?;
            let clock = self.clock.as_ref();
            let price = token_usd(&self.defillama, clock, coin.platform, coin.token).await;
            let price = price.inspect_err(|reason| {
                tracing::warn!(coin = coin.symbol, %reason, "a coin has no price");
            });
            worth_micro_usd(price.ok()?, wei)
        })
    }
}
