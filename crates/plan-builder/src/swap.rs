//! The swap rail: a same-chain ERC-20 swap through the reviewed aggregator, with the fee as the first leg of the same
//! transaction, as allowance reset, approval and call.

mod attribution;
mod payload;
mod request;

use std::borrow::Cow;

use plan_checks::{
    Commitment, Failure, UtcSeconds, Violation,
    fees::ReviewedChain,
    swap::{SwapFacts, checks, decode},
};

pub(crate) use self::request::PROPERTIES;
pub use self::request::{Slippage, SwapRequest};
use self::{attribution::FeeAttribution, payload::SwapPayload};
use crate::{
    Moment, Policy, Refusal, Sealed,
    policy::LifeSeconds,
    ports::{Simulator, SwapAsk, SwapQuotes},
    rail::{AccountKind, Evm, RailPlan, Terms},
    seal::Judged,
    simulation::Effect,
    wire,
};

/// Asks for a quote and builds, checks and seals the plan of it.
///
/// # Errors
/// `chain_unsupported` for a chain without a review, before anything is asked; the quote's failure (`quote_unavailable`,
/// `quote_malformed`, `rate_limited`, `route_unsupported`, `token_unsupported`); the first check that does not hold, by name;
/// `simulation_as_planned`.
pub async fn build<Q: SwapQuotes, S: Simulator>(
    request: &SwapRequest,
    quotes: &Q,
    simulator: &S,
    policy: &Policy,
    moment: &Moment,
) -> Result<Sealed, Refusal> {
    let chain = reviewed_chain(request, policy)
        .map_err(|failure| Refusal::from(failure).at("$.chainId"))?;
    let quote = quotes.quote(&ask(request, policy)?).await?;
    let payload = SwapPayload::compose(request, chain, &quote);
    Judged::<SwapRail>::judge(request, payload, policy, moment)?
        .simulate(simulator)
        .await?
        .seal()
}

/// The rail's plans.
#[derive(Debug)]
pub(crate) enum SwapRail {}

impl RailPlan for SwapRail {
    type Request = SwapRequest;
    type Payload = SwapPayload;
    type Fees = FeeAttribution;
    type Facts = SwapFacts;

    fn facts(
        request: &SwapRequest,
        payload: &SwapPayload,
        policy: &Policy,
        commitment: Commitment,
    ) -> Result<SwapFacts, Failure> {
        reviewed_chain(request, policy)?;
        decode(
            request.asked(),
            payload.quote.as_read(),
            payload.chain_id,
            &wire::steps(&payload.steps),
            &policy.fees,
            commitment,
        )
    }

    fn terms(
        request: &SwapRequest,
        _: &SwapPayload,
        policy: &Policy,
        facts: &Self::Facts,
    ) -> Result<Terms<FeeAttribution>, Failure> {
        let profile = request.account_profile;
        Ok(Terms {
            account: profile.address,
            kind: profile.kind,
            chain_id: profile.chain_id,
            roles: &["sender", "receiver"],
            fees: FeeAttribution::read(facts, &policy.fees)?,
            adapter_owned_fields: &["nonce", "gas", "serialization"],
            required_capabilities: vec![Cow::Borrowed(match profile.kind {
                AccountKind::Eoa => "send_evm_transaction",
                AccountKind::Safe => "execute_safe_transaction",
            })],
            onchain_replay_boundary: "signer_account_nonce",
        })
    }

    fn read_at(payload: &SwapPayload) -> UtcSeconds {
        payload.quote.read_at.0
    }

    fn life(policy: &Policy) -> LifeSeconds {
        policy.validity.swap
    }

    fn evm<'a>(request: &'a SwapRequest, payload: &'a SwapPayload) -> Option<Evm<'a>> {
        Some(Evm {
            chain_id: payload.chain_id,
            account: request.account_profile.address,
            steps: &payload.steps,
            exports: request.exports,
            effect: Effect {
                spent_token: request.from_token,
                spent: request.from_amount.0,
                spent_exactly: false,
                spender: payload.quote.approval_address.address(),
                received: Some((request.to_token, payload.quote.to_amount_min.0)),
            },
        })
    }
}

fn reviewed_chain<'a>(
    request: &SwapRequest,
    policy: &'a Policy,
) -> Result<&'a ReviewedChain, Failure> {
    policy.fees.chain(request.chain_id).ok_or_else(|| {
        let served: Vec<_> = policy
            .fees
            .chains
            .iter()
            .map(|c| c.chain_id.to_string())
            .collect();
        Failure::new(
            Refusal::CHAIN_UNSUPPORTED,
            Violation::new(
                "swaps on this chain are not reviewed",
                format_args!("one of {}", served.join(", ")),
                request.chain_id,
            ),
        )
    })
}

fn ask(request: &SwapRequest, policy: &Policy) -> Result<SwapAsk, Refusal> {
    let own = policy.fees.own().ok_or_else(|| {
        Refusal::new(
            checks::FEE_AMOUNT,
            "the configuration has no recipient of the service",
        )
    })?;
    Ok(SwapAsk {
        chain_id: request.chain_id,
        from_token: request.from_token,
        to_token: request.to_token,
        from_amount: request.from_amount.0,
        account: request.account_profile.address,
        max_slippage: request.slippage.max_bps,
        integrator: policy.fees.integrator.clone(),
        fee: own.bps,
    })
}
