//! A bridge of native USDC: burned here, minted there, by the protocol itself.

use alloy_primitives::Address;
use calldata_checks::bridge::calldata::Burn;
use calldata_checks::bridge::chains::{self, BridgeChain, MESSAGE_TRANSMITTER};
use calldata_checks::bridge::checks;
use calldata_checks::{Failure, Rail, Steps};
use plan_builder::{Refusal, Request, verify};
use serde_json::{Value, json};
use wallet_actions::{BridgeAsk, BridgePlan};

use super::{WalletPlans, evidence, request, steps, unreadable};

impl WalletPlans {
    pub(super) async fn circle_bridge(&self, ask: &BridgeAsk) -> Result<BridgePlan, Refusal> {
        let policy = &self.rules(Rail::Bridge)?.policy;
        // A plan mints to its own account: the key of a wallet holds the same address on every
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
        let decoded = Steps::decode(&verified.steps)?;
        let burn = Burn::decode(&decoded.call.data)
            .map_err(|violation| Failure::new(checks::TARGETS_VALUE, violation))?;
        let (source, destination) = (chain(ask.from_chain)?, chain(ask.to_chain)?);
        let minted_token: Address = destination.usdc;
        Ok(BridgePlan {
            steps: steps(&verified.steps),
            spender: decoded.approve.spender,
            max_fee: burn.max_fee,
            source_domain: source.domain,
            destination_domain: burn.destination_domain,
            minted_token,
            transmitter: MESSAGE_TRANSMITTER,
            valid_until: verified.valid_until.unix(),
            evidence: evidence(&verified, sealed.artifact_id()),
        })
    }
}

fn chain(chain_id: u64) -> Result<&'static BridgeChain, Refusal> {
    let reviewed = chains::reviewed(chain_id);
    reviewed.map_err(|violation| Failure::new(checks::ROUTE, violation).into())
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
