//! The judgement of what a delegated plan is worth.

use alloy_primitives::Address;
use calldata_checks::{BasisPoints, Decimal};
use data_sources::worth::{WorthJudge, side};
use delegation_fence::{Admitted, PlanWorth, Rates, WorthTooLow};
use fence_sending::ChainReader;
use fence_server::{PortError, PortFuture, Prices};
use readings::Figure;
use readings::worth::{Exchange, Stated};

/// The judge of worth, with the output token's decimals from the chain.
pub(super) struct TokenPrices {
    pub(super) worth: WorthJudge,
    pub(super) chain: ChainReader,
    pub(super) input_decimals: u8,
    pub(super) max_deviation: BasisPoints,
}

impl TokenPrices {
    /// Judges a plan by its minimum. The error says why there is no judgement.
    async fn judged(&self, admitted: &Admitted, decimals: u8) -> Result<PlanWorth, String> {
        let (chain_id, input, output) = (admitted.chain_id, admitted.token, admitted.landing.token);
        let rates = Rates {
            input_usd: self.usd(chain_id, input).await?,
            input_decimals: self.input_decimals,
            output_usd: self.usd(chain_id, output).await?,
            output_decimals: decimals,
        };
        // The quote is the delegate's own claim. Only the minimum is enforced.
        let exchange = Exchange {
            chain_id,
            input: side(input, admitted.amount, self.input_decimals),
            output: side(output, admitted.landing.at_least, decimals),
            stated: Stated::default(),
            max_price_impact_bps: None,
        };
        let holds = match self.worth.judge(&exchange).await {
            Ok(_) => Ok(()),
            Err(unworthy) => {
                let compared = unworthy.compared();
                let (expected, observed) = compared.ok_or_else(|| unworthy.to_string())?;
                Err(WorthTooLow { expected, observed })
            }
        };
        Ok(PlanWorth::Judged { rates, holds })
    }

    async fn usd(&self, chain_id: u64, token: Address) -> Result<Decimal, String> {
        let price = self.worth.price(chain_id, token).await;
        exactly(price.map_err(|unworthy| unworthy.to_string())?.usd)
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

fn exactly(usd: Figure) -> Result<Decimal, String> {
    let exact = usd.to_string().parse();
    exact.map_err(|_| format!("the price {usd} has too many digits"))
}

impl Prices for TokenPrices {
    fn worth<'a>(&'a self, admitted: &'a Admitted) -> PortFuture<'a, Result<PlanWorth, PortError>> {
        Box::pin(async move {
            let decimals = self.decimals(admitted.landing.token).await?;
            let judged = self.judged(admitted, decimals).await;
            Ok(judged.unwrap_or_else(|reason| PlanWorth::Unknown { reason }))
        })
    }

    fn native_usd(&self) -> PortFuture<'_, Result<Decimal, PortError>> {
        Box::pin(async move {
            let price = self.worth.coin_price(self.chain.chain_id()).await;
            let usd = price.map_err(|reason| reason.to_string());
            let exact = usd.and_then(|price| exactly(price.usd));
            exact.map_err(|reason| PortError { reason })
        })
    }

    fn max_deviation(&self) -> BasisPoints {
        self.max_deviation
    }
}
