//! The prices against which a delegated plan's minimum is checked.

use std::sync::Arc;

use alloy_primitives::{Address, address};
use calldata_checks::{BasisPoints, Decimal};
use data_sources::Clock;
use data_sources::defillama::Defillama;
use delegation_fence::{Admitted, Rates};
use fence_sending::ChainReader;
use fence_server::{PortError, PortFuture, Prices};

use crate::wallets::token_usd;

/// The price source's name for the policy's chain.
const PLATFORM: &str = "base";

/// The chain's coin as a token, at the address where every OP stack chain has it.
const WRAPPED_COIN: Address = address!("4200000000000000000000000000000000000006");

/// Token prices of DefiLlama, with the output token's decimals from the chain.
pub(super) struct TokenPrices {
    pub(super) defillama: Defillama,
    pub(super) chain: ChainReader,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) input_decimals: u8,
    pub(super) max_deviation: BasisPoints,
}

impl TokenPrices {
    /// The price of a whole token in US dollars. A stale or doubtful price is an error.
    async fn usd(&self, token: Address) -> Result<Decimal, PortError> {
        let price = token_usd(&self.defillama, self.clock.as_ref(), PLATFORM, token).await;
        price.map_err(|reason| PortError {
            reason: format!("{token}: {reason}"),
        })
    }

    async fn decimals(&self, token: Address) -> Result<u8, PortError> {
        let read = async {
            let sealed = self.chain.sealed(0).await?;
            self.chain.decimals(token, sealed.block).await
        };
        read.await.map_err(|fault| PortError {
            reason: format!("{token}: its decimals: {fault}"),
        })
    }
}

impl Prices for TokenPrices {
    fn rates<'a>(&'a self, admitted: &'a Admitted) -> PortFuture<'a, Result<Rates, PortError>> {
        Box::pin(async move {
            let output = admitted.landing.token;
            Ok(Rates {
                input_usd: self.usd(admitted.token).await?,
                input_decimals: self.input_decimals,
                output_usd: self.usd(output).await?,
                output_decimals: self.decimals(output).await?,
            })
        })
    }

    fn native_usd(&self) -> PortFuture<'_, Result<Decimal, PortError>> {
        Box::pin(self.usd(WRAPPED_COIN))
    }

    fn max_deviation(&self) -> BasisPoints {
        self.max_deviation
    }
}
