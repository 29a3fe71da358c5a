//! A swap through LI.FI's router, on the chains of the fee configuration.

use alloy_primitives::U256;
use calldata_checks::{Rail, Steps, swap::calldata::SwapCall};
use data_sources::defillama::Defillama;
use data_sources::lifi::Lifi;
use plan_builder::ports::{IndependentPrice, PortError, SwapQuote, SwapQuotes};
use plan_builder::{Refusal, Request, verify};
use serde_json::{Value, json};
use wallet_actions::{SwapAsk, SwapPlan};

use super::{WalletPlans, evidence, request, steps, unreadable};

/// Quotes of the aggregator, and prices of a source that is not the aggregator.
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
        let decoded = Steps::decode(&verified.steps)?;
        let call =
            SwapCall::decode(&decoded.call.data).map_err(|_| unreadable("call of the router"))?;
        Ok(SwapPlan {
            steps: steps(&verified.steps),
            spender: decoded.approve.spender,
            quoted: quoted(sealed.json())?,
            at_least: call.min_amount_out,
            valid_until: verified.valid_until.unix(),
            evidence: evidence(&verified, sealed.artifact_id()),
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

/// The expected output that a verified plan discloses. The checks hold the least output against it.
fn quoted(plan: &str) -> Result<U256, Refusal> {
    let plan: Value = serde_json::from_str(plan).unwrap_or_default();
    let text = plan.pointer("/payload/quote/to_amount");
    let amount = text
        .and_then(Value::as_str)
        .and_then(|text| text.parse().ok());
    amount.ok_or_else(|| unreadable("quoted output"))
}
