//! Bridges native USDC: the protocol itself burns it here and mints it there.

use calldata_checks::Rail;
use calldata_checks::bridge::chains::MESSAGE_TRANSMITTER;
use calldata_checks::bridge::checks;
use plan_builder::{Refusal, Request, VerifiedPlan, verify};
use serde_json::{Value, json};
use wallet_actions::{BridgeAsk, BridgePlan};

use super::{WalletPlans, evidence, request, steps, unreadable};

impl WalletPlans {
    pub(super) async fn circle_bridge(&self, ask: &BridgeAsk) -> Result<BridgePlan, Refusal> {
        let policy = self.policy(Rail::Bridge)?;
        // A plan mints to its own account, because a wallet's key has the same address on every
        // chain.
        if ask.recipient != ask.wallet {
            let message = "a bridge mints to the wallet that burns";
            return Err(Refusal::new(checks::RECIPIENT, message)
                .comparing(ask.wallet, ask.recipient)
                .at("$.recipient"));
        }
        let request = request(Rail::Bridge, &arguments(ask))?;
        let Request::Bridge(bridge) = &request else {
            return Err(unreadable("bridge"));
        };
        let (circle, nodes) = (&self.rails.circle, &self.rails.nodes);
        let moment = self.moment()?;
        let built = plan_builder::bridge::build(bridge, circle, nodes, nodes, policy, &moment);
        let sealed = built.await?;
        let verified = verify(&request, sealed.json(), self.now(), policy)?;
        let (valid_until, evidence) = (
            verified.valid_until(),
            evidence(&verified, sealed.artifact_id()),
        );
        let VerifiedPlan::Bridge(plan) = verified.into_plan() else {
            return Err(unreadable("bridge"));
        };
        Ok(BridgePlan {
            steps: steps(&plan.steps),
            spender: plan.spender,
            max_fee: plan.max_fee,
            source_domain: plan.source_domain,
            destination_domain: plan.destination_domain,
            minted_token: plan.destination_token,
            transmitter: MESSAGE_TRANSMITTER,
            valid_until: valid_until.unix(),
            evidence,
        })
    }
}

fn arguments(ask: &BridgeAsk) -> Value {
    json!({
        "accountProfile": {
            "kind": "eoa",
            "address": ask.wallet.to_string(),
            "chainId": ask.from_chain,
        },
        "fromChainId": ask.from_chain,
        "toChainId": ask.to_chain,
        "token": ask.token.to_string(),
        "amount": ask.atoms.to_string(),
        "transferSpeed": "standard",
    })
}
