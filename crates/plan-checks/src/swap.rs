//! The swap rail: a same-chain ERC-20 swap through the reviewed aggregator router, with the fee as the first leg
//! ("Model B", decisions section 5).
//!
//! The router itself protects nobody from a hostile quote: it pulls any token ever approved to it, calls what it is told to,
//! binds no integrator, and its fee forwarder checks no recipient. [`decode`] reads what the plan's own bytes say; the twelve
//! checks of [`SwapFacts`] compare it with the request, the quote and the reviewed configuration.

pub mod calldata;
pub mod checks;

use alloy_primitives::{Address, Selector, U256};
use alloy_sol_types::SolCall as _;

use self::calldata::{SwapData, forwardERC20FeesCall, swapTokensMultipleV3ERC20ToERC20Call};
use crate::{
    BasisPoints, Commitment, Failure, FeePolicy, Step, Steps, Violation,
    fees::{ReviewedChain, Rounding},
};

/// What the plan's bytes say, next to what was asked, quoted and reviewed. The opaque calldata of exchange legs behind its
/// first four bytes and the aggregator's random transaction id say nothing and are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapFacts {
    /// The request.
    pub asked: SwapAsked,
    /// The disclosed readings of the quote.
    pub quoted: SwapQuoted,
    /// `payload.chain_id`.
    pub plan_chain_id: u64,
    /// What is reviewed.
    pub reviewed: ReviewedSwap,
    /// The three steps; the calldata of the third is decoded into the members below and left empty here.
    pub steps: Steps,
    /// `_integrator`.
    pub integrator: String,
    /// `_referrer`.
    pub referrer: String,
    /// `_receiver`.
    pub receiver: Address,
    /// `_minAmountOut`, in the output token's smallest unit.
    pub min_amount_out: U256,
    /// The first leg.
    pub fee_leg: FeeLeg,
    /// The legs after it, at least one.
    pub legs: Vec<ExchangeLeg>,
    /// Sum of the amounts of those legs that start from the input token; `None` past 256 bits.
    pub exchanged: Option<U256>,
    /// Digest and expiry.
    pub commitment: Commitment,
}

impl SwapFacts {
    /// Sum of all fee distributions, in the input token's smallest unit; `None` past 256 bits.
    #[must_use]
    pub fn total_fees(&self) -> Option<U256> {
        checked_sum(self.fee_leg.distributions.iter().map(|d| d.amount))
    }
}

/// What was asked for (service document 4.2). Amounts are in the token's smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwapAsked {
    /// The caller's account: sender and receiver.
    pub account: Address,
    /// `accountProfile.chainId`.
    pub account_chain_id: u64,
    /// The chain of the swap.
    pub chain_id: u64,
    /// Input token.
    pub from_token: Address,
    /// Output token.
    pub to_token: Address,
    /// Gross input.
    pub from_amount: U256,
    /// The caller's slippage.
    pub max_slippage: BasisPoints,
    /// The least output that the caller accepts.
    pub min_amount_out: Option<U256>,
}

/// What the quote says about itself: disclosed, compared, never relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapQuoted {
    /// The integrator.
    pub integrator: String,
    /// Chain of the input token.
    pub from_chain_id: u64,
    /// Chain of the output token.
    pub to_chain_id: u64,
    /// Input token.
    pub from_token: Address,
    /// Output token.
    pub to_token: Address,
    /// Gross input.
    pub from_amount: U256,
    /// Sender.
    pub sender: Address,
    /// Receiver.
    pub receiver: Address,
    /// Expected output.
    pub to_amount: U256,
    /// Least output.
    pub to_amount_min: U256,
    /// Whom to approve.
    pub approval_address: Address,
    /// Where the transaction goes.
    pub call_to: Address,
    /// Who sends the transaction, when it is said.
    pub call_from: Option<Address>,
    /// The transaction's chain.
    pub call_chain_id: u64,
    /// Native coin that the transaction carries, in wei.
    pub call_value: U256,
}

/// The part of a [`FeePolicy`] that judges swaps on one chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedSwap {
    /// The integrator's exact string.
    pub integrator: String,
    /// The complete set of recipients.
    pub recipients: Vec<Address>,
    /// The service's own recipient.
    pub own: Address,
    /// Its share of the gross input.
    pub own_share: BasisPoints,
    /// How the share is rounded.
    pub rounding: Rounding,
    /// The most that all recipients together may take of the gross input.
    pub aggregate_cap: BasisPoints,
    /// The aggregator's router.
    pub router: Address,
    /// Its fee forwarder.
    pub forwarder: Address,
}

/// The fee leg: the router's call of the reviewed forwarder, with the calldata of that call decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeeLeg {
    /// Whom the router lets spend its tokens.
    pub spender: Address,
    /// The token that the leg starts from.
    pub sending: Address,
    /// The token that the leg ends in.
    pub receiving: Address,
    /// What is pulled from the account before the legs run, if anything.
    pub deposit: Option<U256>,
    /// The token that the forwarder distributes.
    pub token: Address,
    /// To whom, and how much.
    pub distributions: Vec<Distribution>,
}

/// One recipient's part of the fee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distribution {
    /// The recipient.
    pub recipient: Address,
    /// In the input token's smallest unit.
    pub amount: U256,
}

/// A leg after the fee leg.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeLeg {
    /// The contract that the router calls.
    pub target: Address,
    /// The first four bytes of the call; `None` when there are fewer.
    pub selector: Option<Selector>,
    /// Whether contract and function are on the chain's reviewed list.
    pub call_reviewed: bool,
    /// Whom the router lets spend its tokens.
    pub spender: Address,
    /// Whether that is the called contract or another one of the reviewed list.
    pub spender_reviewed: bool,
    /// The token that the leg starts from.
    pub sending: Address,
    /// The token that the leg ends in.
    pub receiving: Address,
    /// What is pulled from the account before the legs run, if anything.
    pub deposit: Option<U256>,
}

/// Reads the plan's bytes. `policy` must have reviewed the chain that was asked for: there are no facts without a review.
///
/// # Errors
/// By the name of the check that the bytes belong to: `erc20_allowance_reset_ordered` for the steps and the approvals,
/// `agg_targets_value_bound` for calldata that is not the canonical encoding of a reviewed swap function,
/// `agg_fee_recipient_exact` for a first leg that is no call of the reviewed fee forwarder,
/// `agg_fee_recipient_set_versioned` for a fee body that is not canonical.
pub fn decode(
    asked: SwapAsked,
    quoted: SwapQuoted,
    plan_chain_id: u64,
    steps: &[Step],
    policy: &FeePolicy,
    commitment: Commitment,
) -> Result<SwapFacts, Failure> {
    let mut steps = Steps::decode(steps)?;
    let chain = policy.chain(asked.chain_id).ok_or_else(|| {
        targets(Violation::new(
            "the chain is not reviewed",
            "a reviewed chain",
            asked.chain_id,
        ))
    })?;
    let data = std::mem::take(&mut steps.call.data);
    let call = swap_call(&data, chain)?;
    let Some((first, rest)) = call._swapData.split_first() else {
        return Err(targets(Violation::new(
            "the swap has no legs",
            "a fee leg and at least one exchange leg",
            0,
        )));
    };
    let fee_leg = fee_leg(first, chain)?;
    if rest.is_empty() {
        return Err(targets(Violation::new(
            "the swap has no exchange leg",
            "a fee leg and at least one exchange leg",
            "a fee leg",
        )));
    }
    let exchanged = checked_sum(
        rest.iter()
            .filter(|leg| leg.sendingAssetId == asked.from_token)
            .map(|leg| leg.fromAmount),
    );
    let legs = rest.iter().map(|leg| exchange_leg(leg, chain)).collect();
    Ok(SwapFacts {
        asked,
        quoted,
        plan_chain_id,
        reviewed: reviewed(policy, chain)?,
        steps,
        integrator: call._integrator,
        referrer: call._referrer,
        receiver: call._receiver,
        min_amount_out: call._minAmountOut,
        fee_leg,
        legs,
        exchanged,
        commitment,
    })
}

fn swap_call(
    data: &[u8],
    chain: &ReviewedChain,
) -> Result<swapTokensMultipleV3ERC20ToERC20Call, Failure> {
    let selector = Selector::from(swapTokensMultipleV3ERC20ToERC20Call::SELECTOR);
    if !chain.selectors.contains(&selector) {
        return Err(targets(Violation::new(
            "the router's function is not reviewed on this chain",
            "a reviewed function",
            selector,
        )));
    }
    calldata::decode_swap(data).map_err(|error| {
        targets(Violation::new(
            "the call is not the canonical encoding of the reviewed swap function",
            "swapTokensMultipleV3ERC20ToERC20",
            error,
        ))
    })
}

fn fee_leg(leg: &SwapData, chain: &ReviewedChain) -> Result<FeeLeg, Failure> {
    let refuse = |message, expected: &dyn std::fmt::Display, observed: &dyn std::fmt::Display| {
        Failure::new(
            checks::FEE_RECIPIENT,
            Violation::new(message, expected, observed),
        )
    };
    if leg.callTo != chain.forwarder {
        return Err(refuse(
            "the first leg does not call the reviewed fee forwarder",
            &chain.forwarder,
            &leg.callTo,
        ));
    }
    if !leg.callData.starts_with(&forwardERC20FeesCall::SELECTOR) {
        return Err(refuse(
            "the first leg calls another function of the fee forwarder",
            &Selector::from(forwardERC20FeesCall::SELECTOR),
            &crate::abi::selector_text(&leg.callData),
        ));
    }
    let fees = calldata::decode_fees(&leg.callData).map_err(|error| {
        Failure::new(
            checks::FEE_SET,
            Violation::new(
                "the fee leg is not the canonical encoding of its function",
                "forwardERC20Fees",
                error,
            ),
        )
    })?;
    Ok(FeeLeg {
        spender: leg.approveTo,
        sending: leg.sendingAssetId,
        receiving: leg.receivingAssetId,
        deposit: leg.requiresDeposit.then_some(leg.fromAmount),
        token: fees._token,
        distributions: fees
            ._distributions
            .iter()
            .map(|part| Distribution {
                recipient: part.recipient,
                amount: part.amount,
            })
            .collect(),
    })
}

fn exchange_leg(leg: &SwapData, chain: &ReviewedChain) -> ExchangeLeg {
    let selector = leg
        .callData
        .first_chunk::<4>()
        .map(|bytes| Selector::from(*bytes));
    let call_reviewed = selector.is_some_and(|selector| {
        chain
            .legs
            .iter()
            .any(|known| known.contract == leg.callTo && known.selectors.contains(&selector))
    });
    let spender_reviewed = leg.approveTo == leg.callTo
        || chain
            .legs
            .iter()
            .any(|known| known.contract == leg.approveTo);
    ExchangeLeg {
        target: leg.callTo,
        selector,
        call_reviewed,
        spender: leg.approveTo,
        spender_reviewed,
        sending: leg.sendingAssetId,
        receiving: leg.receivingAssetId,
        deposit: leg.requiresDeposit.then_some(leg.fromAmount),
    }
}

fn reviewed(policy: &FeePolicy, chain: &ReviewedChain) -> Result<ReviewedSwap, Failure> {
    let own = policy.own().ok_or_else(|| {
        Failure::new(
            checks::FEE_AMOUNT,
            Violation::new(
                "the configuration has no recipient of the service",
                format_args!("a recipient with the role {}", FeePolicy::OWN),
                "none",
            ),
        )
    })?;
    Ok(ReviewedSwap {
        integrator: policy.integrator.clone(),
        recipients: policy
            .recipients
            .iter()
            .map(|recipient| recipient.address)
            .collect(),
        own: own.address,
        own_share: own.bps,
        rounding: policy.rounding,
        aggregate_cap: policy.aggregate_cap,
        router: chain.router,
        forwarder: chain.forwarder,
    })
}

fn targets(violation: Violation) -> Failure {
    Failure::new(checks::TARGETS, violation)
}

fn checked_sum(amounts: impl IntoIterator<Item = U256>) -> Option<U256> {
    amounts.into_iter().try_fold(U256::ZERO, U256::checked_add)
}
