//! A swap through LI.FI's router, on the chains of the fee configuration.

use calldata_checks::Rail;
use data_sources::defillama::Defillama;
use data_sources::lifi::Lifi;
use plan_builder::ports::{IndependentPrice, PortError, SwapQuote, SwapQuotes};
use plan_builder::{Refusal, Request, VerifiedPlan, verify};
use serde_json::{Value, json};
use wallet_actions::{SwapAsk, SwapPlan};

use super::{WalletPlans, evidence, request, steps, unreadable};

/// Quotes of the aggregator, and prices of an independent source.
struct Quotes<'a> {
    lifi: &'a Lifi,
    prices: Option<&'a Defillama>,
}

impl SwapQuotes for Quotes<'_> {
    async fn quote(&self, ask: &plan_builder::ports::SwapAsk) -> Result<SwapQuote, PortError> {
        self.lifi.quote(ask).await
    }

    async fn independent_price(
        &self,
        ask: &plan_builder::ports::SwapAsk,
    ) -> Option<IndependentPrice> {
        self.prices?.independent_price(ask).await
    }
}

impl WalletPlans {
    pub(super) async fn lifi_swap(&self, ask: &SwapAsk) -> Result<SwapPlan, Refusal> {
        let rules = self.rules(Rail::Swap)?;
        let policy = &rules.policy;
        let request = request(Rail::Swap, &arguments(ask))?;
        let Request::Swap(swap) = &request else {
            return Err(unreadable("swap"));
        };
        let quotes = Quotes {
            lifi: &self.rails.aggregator.lifi,
            prices: rules.priced.then_some(&self.defillama),
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
        Ok(SwapPlan {
            steps: steps(&plan.steps),
            spender: plan.spender,
            quoted: plan.quoted_amount_out,
            at_least: plan.min_amount_out,
            valid_until: valid_until.unix(),
            evidence,
        })
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
    })
}
