//! The checks of account, amounts, tokens, chains and contracts. Prices and fees have their own
//! modules beside this one.

use alloy_primitives::{Address, U256};

use super::{computed, same};
use crate::{
    Observed, Verdict, Violation,
    fees::Rounding,
    swap::{SwapFacts, checked_sum},
};

pub(super) fn receiver_account_bound(facts: &SwapFacts) -> Verdict {
    let asked = &facts.asked;
    let account = asked.account;
    let reviewed = &facts.reviewed;
    if account.is_zero()
        || [
            reviewed.router,
            reviewed.forwarder,
            asked.from_token,
            asked.to_token,
        ]
        .contains(&account)
    {
        return Err(Violation::new(
            "the account is a contract of the swap itself",
            "an account of the caller",
            account,
        ));
    }
    same(
        "the calldata names another receiver",
        account,
        facts.receiver,
    )?;
    same(
        "the quote names another sender",
        account,
        facts.quoted.sender,
    )?;
    same(
        "the quote names another receiver",
        account,
        facts.quoted.receiver,
    )?;
    if let Some(from) = facts.quoted.call_from {
        same("the quote's transaction has another sender", account, from)?;
    }
    same(
        "the account is on another chain than the swap",
        asked.chain_id,
        asked.account_chain_id,
    )?;
    Ok(Observed::fixed(
        "receiver = quoted sender = quoted receiver = account",
    ))
}

pub(super) fn min_out_slippage_bound(facts: &SwapFacts) -> Verdict {
    let (asked, quoted, minimum) = (&facts.asked, &facts.quoted, facts.min_amount_out);
    same(
        "the minimum output in the calldata is not the quoted one",
        quoted.to_amount_min,
        minimum,
    )?;
    let floor = asked.max_slippage.floor_of_rest(quoted.to_amount);
    let floor = computed(floor, "the slippage floor")?;
    let at_least = |message, least: U256| {
        if minimum < least {
            return Err(Violation::new(
                message,
                format_args!("at least {least}"),
                minimum,
            ));
        }
        Ok(())
    };
    at_least("the minimum output is below the slippage floor", floor)?;
    if let Some(least) = asked.min_amount_out {
        at_least("the minimum output is below minAmountOut", least)?;
    }
    at_least("the minimum output is zero", U256::ONE)?;
    if minimum > quoted.to_amount {
        return Err(Violation::new(
            "the minimum output is above the expected one: the swap would revert",
            format_args!("at most {}", quoted.to_amount),
            minimum,
        ));
    }
    let observed = Observed::from(format!("{minimum} >= {floor}"));
    Ok(match asked.min_amount_out {
        Some(_) => observed,
        // Whoever writes the quote writes its minimum.
        None => observed.by_readings("the quoted output"),
    })
}

pub(super) fn token_amount_bound(facts: &SwapFacts) -> Verdict {
    quote_as_asked(facts)?;
    let asked = &facts.asked;
    let (from, gross) = (asked.from_token, asked.from_amount);
    same(
        "the approved token is not the input token",
        from,
        facts.steps.approve.token,
    )?;
    same(
        "the approved amount is not the input amount",
        gross,
        facts.steps.approve.amount,
    )?;

    if let Some(fee) = &facts.fee_leg {
        same("the fee leg starts from another token", from, fee.sending)?;
        same("the fee leg ends in another token", from, fee.receiving)?;
        same("the fee is distributed in another token", from, fee.token)?;
        if fee.deposit != Some(gross) {
            return Err(Violation::new(
                "the fee leg does not deposit the input amount",
                gross,
                fee.deposit
                    .map_or_else(|| "no deposit".to_owned(), |amount| amount.to_string()),
            ));
        }
    }
    for leg in &facts.legs {
        if leg.deposit.is_some() {
            same("a leg deposits another token", from, leg.sending)?;
        }
    }
    let deposits = checked_sum(
        std::iter::once(facts.fee_leg.as_ref().and_then(|fee| fee.deposit))
            .chain(facts.legs.iter().map(|leg| leg.deposit))
            .flatten(),
    );
    same(
        "the deposits do not total the input amount",
        gross,
        computed(deposits, "the sum of the deposits")?,
    )?;
    same(
        "the exchange legs do not start from the input less the fees",
        computed(net_input(facts), "the input less the fees")?,
        facts.exchanged,
    )?;
    legs_connect(facts)?;
    Ok(Observed::from(format!(
        "one deposit of {gross}; exchange legs: {}",
        facts.legs.len()
    )))
}

/// Computes the amount that the exchange legs start from. Where the parts are floors of a shared
/// total, the total leaves the input, and the rest of the parts stays in the router.
fn net_input(facts: &SwapFacts) -> Option<U256> {
    let gross = facts.asked.from_amount;
    match (facts.reviewed.rounding, &facts.reviewed.split) {
        (Rounding::SharedFloor, Some(split)) => gross.checked_sub(split.total),
        _ => gross.checked_sub(facts.total_fees()?),
    }
}

/// Checks that the quote and the plan are for the chain, the tokens and the amount of the request.
fn quote_as_asked(facts: &SwapFacts) -> Result<(), Violation> {
    let (asked, quoted) = (&facts.asked, &facts.quoted);
    if asked.from_token == asked.to_token {
        return Err(Violation::new(
            "the two tokens are the same",
            "two tokens",
            asked.to_token,
        ));
    }
    for (message, observed) in [
        ("the plan is for another chain", facts.plan_chain_id),
        ("the quote starts on another chain", quoted.from_chain_id),
        ("the quote ends on another chain", quoted.to_chain_id),
        (
            "the quote's transaction is for another chain",
            quoted.call_chain_id,
        ),
    ] {
        same(message, asked.chain_id, observed)?;
    }
    same(
        "the quote is for another input token",
        asked.from_token,
        quoted.from_token,
    )?;
    same(
        "the quote is for another output token",
        asked.to_token,
        quoted.to_token,
    )?;
    same(
        "the quote is for another amount",
        asked.from_amount,
        quoted.from_amount,
    )
}

/// Checks the order of the legs. The first leg starts from the input token, each further one from
/// the token that the leg before it ended in, and only the last one ends in the output token. After
/// a leg the router returns the rest of its token, so a second leg from it would fail.
fn legs_connect(facts: &SwapFacts) -> Result<(), Violation> {
    let (input, output) = (facts.asked.from_token, facts.asked.to_token);
    let mut held = input;
    let mut legs = facts.legs.iter().peekable();
    while let Some(leg) = legs.next() {
        if leg.sending == leg.receiving {
            return Err(Violation::new(
                "an exchange leg ends in the token that it starts from",
                "another token",
                leg.receiving,
            ));
        }
        if leg.sending != held {
            let message = if leg.sending == input {
                "a second leg spends the input token"
            } else {
                "a leg starts from another token than the leg before it ended in"
            };
            return Err(Violation::new(message, held, leg.sending));
        }
        if legs.peek().is_none() {
            return same("the last leg ends in another token", output, leg.receiving);
        }
        for (message, token) in [
            ("a leg before the last one ends in the output token", output),
            ("a leg ends in the input token", input),
        ] {
            if leg.receiving == token {
                return Err(Violation::new(message, "an intermediate token", token));
            }
        }
        held = leg.receiving;
    }
    Err(Violation::new(
        "there is no exchange leg",
        "at least one",
        0,
    ))
}

pub(super) fn targets_value_bound(facts: &SwapFacts) -> Verdict {
    let (steps, quoted, router) = (&facts.steps, &facts.quoted, facts.reviewed.router);
    for (message, observed) in [
        (
            "the first approval is for another spender",
            steps.reset.spender,
        ),
        (
            "the second approval is for another spender",
            steps.approve.spender,
        ),
        ("the quote names another spender", quoted.approval_address),
        ("the call goes to another contract", steps.call.to),
        ("the quote names another contract", quoted.call_to),
    ] {
        same(message, router, observed)?;
    }
    for (message, observed) in [
        ("the first approval carries native coin", steps.reset.value),
        (
            "the second approval carries native coin",
            steps.approve.value,
        ),
        ("the call carries native coin", steps.call.value),
        (
            "the quote's transaction carries native coin",
            quoted.call_value,
        ),
    ] {
        same(message, U256::ZERO, observed)?;
    }
    if let Some(fee) = &facts.fee_leg {
        same(
            "the fee leg lets another contract spend",
            facts.reviewed.forwarder,
            fee.spender,
        )?;
    }
    leg_targets(facts)?;
    Ok(Observed::from(format!(
        "spender = target = router; value 0; reviewed legs: {}",
        facts.legs.len()
    )))
}

fn leg_targets(facts: &SwapFacts) -> Result<(), Violation> {
    let asked = &facts.asked;
    for leg in &facts.legs {
        let of_the_swap: [Address; 6] = [
            facts.reviewed.router,
            asked.account,
            asked.from_token,
            asked.to_token,
            leg.sending,
            leg.receiving,
        ];
        if of_the_swap.contains(&leg.target) {
            return Err(Violation::new(
                "a leg calls the router, a token or the account",
                "an exchange",
                leg.target,
            ));
        }
        let Some(review) = &leg.review else {
            return Err(Violation::new(
                "a leg calls a contract or function that is not reviewed",
                "a reviewed contract and function",
                format_args!(
                    "{} {}",
                    leg.target,
                    leg.selector
                        .map_or_else(|| "none".to_owned(), |s| s.to_string())
                ),
            ));
        };
        if !leg.has_arguments {
            return Err(Violation::new(
                "a leg's call has no arguments: the router refuses it",
                "more than four bytes",
                format_args!("{} only", review.contract),
            ));
        }
        if review.spender != leg.spender {
            return Err(Violation::new(
                "a leg lets a contract spend that is not its reviewed spender",
                review.spender,
                leg.spender,
            ));
        }
    }
    Ok(())
}

/// Checks that the plan is current, and does not outlive a quote that market makers may have signed
/// in part.
pub(super) fn artifact_expiry(facts: &SwapFacts) -> Verdict {
    let observed = facts.commitment.judge_expiry()?;
    let lives = facts.legs.iter().filter_map(|leg| leg.review.as_ref());
    for life in lives.filter_map(|review| review.max_life_seconds) {
        let latest = facts.quoted.read_at.saturating_add(life);
        if facts.commitment.valid_until > latest {
            return Err(Violation::new(
                "the plan outlives the quote of one of its exchanges",
                format_args!("an end until {latest}"),
                facts.commitment.valid_until,
            ));
        }
    }
    Ok(observed)
}
