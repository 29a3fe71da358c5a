//! Who integrates, who is paid, and how much.

use super::{computed, same};
use crate::{
    Observed, Verdict, Violation,
    swap::{Distribution, SwapFacts},
};

/// What the aggregator writes when there is no referrer.
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
    for Distribution { recipient, .. } in &facts.fee_leg.distributions {
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
        facts.fee_leg.distributions.len()
    )))
}

/// Whether there is such a distribution at all, and only one, is [`fee_recipient_set_versioned`]'s to say.
pub(super) fn fee_amount_exact(facts: &SwapFacts) -> Verdict {
    let reviewed = &facts.reviewed;
    let gross = facts.asked.from_amount;
    let share = reviewed.rounding.share(gross, reviewed.own_share);
    let share = computed(share, "the service's share of the input")?;
    for Distribution { recipient, amount } in &facts.fee_leg.distributions {
        if *recipient == reviewed.own {
            same(
                "the service's own fee is not the configured one",
                share,
                *amount,
            )?;
        }
    }
    Ok(Observed::from(format!(
        "{share} = {}({gross} * {} / 10000)",
        reviewed.rounding.as_str(),
        reviewed.own_share.get()
    )))
}

pub(super) fn fee_recipient_set_versioned(facts: &SwapFacts) -> Verdict {
    let distributions = &facts.fee_leg.distributions;
    for expected in &facts.reviewed.recipients {
        let times = distributions
            .iter()
            .filter(|part| part.recipient == *expected)
            .count();
        if times != 1 {
            return Err(Violation::new(
                "a recipient of the reviewed set is missing or named twice",
                format_args!("{expected} once"),
                format_args!("{times} times"),
            ));
        }
    }
    // Each expected recipient is there once and no other one is: the lengths tell whether the set itself is one.
    same(
        "the fee body names another number of recipients than the reviewed set",
        facts.reviewed.recipients.len(),
        distributions.len(),
    )?;
    if let Some(part) = distributions.iter().find(|part| part.amount.is_zero()) {
        return Err(Violation::new(
            "a recipient receives nothing",
            "an amount above zero for each recipient",
            part.recipient,
        ));
    }
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
    Ok(Observed::from(format!(
        "{} recipients, each once",
        distributions.len()
    )))
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

/// Foreign text: quoted, escaped, and no longer than a line.
fn shown(text: &str) -> String {
    const LONGEST: usize = 64;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}
