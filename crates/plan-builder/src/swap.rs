//! The swap rail: a swap of ERC-20 tokens on one chain through the reviewed aggregator. A plan has
//! three steps: the reset of the allowance, the approval and the call. The first leg of the call
//! pays the fee.

mod attribution;
mod disclosure;
mod payload;
mod request;
pub mod whitelist;

use std::borrow::Cow;

use calldata_checks::{
    Commitment, Failure, UtcSeconds, Violation,
    fees::ReviewedChain,
    swap::{SwapFacts, calldata::SwapCall, checks, decode},
};

pub use self::request::SwapRequest;
use self::{attribution::FeeAttribution, payload::SwapPayload};
pub(crate) use self::{disclosure::Disclosure, request::PROPERTIES};
use crate::{
    AccountKind, Moment, Policy, Refusal, Sealed, VerifiedPlan, VerifiedSwap,
    policy::{LifeSeconds, is_tool_key},
    ports::{Simulator, SwapAsk, SwapQuote, SwapQuotes},
    rail::{RailPlan, Terms},
    seal::Judged,
    signing::{Effect, Evm},
    simulation::Simulation,
    wire,
};

/// Asks for a quote, then builds, checks and seals its plan. When the quote uses an exchange that
/// is not reviewed, asks once more without that exchange.
///
/// # Errors
/// `chain_unsupported` for a chain that is not reviewed, before the aggregator is asked; the
/// quote's failure (`quote_unavailable`, `quote_malformed`, `rate_limited`, `route_unsupported`,
/// `token_unsupported`); the first check that does not hold, by name; the refusal of
/// [`SwapQuotes::judge_worth`]; `simulation_as_planned`.
///
/// # Example
/// `examples/agent.rs` makes a plan of a quote. Without a quote there is a refusal:
/// ```
/// use plan_builder::ports::{NoSimulator, PortError, PortErrorReason, SwapAsk, SwapQuote, SwapQuotes};
/// use plan_builder::{Moment, Refusal, swap::{self, SwapRequest}};
/// # use alloy_primitives::{U256, address};
/// # use calldata_checks::BasisPoints;
/// # use plan_builder::{AccountProfile, FeeDocument, Policy};
///
/// struct Nobody;
/// impl SwapQuotes for Nobody {
///     async fn quote(&self, _: &SwapAsk) -> Result<SwapQuote, PortError> {
///         let reason = PortErrorReason::NoRoute { detail: "no pool".to_owned() };
///         Err(PortError { source_name: "lifi".into(), reason })
///     }
/// }
/// # macro_rules! file {
/// #     ($name:literal) => { include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $name)) };
/// # }
/// # fn ready<T>(future: impl Future<Output = T>) -> T {
/// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// #     match std::pin::pin!(future).poll(&mut context) {
/// #         std::task::Poll::Ready(output) => output,
/// #         std::task::Poll::Pending => unreachable!("a port that answers from memory never waits"),
/// #     }
/// # }
/// # let document: FeeDocument = toml::from_str(file!("fees.toml"))?;
/// # let policy = Policy::new(document.review()?);
/// # let account = AccountProfile::eoa(address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"), 8453);
/// # let usdc = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
/// # let weth = address!("4200000000000000000000000000000000000006");
/// # let request = SwapRequest::new(account, usdc, weth, U256::from(1_000_000), BasisPoints::NONE)?;
/// let moment = Moment { now_millis: 1_790_000_000_000, entropy: [7; 32] };
/// let built = ready(swap::build(&request, &Nobody, &NoSimulator, &policy, &moment)); // or `.await`
/// assert_eq!(built.unwrap_err().check, Refusal::ROUTE_UNSUPPORTED);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn build<Q: SwapQuotes + ?Sized, S: Simulator + ?Sized>(
    request: &SwapRequest,
    quotes: &Q,
    simulator: &S,
    policy: &Policy,
    moment: &Moment,
) -> Result<Sealed, Refusal> {
    let chain = reviewed_chain(request, policy)
        .map_err(|failure| Refusal::from(failure).at("$.chainId"))?;
    let mut ask = ask(request, chain, policy)?;
    let mut quote = quotes.quote(&ask).await?;
    let judged = |quote: &SwapQuote| {
        let payload = SwapPayload::compose(request, chain, quote);
        Judged::<SwapRail>::judge(request, payload, policy, moment)
    };
    let plan = match judged(&quote) {
        Err(refusal) => match unreviewed_tool(&quote, chain, &ask) {
            None => return Err(refusal),
            Some(tool) => {
                ask.deny_tools.push(tool);
                // If there is no other quote, the refusal of the first one is the answer.
                let Ok(other) = quotes.quote(&ask).await else {
                    return Err(refusal);
                };
                quote = other;
                judged(&quote)?
            }
        },
        plan => plan?,
    };
    let worth = quotes.judge_worth(&ask, &quote).await?;
    plan.stating(worth).simulate(simulator).await?.seal()
}

/// Returns the key of the exchange that a quote uses, if a leg of the quote is not reviewed. `None`
/// when the key cannot be denied or was already denied.
fn unreviewed_tool(quote: &SwapQuote, chain: &ReviewedChain, ask: &SwapAsk) -> Option<String> {
    let call = SwapCall::decode(&quote.call_data).ok()?;
    let unreviewed = call
        .legs
        .iter()
        .filter(|leg| leg.callTo != chain.forwarder)
        .any(|leg| {
            leg.callData.first_chunk().is_none_or(|function: &[u8; 4]| {
                chain
                    .leg(leg.callTo, (*function).into(), leg.approveTo)
                    .is_none_or(|review| review.spender != leg.approveTo)
            })
        });
    let tool = &quote.tool;
    let deniable = is_tool_key(tool) && !ask.deny_tools.contains(tool);
    (unreviewed && deniable).then(|| tool.clone())
}

/// The rail's plans.
#[derive(Debug)]
pub(crate) enum SwapRail {}

impl RailPlan for SwapRail {
    type Request = SwapRequest;
    type Payload = SwapPayload;
    type Fees = FeeAttribution;
    type Facts = SwapFacts;

    const JUDGES_WORTH: bool = true;

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
            disclosure: Some(Disclosure::of(facts, &policy.fees)),
            adapter_owned_fields: &["nonce", "gas", "serialization"],
            required_capabilities: vec![Cow::Borrowed(match profile.kind {
                AccountKind::Eoa => "send_evm_transaction",
                AccountKind::Safe => "execute_safe_transaction",
            })],
            onchain_replay_boundary: "signer_account_nonce",
            typed_data: None,
        })
    }

    fn content(
        payload: &SwapPayload,
        facts: SwapFacts,
        simulation: Option<&Simulation>,
    ) -> Option<VerifiedPlan> {
        Some(VerifiedPlan::Swap(VerifiedSwap {
            steps: wire::three_steps(&payload.steps)?,
            simulated_gas: simulation.and_then(Simulation::gas_used),
            from_token: facts.asked().from_token,
            to_token: facts.asked().to_token,
            from_amount: facts.asked().from_amount,
            quoted_amount_out: facts.quoted().to_amount,
            quoted_price_impact: facts.price_impact(),
            min_amount_out: facts.min_amount_out(),
            receiver: facts.receiver(),
            spender: facts.steps().approve.spender,
            integrator: facts.integrator().to_owned(),
            fees: facts.distributions().to_vec(),
            legs: facts.legs().to_vec(),
        }))
    }

    fn read_at(payload: &SwapPayload) -> UtcSeconds {
        payload.quote.read_at.0
    }

    fn life(policy: &Policy) -> LifeSeconds {
        policy.validity.swap
    }

    /// Limits the life of a plan whose quote may contain parts that market makers signed. Such a
    /// quote is valid for a shorter time.
    fn latest(payload: &SwapPayload, policy: &Policy) -> Option<UtcSeconds> {
        let chain = policy.fees.chain(payload.chain_id)?;
        let call = SwapCall::decode(payload.call_data()?).ok()?;
        let lives = call.legs.iter().filter_map(|leg| {
            let function: &[u8; 4] = leg.callData.first_chunk()?;
            chain
                .leg(leg.callTo, (*function).into(), leg.approveTo)?
                .max_life_seconds
        });
        Some(payload.quote.read_at.0.saturating_add(lives.min()?))
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

fn ask(request: &SwapRequest, chain: &ReviewedChain, policy: &Policy) -> Result<SwapAsk, Refusal> {
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
        allow_tools: chain
            .tools()
            .unwrap_or_default()
            .into_iter()
            .map(str::to_owned)
            .collect(),
        deny_tools: policy.fees.deny_tools.clone(),
        max_price_impact: request.max_price_impact_bps,
    })
}
