//! The checks of take-profit and stop-loss: they may only close the entry's position, at the
//! requested prices, and on the right side of the entry and the mark price.

use alloy_primitives::U256;

use super::{
    PerpOrderFacts,
    action::{Grouping, Order, Protection, Side, Trigger},
    binding::triggers,
    numbers::{MARK, worst_price},
};
use crate::{BasisPoints, Decimal, Observed, Verdict, Violation};

const NONE: Observed = Observed::fixed("no triggers");

pub(super) fn reduce_only(facts: &PerpOrderFacts) -> Verdict {
    let entry = &facts.action.entry;
    if entry.trigger().is_some() {
        return Err(Violation::new(
            "the entry is a trigger",
            "a plain order",
            "a trigger",
        ));
    }
    for (child, trigger) in triggers(facts) {
        let name = trigger.kind.as_str();
        if !child.reduce_only {
            return Err(Violation::new(
                format!("the {name} could open a position"),
                "reduce-only",
                "not reduce-only",
            ));
        }
        if child.side != entry.side.opposite() {
            return Err(Violation::new(
                format!("the {name} is on the side of the entry"),
                entry.side.opposite().as_str(),
                child.side.as_str(),
            ));
        }
        if entry.reduce_only {
            return Err(Violation::new(
                format!("the {name} protects an entry that opens nothing"),
                "an entry that is not reduce-only",
                "reduce-only",
            ));
        }
    }
    Ok(counted(facts, "reduce-only, opposite side"))
}

pub(super) fn direction(facts: &PerpOrderFacts) -> Verdict {
    for kind in Protection::ALL {
        let count = triggers(facts)
            .filter(|(_, trigger)| trigger.kind == kind)
            .count();
        if count > 1 {
            return Err(Violation::new(
                format!("more than one {}", kind.as_str()),
                "at most 1",
                count,
            ));
        }
    }
    let entry = &facts.action.entry;
    for (_, trigger) in triggers(facts) {
        beyond(entry.side, trigger, "the entry's price", entry.price)?;
        let mark = facts.plan.venue.mark_price.ok_or_else(|| {
            Violation::new(
                "without a mark price it is unknown whether a trigger fires at once",
                "a mark price",
                "none",
            )
        })?;
        // A take-profit waits for its entry. Where the entry rests beyond the mark price, the mark
        // must reach it first and is then on the near side of the trigger, so the trigger may lie
        // between the two.
        if trigger.kind == Protection::TakeProfit && rests(entry, mark) {
            continue;
        }
        beyond(entry.side, trigger, "the mark price", mark)?;
    }
    let observed = counted(facts, "beyond entry and mark");
    Ok(if facts.action.children.is_empty() {
        observed
    } else {
        observed.by_readings(MARK)
    })
}

/// Returns whether an entry waits for the mark price to reach it.
fn rests(entry: &Order, mark: Decimal) -> bool {
    match entry.side {
        Side::Buy => entry.price < mark,
        Side::Sell => entry.price > mark,
    }
}

pub(super) fn size(facts: &PerpOrderFacts) -> Verdict {
    let entry = facts.action.entry.size;
    match facts
        .action
        .children
        .iter()
        .find(|child| child.size != entry)
    {
        Some(child) => Err(Violation::new(
            "a trigger has another size than the entry",
            entry,
            child.size,
        )),
        None => Ok(counted(facts, "the entry's size")),
    }
}

pub(super) fn limit(facts: &PerpOrderFacts) -> Verdict {
    let tolerance = facts.max_trigger_slippage;
    let decimals = facts.plan.venue.size_decimals;
    for (child, trigger) in triggers(facts) {
        let executable = match child.side {
            Side::Sell => child.price <= trigger.price,
            Side::Buy => child.price >= trigger.price,
        };
        if !executable {
            return Err(Violation::new(
                "a trigger's limit price is beyond its trigger price",
                match child.side {
                    Side::Sell => format!("at most {}", trigger.price),
                    Side::Buy => format!("at least {}", trigger.price),
                },
                child.price,
            ));
        }
        if !within(child.side, child.price, trigger.price, tolerance).unwrap_or(false) {
            return Err(Violation::new(
                "a trigger's limit price is too far from its trigger price",
                format_args!("within {} bps of {}", tolerance.get(), trigger.price),
                child.price,
            ));
        }
        let worst = || worst_price(child.side, trigger.price, tolerance, decimals);
        if trigger.is_market && worst() != Some(child.price) {
            return Err(Violation::new(
                "a market trigger's limit price is not the worst within the tolerance",
                worst().map_or_else(
                    || "a price of at most 36 digits".to_owned(),
                    |price| price.to_string(),
                ),
                child.price,
            ));
        }
    }
    let observed = counted(facts, "within the tolerance");
    // The worst price within the tolerance depends on the asset's tick.
    Ok(if triggers(facts).any(|(_, trigger)| trigger.is_market) {
        facts.by_asset(observed)
    } else {
        observed
    })
}

pub(super) fn grouping(facts: &PerpOrderFacts) -> Verdict {
    let expected = if facts.action.children.is_empty() {
        Grouping::Na
    } else {
        Grouping::NormalTpsl
    };
    let observed = facts.action.grouping;
    if observed == expected {
        return Ok(Observed::fixed(observed.as_str()));
    }
    Err(Violation::new(
        "another grouping",
        expected.as_str(),
        observed.as_str(),
    ))
}

/// Checks that the trigger is on its side of a price: a long's take-profit above and its stop-loss
/// below, a short's the other way round. Neither may equal it.
fn beyond(
    entry: Side,
    trigger: &Trigger,
    what: &'static str,
    price: Decimal,
) -> Result<(), Violation> {
    let above = (entry == Side::Buy) == (trigger.kind == Protection::TakeProfit);
    let holds = if above {
        trigger.price > price
    } else {
        trigger.price < price
    };
    if holds {
        return Ok(());
    }
    let side = if above { "above" } else { "below" };
    Err(Violation::new(
        format!(
            "the {} is on the wrong side of {what}",
            trigger.kind.as_str()
        ),
        format_args!("{side} {price}"),
        trigger.price,
    ))
}

/// Returns whether a limit price is at most `tolerance` worse than its trigger price. `None` past
/// 256 bits.
fn within(side: Side, price: Decimal, trigger: Decimal, tolerance: BasisPoints) -> Option<bool> {
    let scale = price.scale().max(trigger.scale());
    let whole = BasisPoints::MAX.get();
    let scaled = price.atoms(scale)?.checked_mul(U256::from(whole))?;
    let bound = |share: u16| trigger.atoms(scale)?.checked_mul(U256::from(share));
    Some(match side {
        Side::Sell => scaled >= bound(whole.checked_sub(tolerance.get())?)?,
        Side::Buy => scaled <= bound(whole.checked_add(tolerance.get())?)?,
    })
}

fn counted(facts: &PerpOrderFacts, what: &'static str) -> Observed {
    match facts.action.children.len() {
        0 => NONE,
        count => Observed::from(format!("{count} of {count}: {what}")),
    }
}
