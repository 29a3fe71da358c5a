//! A swap through LI.FI's router, on the chains of the fee configuration.

use calldata_checks::{BasisPoints, Rail};
use data_sources::lifi::Lifi;
use data_sources::worth::WorthJudge;
use plan_builder::ports::{PortError, SwapQuote, SwapQuotes};
use plan_builder::{Refusal, Request, VerifiedPlan, verify};
use serde_json::{Value, json};
use wallet_actions::{SwapAsk, SwapPlan};

use super::{WalletPlans, evidence, request, steps, unreadable};

/// Quotes of the aggregator, with its guard set to the limit for the caller. What the swap is worth
/// is judged when the plan has been verified.
struct Quotes<'a> {
    lifi: &'a Lifi,
    worth: &'a WorthJudge,
}

impl SwapQuotes for Quotes<'_> {
    async fn quote(&self, ask: &plan_builder::ports::SwapAsk) -> Result<SwapQuote, PortError> {
        self.lifi.quote(&self.worth.guarded(ask)).await
    }
}

impl WalletPlans {
    /// Plans a swap. Returns the plan, and how much it loses by the quote's own values.
    pub(super) async fn lifi_swap(
        &self,
        ask: &SwapAsk,
    ) -> Result<(SwapPlan, Option<BasisPoints>), Refusal> {
        let policy = self.policy(Rail::Swap)?;
        let request = request(Rail::Swap, &arguments(ask))?;
        let Request::Swap(swap) = &request else {
            return Err(unreadable("swap"));
        };
        let quotes = Quotes {
            lifi: &self.rails.aggregator.lifi,
            worth: &self.worth,
        };
        let (nodes, moment) = (&self.rails.nodes, self.moment()?);
        let sealed = plan_builder::swap::build(swap, &quotes, nodes, policy, &moment).await?;
        let verified = verify(&request, sealed.json(), self.now(), policy)?;
        let (valid_until, evidence) = (
            verified.valid_until(),
            evidence(&verified, sealed.artifact_id()),
        );
        let VerifiedPlan::Swap(plan) = verified.into_plan() else {
            return Err(unreadable("swap"));
        };
        let planned = SwapPlan {
            steps: steps(&plan.steps),
            spender: plan.spender,
            quoted: plan.quoted_amount_out,
            at_least: plan.min_amount_out,
            valid_until: valid_until.unix(),
            evidence,
        };
        Ok((planned, plan.quoted_price_impact))
    }
}

fn arguments(ask: &SwapAsk) -> Value {
    json!({
        "accountProfile": {
            "kind": "eoa",
            "address": ask.wallet.to_string(),
            "chainId": ask.chain_id,
        },
        "chainId": ask.chain_id,
        "fromToken": ask.from_token.to_string(),
        "toToken": ask.to_token.to_string(),
        "fromAmount": ask.atoms.to_string(),
        "slippage": { "maxBps": ask.slippage_bps },
        "maxPriceImpactBps": ask.max_price_impact_bps,
    })
}
