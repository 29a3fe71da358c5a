//! From the plan's bytes to [`SwapFacts`].

use alloy_primitives::{Selector, U256};
use alloy_sol_types::SolCall as _;

use super::{
    Distribution, ExchangeLeg, FeeLeg, ReviewedSwap, SwapAsked, SwapFacts, SwapQuoted,
    calldata::{self, SwapCall, SwapData, forwardERC20FeesCall},
    checks,
};
use crate::{Commitment, Failure, FeePolicy, Step, Steps, Violation, fees::ReviewedChain};

/// Reads the plan's bytes. `policy` must have reviewed the chain that was asked for: there are no
/// facts without a review.
///
/// # Errors
/// By the name of the check that the bytes belong to: `erc20_allowance_reset_ordered` for the steps
/// and the approvals, `agg_targets_value_bound` for calldata that is not the canonical encoding of
/// a reviewed swap function, `agg_fee_recipient_exact` for a first leg that is no call of the
/// reviewed fee forwarder although somebody is due a fee, `agg_fee_recipient_set_versioned` for a
/// fee body that is not canonical.
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
    let reviewed = reviewed(policy, chain, asked.from_amount)?;
    let SwapCall {
        integrator,
        referrer,
        receiver,
        min_amount_out,
        legs,
    } = call;
    let Some((first, rest)) = legs.split_first() else {
        return Err(targets(Violation::new(
            "the swap has no legs",
            "a fee leg and at least one exchange leg",
            0,
        )));
    };
    let free = reviewed
        .split
        .as_ref()
        .is_some_and(|split| split.total.is_zero());
    let (fee_leg, exchanges) = if free && first.callTo != chain.forwarder {
        (None, legs.as_slice())
    } else {
        (Some(fee_leg(first, chain)?), rest)
    };
    let Some(first) = exchanges.first() else {
        return Err(targets(Violation::new(
            "the swap has no exchange leg",
            "a fee leg and at least one exchange leg",
            "a fee leg",
        )));
    };
    Ok(SwapFacts {
        asked,
        quoted,
        plan_chain_id,
        steps,
        integrator,
        referrer,
        receiver,
        min_amount_out,
        fee_leg,
        exchanged: first.fromAmount,
        legs: exchanges
            .iter()
            .map(|leg| exchange_leg(leg, chain))
            .collect(),
        reviewed,
        commitment,
    })
}

fn swap_call(data: &[u8], chain: &ReviewedChain) -> Result<SwapCall, Failure> {
    let selector = calldata::IMPLEMENTED
        .into_iter()
        .find(|selector| data.starts_with(selector.as_slice()));
    if let Some(selector) = selector.or_else(|| calldata::IMPLEMENTED.first().copied())
        && !chain.selectors.contains(&selector)
    {
        return Err(targets(Violation::new(
            "the router's function is not reviewed on this chain",
            "a reviewed function",
            selector,
        )));
    }
    SwapCall::decode(data).map_err(|error| {
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
    let review = selector.and_then(|selector| chain.leg(leg.callTo, selector, leg.approveTo));
    ExchangeLeg {
        target: leg.callTo,
        selector,
        has_arguments: leg.callData.len() > 4,
        review: review.cloned(),
        spender: leg.approveTo,
        sending: leg.sendingAssetId,
        receiving: leg.receivingAssetId,
        deposit: leg.requiresDeposit.then_some(leg.fromAmount),
    }
}

fn reviewed(
    policy: &FeePolicy,
    chain: &ReviewedChain,
    gross: U256,
) -> Result<ReviewedSwap, Failure> {
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
        split: policy.split(gross),
        aggregate_cap: policy.aggregate_cap,
        router: chain.router,
        forwarder: chain.forwarder,
        price: policy.swap.clone(),
    })
}

fn targets(violation: Violation) -> Failure {
    Failure::new(checks::TARGETS, violation)
}
