//! The rules of the fence, each under its own name.
//!
//! They judge the facts of a verified plan against the policy that the holder signed. They do not
//! read the plan's own statements about itself.

use alloy_primitives::{Address, B256, U256};

use super::{PLAN_ACCOUNT, PlanFacts};
use crate::{ActiveGrant, Now, Policy, Refusal, Rule, refusal::same};

/// Whether a plan lies inside a policy. The verifier has judged much of it by the reviewed fee
/// configuration; the fence judges it again by the policy that the holder signed, so that no
/// configuration can widen what was permitted.
///
/// # Errors
/// The first rule that does not hold: `fence_chain`, `fence_account`, `fence_fee_version`,
/// `fence_integrator`, `fence_input_token`, `fence_spender`, `fence_router`, `fence_native_value`,
/// `fence_shape`, `fence_receiver`, `fence_output_token`, `fence_min_out`, `fence_approve_cap`,
/// `fence_deposit_cap`, `fence_quote_cap`, `fence_amounts_differ`
pub fn judge_plan(
    policy: &Policy,
    account: Address,
    cap: U256,
    facts: &PlanFacts,
) -> Result<(), Refusal> {
    judge_origin(policy, account, facts)?;
    judge_targets(policy, facts)?;
    judge_output(policy, account, facts)?;
    judge_amounts(cap, facts)
}

fn judge_origin(policy: &Policy, account: Address, facts: &PlanFacts) -> Result<(), Refusal> {
    same(
        Rule::FenceChain,
        "the plan is for another chain",
        policy.chain_id(),
        facts.chain_id,
    )?;
    same(
        Rule::FenceAccount,
        "the plan is for another account than the grant",
        account,
        facts.account,
    )?;
    if facts.account_kind != PLAN_ACCOUNT {
        return Err(Refusal::new(
            Rule::FenceAccount,
            "the plan is for an account of another kind",
            "eoa",
            "safe",
        ));
    }
    same(
        Rule::FenceFeeVersion,
        "the plan is by other fees than the policy names",
        policy.fee_config_version(),
        facts.fee_version.as_str(),
    )?;
    policy.integrator().map_or(Ok(()), |integrator| {
        same(
            Rule::FenceIntegrator,
            "the plan carries another integrator",
            integrator,
            facts.integrator.as_str(),
        )
    })
}

fn judge_targets(policy: &Policy, facts: &PlanFacts) -> Result<(), Refusal> {
    let token = |message, observed| {
        same(
            Rule::FenceInputToken,
            message,
            policy.input_token(),
            observed,
        )
    };
    token("the plan spends another token", facts.input_token)?;
    token("another token's allowance is cleared", facts.reset.token)?;
    token("another token is approved", facts.approve.token)?;
    for (deposited, _) in &facts.deposits {
        token("another token is deposited", *deposited)?;
    }
    for allowance in [&facts.reset, &facts.approve] {
        same(
            Rule::FenceSpender,
            "somebody other than the router is approved",
            policy.router(),
            allowance.spender,
        )?;
    }
    same(
        Rule::FenceRouter,
        "the call goes elsewhere than to the router",
        policy.router(),
        facts.call_to,
    )?;
    for value in [facts.reset.value, facts.approve.value, facts.call_value] {
        same(
            Rule::FenceNativeValue,
            "a step carries native coin",
            U256::ZERO,
            value,
        )?;
    }
    if facts
        .selector
        .is_some_and(|selector| policy.has_shape(selector))
    {
        return Ok(());
    }
    let shapes: Vec<_> = policy
        .shapes()
        .iter()
        .map(|shape| shape.selector.to_string())
        .collect();
    let observed = facts
        .selector
        .map_or_else(|| "none".to_owned(), |s| s.to_string());
    Err(Refusal::new(
        Rule::FenceShape,
        "the call has none of the policy's shapes",
        shapes.join(", "),
        observed,
    ))
}

fn judge_output(policy: &Policy, account: Address, facts: &PlanFacts) -> Result<(), Refusal> {
    same(
        Rule::FenceReceiver,
        "the router pays somebody other than the account",
        account,
        facts.receiver,
    )?;
    if facts.output_token == facts.input_token {
        return Err(Refusal::new(
            Rule::FenceOutputToken,
            "the output is the input token",
            "another token",
            facts.output_token,
        ));
    }
    let listed = policy.output_tokens();
    if !listed
        .iter()
        .any(|token| token.address == facts.output_token)
    {
        let symbols: Vec<_> = listed.into_iter().map(|token| token.symbol).collect();
        return Err(Refusal::new(
            Rule::FenceOutputToken,
            "the swap ends in a token that the policy does not list",
            format_args!("output_tokens of the policy: {}", symbols.join(", ")),
            facts.output_token,
        ));
    }
    if facts.min_amount_out.is_zero() {
        return Err(Refusal::new(
            Rule::FenceMinOut,
            "the calldata guarantees no output",
            "above zero",
            0,
        ));
    }
    Ok(())
}

fn judge_amounts(cap: U256, facts: &PlanFacts) -> Result<(), Refusal> {
    let within = |rule, message, amount: Option<U256>| match amount {
        Some(amount) if amount <= cap => Ok(amount),
        Some(amount) => Err(Refusal::new(
            rule,
            message,
            format_args!("at most {cap}"),
            amount,
        )),
        None => Err(Refusal::new(
            rule,
            message,
            format_args!("at most {cap}"),
            "more than 2^256",
        )),
    };
    let approved = within(
        Rule::FenceApproveCap,
        "the approved amount is above the cap",
        Some(facts.approve.amount),
    )?;
    let deposited = within(
        Rule::FenceDepositCap,
        "the deposits together are above the cap",
        facts.deposited(),
    )?;
    let quoted = within(
        Rule::FenceQuoteCap,
        "the quoted input is above the cap",
        Some(facts.quoted),
    )?;
    let cleared = facts.reset.amount.is_zero();
    if cleared && approved == deposited && approved == quoted && !approved.is_zero() {
        return Ok(());
    }
    Err(Refusal::new(
        Rule::FenceAmountsDiffer,
        "the plan does not clear the allowance, then approve, deposit and quote one amount",
        format_args!("0, then {quoted} in all three"),
        format_args!(
            "cleared to {}, approved {approved}, deposited {deposited}, quoted {quoted}",
            facts.reset.amount
        ),
    ))
}

const DAY: u64 = 86_400;

/// Checks the holder's additional limits: a number of swaps, and the outflow of any 24 hours.
pub(super) fn judge_limits(
    active: &ActiveGrant<'_>,
    payload_digest: B256,
    amount: U256,
    now: Now,
) -> Result<(), Refusal> {
    // The plan itself is counted when its third step is signed; a later repetition does not count
    // it twice.
    let others = || {
        active
            .uses()
            .iter()
            .filter(|used| used.payload_digest != payload_digest)
    };
    let tightest = active.tightest();
    if let Some(most) = tightest.max_swaps {
        let used = others().count();
        if !u64::try_from(used).is_ok_and(|used| used < most) {
            return Err(Refusal::new(
                Rule::LimitSwapsUsed,
                "as many swaps as the holder allowed were signed",
                format_args!("fewer than {most}"),
                used,
            ));
        }
    }
    if let Some(most) = tightest.outflow_24h {
        // The earlier clock reaches furthest back.
        let since = now.earliest().unix().saturating_sub(DAY);
        let outflow = others()
            .filter(|used| used.signed_at.unix() > since)
            .try_fold(amount, |sum, used| sum.checked_add(used.amount));
        if outflow.is_none_or(|outflow| outflow > most) {
            return Err(Refusal::new(
                Rule::LimitOutflow,
                "the swap would bring the outflow of 24 hours above the holder's limit",
                format_args!("at most {most}"),
                outflow.map_or_else(|| "more than 2^256".to_owned(), |sum| sum.to_string()),
            ));
        }
    }
    Ok(())
}
