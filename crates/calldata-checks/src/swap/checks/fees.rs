//! The checks of the integrator, the fee's recipients and their amounts, against the reviewed
//! configuration.

use alloy_primitives::{Address, U256};

use super::{computed, same};
use crate::{
    Observed, Verdict, Violation,
    fees::FeeSplit,
    swap::{Distribution, SwapFacts},
};

/// The aggregator's text for no referrer.
const NO_REFERRER: &str = "0x0000000000000000000000000000000000000000";

pub(super) fn integrator_exact(facts: &SwapFacts) -> Verdict {
    let expected = &facts.reviewed.integrator;
    for (message, observed) in [
        ("the calldata carries another integrator", &facts.integrator),
        (
            "the quote is for another integrator",
            &facts.quoted.integrator,
        ),
    ] {
        if observed != expected {
            return Err(Violation::new(message, shown(expected), shown(observed)));
        }
    }
    if !facts.referrer.is_empty() && facts.referrer != NO_REFERRER {
        return Err(Violation::new(
            "the calldata carries a referrer",
            "none",
            shown(&facts.referrer),
        ));
    }
    Ok(Observed::from(shown(expected)))
}

pub(super) fn fee_recipient_exact(facts: &SwapFacts) -> Verdict {
    let reviewed = &facts.reviewed.recipients;
    for Distribution { recipient, .. } in facts.distributions() {
        if !reviewed.contains(recipient) {
            return Err(Violation::new(
                "a fee goes to an unrecognised recipient",
                "a recipient of the reviewed set",
                recipient,
            ));
        }
    }
    Ok(Observed::from(format!(
        "{} reviewed recipients",
        facts.distributions().len()
    )))
}

/// Judges the amounts only. [`fee_recipient_set_versioned`] judges whether the service's own
/// distribution is there, and there once.
pub(super) fn fee_amount_exact(facts: &SwapFacts) -> Verdict {
    let reviewed = &facts.reviewed;
    let gross = facts.asked.from_amount;
    let split = computed_split(facts)?;
    let own = share_of(facts, split, reviewed.own);
    for Distribution { recipient, amount } in facts.distributions() {
        let share = share_of(facts, split, *recipient);
        if *recipient == reviewed.own {
            same(
                "the service's own fee is not the configured one",
                share,
                *amount,
            )?;
        } else if *amount > share || (reviewed.rounding.shares_a_total() && *amount != share) {
            // A part of a shared total is exact: if one recipient took less, another one would take
            // more.
            let word = if reviewed.rounding.shares_a_total() {
                "exactly"
            } else {
                "at most"
            };
            return Err(Violation::new(
                "a recipient's fee is not within its configured share",
                format_args!("{word} {share} for {recipient}"),
                amount,
            ));
        }
    }
    Ok(Observed::from(format!(
        "{own} = {}({gross} * {} / 10000)",
        reviewed.rounding.as_str(),
        reviewed.own_share.get()
    )))
}

fn computed_split(facts: &SwapFacts) -> Result<&FeeSplit, Violation> {
    facts.reviewed.split.as_ref().ok_or_else(|| {
        Violation::new(
            "the service's share of the input",
            "a 256-bit number",
            "an overflow",
        )
    })
}

/// Returns a recipient's share of the input; zero for a stranger.
fn share_of(facts: &SwapFacts, split: &FeeSplit, recipient: Address) -> U256 {
    facts
        .reviewed
        .recipients
        .iter()
        .zip(&split.parts)
        .find(|(address, _)| **address == recipient)
        .map_or(U256::ZERO, |(_, share)| *share)
}

pub(super) fn fee_recipient_set_versioned(facts: &SwapFacts) -> Verdict {
    let distributions = facts.distributions();
    let split = computed_split(facts)?;
    let mut left_out: usize = 0;
    for (expected, share) in facts.reviewed.recipients.iter().zip(&split.parts) {
        let times = distributions
            .iter()
            .filter(|part| part.recipient == *expected)
            .count();
        // A recipient without a fee of this input may be left out: the aggregator names only those
        // that it pays.
        if times == 0 && share.is_zero() {
            left_out = left_out.saturating_add(1);
        } else if times != 1 {
            return Err(Violation::new(
                "a recipient of the reviewed set is missing or named twice",
                format_args!("{expected} once"),
                format_args!("{times} times"),
            ));
        }
        if let Some(part) = distributions
            .iter()
            .find(|part| part.recipient == *expected && part.amount.is_zero())
            && !share.is_zero()
        {
            return Err(Violation::new(
                "a recipient receives nothing",
                "an amount above zero for each recipient",
                part.recipient,
            ));
        }
    }
    // Each expected recipient is there once and no other one is. Equal lengths then show that the
    // reviewed set has no duplicates.
    same(
        "the fee body names another number of recipients than the reviewed set",
        facts.reviewed.recipients.len().saturating_sub(left_out),
        distributions.len(),
    )?;
    if let Some(at) = facts
        .legs
        .iter()
        .position(|leg| leg.target == facts.reviewed.forwarder)
    {
        return Err(Violation::new(
            "a second leg calls the fee forwarder",
            "one fee leg, the first",
            format_args!("leg {}", at.saturating_add(1)),
        ));
    }
    let named = format!("{} recipients, each once", distributions.len());
    Ok(Observed::from(match left_out {
        0 => named,
        left_out => format!("{named}; {left_out} due nothing"),
    }))
}

pub(super) fn fee_aggregate_cap(facts: &SwapFacts) -> Verdict {
    let cap = facts
        .reviewed
        .aggregate_cap
        .floor_of(facts.asked.from_amount);
    let cap = computed(cap, "the cap of the fees")?;
    let total = computed(facts.total_fees(), "the sum of the fees")?;
    if total > cap {
        return Err(Violation::new(
            "the fees exceed the configured cap",
            format_args!("at most {cap}"),
            total,
        ));
    }
    Ok(Observed::from(format!("{total} <= {cap}")))
}

/// Shows foreign text: quoted, escaped, and no longer than a line.
fn shown(text: &str) -> String {
    const LONGEST: usize = 64;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}
