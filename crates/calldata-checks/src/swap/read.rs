//! Reads [`SwapFacts`] from the plan's bytes. It decodes strictly and judges nothing but the form;
//! the checks of the rail judge the facts.

use alloy_primitives::{Selector, U256};
use alloy_sol_types::SolCall as _;

use super::{
    Distribution, ExchangeLeg, FeeLeg, ReviewedSwap, SwapAsked, SwapFacts, SwapQuoted,
    calldata::{self, SwapCall, SwapData, forwardERC20FeesCall},
    checks,
};
use crate::{Commitment, Failure, FeePolicy, Step, Steps, Violation, fees::ReviewedChain};

/// Reads the plan's bytes. `policy` must contain a review of the requested chain: without a review
/// there are no facts.
///
/// # Errors
/// A [`Failure`] with the name of the check that the bytes belong to:
/// `erc20_allowance_reset_ordered` for the steps and the approvals, `agg_targets_value_bound` for
/// calldata that is not the canonical encoding of a reviewed swap function,
/// `agg_fee_recipient_exact` for a first leg that does not call the reviewed fee forwarder although
/// a recipient is due a fee, `agg_fee_recipient_set_versioned` for a fee body that is not
/// canonical.
///
/// # Example
/// ```
/// use alloy_primitives::{B256, Bytes, Selector, U256, address};
/// use alloy_sol_types::SolCall as _;
/// use calldata_checks::swap::calldata::{
///     FeeDistribution, SwapData, forwardERC20FeesCall, swapTokensMultipleV3ERC20ToERC20Call,
/// };
/// use calldata_checks::swap::{self, SwapAsked, SwapQuoted};
/// use calldata_checks::{Commitment, DigestStanding, Step, StepKind, UtcSeconds, judge, step};
/// # use calldata_checks::fees::{
/// #     BasisPoints, BridgeCaps, FeeModel, FeePolicy, FeeRecipient, ReviewedChain, ReviewedLeg,
/// #     Rounding,
/// # };
///
/// # let recipient = |role: &str, address, bps| FeeRecipient {
/// #     role: role.to_owned(),
/// #     address,
/// #     bps: BasisPoints::new(bps).unwrap(),
/// # };
/// # let policy = FeePolicy {
/// #     version: "2026-11-01".to_owned(),
/// #     fee_model: FeeModel::ForwarderV2,
/// #     integrator: "svc".to_owned(),
/// #     aggregate_cap: BasisPoints::new(60).unwrap(),
/// #     rounding: Rounding::Floor,
/// #     recipients: vec![
/// #         recipient("own", address!("00000000000000000000000000000000000fee01"), 30),
/// #         recipient("aggregator", address!("C06ebbefD94032B85424D51906e2A335EFAe264B"), 25),
/// #     ],
/// #     chains: vec![ReviewedChain {
/// #         chain_id: 8453,
/// #         router: address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"),
/// #         forwarder: address!("CE40449B773a3E6E5e769ADb4e567179d4828cbd"),
/// #         selectors: vec![Selector::from([0x5f, 0xd9, 0xae, 0x2e])],
/// #         legs: vec![ReviewedLeg::new(
/// #             address!("AC4c6e212A361c968F1725b4d055b47E63F80b75"),
/// #             vec![Selector::from([0x5f, 0x3b, 0xd1, 0xc8])],
/// #         )],
/// #     }],
/// #     deny_tools: Vec::new(),
/// #     pm_builder_code: B256::ZERO,
/// #     pm_max_builder_fee: FeePolicy::PM_MAX_BUILDER_FEE,
/// #     perp_builder: None,
/// #     perp_max_trigger_slippage: BasisPoints::new(1_000).unwrap(),
/// #     perp_price_band: FeePolicy::PERP_PRICE_BAND,
/// #     perp_assets: Vec::new(),
/// #     bridge_caps: BridgeCaps::DEFAULT,
/// # };
/// # let now = UtcSeconds::from_unix(1_795_000_000);
/// # let account = address!("00000000000000000000000000000000000acc01");
/// # let (usdc, weth) = (
/// #     address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
/// #     address!("4200000000000000000000000000000000000006"),
/// # );
/// # let chain = policy.chains[0].clone();
/// # let (gross, fee) = (U256::from(1_000_000_007), U256::from(5_500_000));
/// # let (expected, least) = (U256::from(300_000_000_000_000_000_u64), U256::from(298_500_000_000_000_000_u64));
/// # let asked = SwapAsked {
/// #     account, account_chain_id: 8453, chain_id: 8453, from_token: usdc, to_token: weth,
/// #     from_amount: gross, max_slippage: BasisPoints::new(50).unwrap(), min_amount_out: None,
/// # };
/// # let quoted = SwapQuoted {
/// #     integrator: "svc".to_owned(), from_chain_id: 8453, to_chain_id: 8453, from_token: usdc,
/// #     to_token: weth, from_amount: gross, sender: account, receiver: account, to_amount: expected,
/// #     to_amount_min: least, approval_address: chain.router, call_to: chain.router,
/// #     call_from: Some(account), call_chain_id: 8453, call_value: U256::ZERO, from_usd: None,
/// #     to_usd: None, read_at: now,
/// # };
/// # let leg = |to, sending, receiving, amount, data: Bytes| SwapData {
/// #     callTo: to, approveTo: to, sendingAssetId: sending, receivingAssetId: receiving,
/// #     fromAmount: amount, callData: data, requiresDeposit: to == chain.forwarder,
/// # };
/// # let fees = forwardERC20FeesCall {
/// #     _token: usdc,
/// #     _distributions: vec![
/// #         FeeDistribution { recipient: policy.recipients[0].address, amount: U256::from(3_000_000) },
/// #         FeeDistribution { recipient: policy.recipients[1].address, amount: U256::from(2_500_000) },
/// #     ],
/// # };
/// # let exchange = chain.legs[0].contract;
/// # let exchange_data = Bytes::from_static(&[0x5f, 0x3b, 0xd1, 0xc8, 1]);
/// # let call = swapTokensMultipleV3ERC20ToERC20Call {
/// #     _transactionId: B256::repeat_byte(0x7a), _integrator: "svc".to_owned(),
/// #     _referrer: "0x0000000000000000000000000000000000000000".to_owned(), _receiver: account,
/// #     _minAmountOut: least,
/// #     _swapData: vec![
/// #         leg(chain.forwarder, usdc, usdc, gross, fees.abi_encode().into()),
/// #         leg(exchange, usdc, weth, gross - fee, exchange_data),
/// #     ],
/// # };
/// # let commitment = Commitment {
/// #     valid_until: now.saturating_add(300), now, digest: DigestStanding::Sealing,
/// # };
/// // `policy` is the example of `FeePolicy`; `call` comes from the quote.
/// let steps_of = |call: &swapTokensMultipleV3ERC20ToERC20Call| [
///     step::approval(StepKind::ApproveReset, usdc, chain.router, U256::ZERO),
///     step::approval(StepKind::Approve, usdc, chain.router, gross),
///     Step { kind: StepKind::Call, to: chain.router, value: U256::ZERO, data: call.abi_encode().into() },
/// ];
/// let read = |call: &_| swap::decode(asked, quoted.clone(), 8453, &steps_of(call), &policy, commitment);
/// let facts = read(&call)?;
/// assert_eq!((facts.receiver(), facts.total_fees()), (account, Some(fee)));
/// assert_eq!((facts.exchanged(), facts.left_in_router()), (gross - fee, Some(U256::ZERO)));
/// assert!(facts.legs().iter().all(|leg| leg.is_reviewed()));
/// assert_eq!(facts.price_impact(), None); // the quote states no values
/// assert_eq!(judge(&facts)?.assertions().len(), 12);
///
/// // The output goes to somebody else.
/// let hostile = swapTokensMultipleV3ERC20ToERC20Call { _receiver: exchange, ..call.clone() };
/// assert_eq!(judge(&read(&hostile)?).unwrap_err().check, "agg_receiver_account_bound");
/// # Ok::<(), calldata_checks::Failure>(())
/// ```
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
    })
}

fn targets(violation: Violation) -> Failure {
    Failure::new(checks::TARGETS, violation)
}
