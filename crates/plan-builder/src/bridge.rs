//! The bridge rail: native USDC between Ethereum, Polygon, Base, Arbitrum and Avalanche. The
//! protocol itself (CCTP V2) burns and mints it.
//!
//! A plan covers only the source chain. The mint cannot be built before the burn, because its
//! message and its attestation do not exist yet. `payload.post_submission` lists what the caller
//! has to do later.

mod account;
mod build;
mod join;
mod min_fee;
mod payload;
mod request;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use alloy_primitives::Address;
use calldata_checks::{
    Commitment, Failure, UtcSeconds, Violation,
    bridge::{BridgeFacts, Context, chains::TOKEN_MESSENGER, checks},
};
use serde::{Deserialize, Serialize};

use self::payload::{BridgePayload, Readings};
pub(crate) use self::request::PROPERTIES;
pub use self::{account::read_control, build::build, request::BridgeRequest};
use crate::{
    AccountKind, OwnReadings, Policy, Refusal, VerifiedBridge, VerifiedPlan,
    policy::LifeSeconds,
    rail::{RailPlan, ReadAgain, Terms},
    signing::{Effect, Evm},
    simulation::Simulation,
    wire::{self, Digits, Text},
};

/// The rail's plans.
#[derive(Debug)]
pub(crate) enum BridgeRail {}

impl RailPlan for BridgeRail {
    type Request = BridgeRequest;
    type Payload = BridgePayload;
    type Fees = FeeAttribution;
    type Facts = BridgeFacts;

    fn facts(
        request: &BridgeRequest,
        payload: &BridgePayload,
        policy: &Policy,
        commitment: Commitment,
    ) -> Result<BridgeFacts, Failure> {
        let Readings {
            fees,
            fast_allowance,
            control,
            read_at: _,
        } = payload.readings();
        let context = Context {
            asked: request.asked(),
            fees,
            fast_allowance,
            control,
            caps: policy.fees.bridge_caps,
            allow_unread_accounts: policy.allow_unread_accounts,
            chain_id: payload.chain_id,
            commitment,
        };
        BridgeFacts::decode(context, &wire::steps(&payload.steps))
    }

    fn terms(
        request: &BridgeRequest,
        payload: &BridgePayload,
        policy: &Policy,
        _: &Self::Facts,
    ) -> Result<Terms<FeeAttribution>, Failure> {
        let again =
            BridgePayload::assemble(&request.asked(), payload.readings(), payload.steps.clone())?;
        if let Some((member, expected, observed)) = again.first_difference(payload) {
            let message =
                format!("payload.{member} does not follow from the request and the readings");
            let violation = Violation::new(message, expected, observed);
            return Err(Failure::new(Refusal::PLAN_REBUILT, violation));
        }
        let account = request.account();
        Ok(Terms {
            account: account.address,
            kind: account.kind,
            chain_id: payload.chain_id,
            roles: &["depositor", "mint_recipient"],
            fees: FeeAttribution {
                mechanism: Cow::Borrowed("none"),
                protocol_fee: ProtocolFee {
                    deducted: Cow::Borrowed("at the mint, from 0 to max_fee"),
                    max_fee: payload.max_fee(),
                },
                upfront_fees: Cow::Borrowed("not_used"),
                version: Cow::Owned(policy.fees.version.clone()),
            },
            disclosure: None,
            adapter_owned_fields: &["nonce", "gas", "serialization"],
            required_capabilities: vec![Cow::Borrowed(match account.kind {
                AccountKind::Eoa => "send_evm_transaction",
                AccountKind::Safe => "execute_safe_transaction",
            })],
            onchain_replay_boundary: "signer_account_nonce",
            typed_data: None,
        })
    }

    fn content(
        payload: &BridgePayload,
        facts: BridgeFacts,
        simulation: Option<&Simulation>,
    ) -> Option<VerifiedPlan> {
        let (asked, burn) = (&facts.context().asked, facts.burn());
        let source = asked.source().ok()?;
        let destination = asked.destination().ok()?;
        Some(VerifiedPlan::Bridge(VerifiedBridge {
            steps: wire::three_steps(&payload.steps)?,
            simulated_gas: simulation.and_then(Simulation::gas_used),
            token: burn.burn_token,
            amount: burn.amount,
            max_fee: burn.max_fee,
            spender: facts.steps().approve.spender,
            source_domain: source.domain,
            destination_domain: burn.destination_domain,
            destination_chain_id: destination.chain_id,
            destination_token: destination.usdc,
            recipient: Address::from_word(burn.mint_recipient),
            speed: asked.speed,
            forward: burn.hook.is_some(),
        }))
    }

    fn read_again(
        facts: &BridgeFacts,
        payload: &BridgePayload,
        own: &OwnReadings,
    ) -> Result<Option<ReadAgain<BridgeFacts>>, Failure> {
        let Some(control) = own.control.clone() else {
            return Ok(None);
        };
        let context = Context {
            control,
            ..facts.context().clone()
        };
        Ok(Some(ReadAgain {
            facts: BridgeFacts::decode(context, &wire::steps(&payload.steps))?,
            checks: &[checks::CONTROL],
        }))
    }

    fn read_at(payload: &BridgePayload) -> UtcSeconds {
        payload.read_at()
    }

    fn life(policy: &Policy) -> LifeSeconds {
        policy.validity.bridge
    }

    fn evm<'a>(request: &'a BridgeRequest, payload: &'a BridgePayload) -> Option<Evm<'a>> {
        let asked = request.asked();
        Some(Evm {
            chain_id: payload.chain_id,
            account: asked.account,
            steps: &payload.steps,
            exports: request.exports(),
            effect: Effect {
                spent_token: asked.source().ok()?.usdc,
                spent: asked.amount,
                spent_exactly: true,
                spender: TOKEN_MESSENGER,
                received: None,
            },
        })
    }
}

/// `fee_attribution`: a direct burn carries no fee of the service. The mint deducts the protocol's
/// own fee.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeeAttribution {
    mechanism: Text,
    protocol_fee: ProtocolFee,
    upfront_fees: Text,
    version: Text,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProtocolFee {
    deducted: Text,
    max_fee: Digits,
}

/// Converts a violation of the route's rules to a failure of the check that covers it.
fn off_route(violation: Violation) -> Failure {
    Failure::new(checks::ROUTE, violation)
}
