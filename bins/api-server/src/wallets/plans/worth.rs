//! The judgement of worth, before a plan of a wallet is returned.

use alloy_primitives::U256;
use data_sources::worth::side;
use readings::worth::{Exchange, Stated, Unworthy};
use serde_json::{Value, json};
use wallet_actions::{DepositAsk, PlanCause, PlanRefused, SwapAsk};

use super::WalletPlans;

/// Seconds after which a source that had no price may have one.
const AGAIN_SECONDS: u64 = 30;

impl WalletPlans {
    /// Judges what a swap gives, by its quote and by prices that are independent of it. Returns the
    /// evidence.
    pub(super) async fn judge_swap(
        &self,
        ask: &SwapAsk,
        quoted: U256,
        stated: Stated,
    ) -> Result<Value, PlanRefused> {
        self.judge(Exchange {
            chain_id: ask.chain_id,
            input: side(ask.from_token, ask.atoms, ask.from_decimals),
            output: side(ask.to_token, quoted, ask.to_decimals),
            stated,
            max_price_impact_bps: ask.max_price_impact_bps,
        })
        .await
    }

    /// Judges what the shares of a deposit are worth. The product converts them to the asset, and
    /// independent sources price the asset.
    pub(super) async fn worth_of_deposit(&self, ask: DepositAsk) -> Result<Value, PlanRefused> {
        let DepositAsk {
            chain_id,
            asset,
            decimals,
            amount,
            worth,
            max_price_impact_bps,
        } = ask;
        self.judge(Exchange {
            chain_id,
            input: side(asset, amount, decimals),
            output: side(asset, worth, decimals),
            stated: Stated::default(),
            max_price_impact_bps,
        })
        .await
    }

    async fn judge(&self, exchange: Exchange) -> Result<Value, PlanRefused> {
        let worth = self.worth.judge(&exchange).await;
        worth
            .map(|worth| json!(worth))
            .map_err(|unworthy| refused(&unworthy))
    }
}

fn refused(unworthy: &Unworthy) -> PlanRefused {
    let is_unknown = matches!(unworthy, Unworthy::Unknown(_));
    PlanRefused {
        cause: PlanCause::Worth,
        check: unworthy.code().to_owned(),
        message: unworthy.to_string(),
        retry_after: is_unknown.then_some(AGAIN_SECONDS),
    }
}
