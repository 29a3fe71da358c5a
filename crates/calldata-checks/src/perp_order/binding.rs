//! The checks that the plan is for the requested account, network and order. They compare the plan
//! and its decoded bytes with the request.

use alloy_primitives::Address;

use super::{
    PerpOrderFacts, Protection,
    action::{Order, OrderKind, Trigger},
    hash::MAINNET_SOURCE,
    plan::TriggerAsk,
};
use crate::{Observed, Verdict, Violation};

/// The kind of payload.
pub const KIND: &str = "hl_l1_action";
/// The endpoint that receives signed orders, on the main network.
pub const ENDPOINT: &str = "https://api.hyperliquid.xyz/exchange";

pub(super) fn account(facts: &PerpOrderFacts) -> Verdict {
    let (ask, plan) = (&facts.ask, &facts.plan);
    if ask.account.is_zero() || ask.vault == Some(Address::ZERO) {
        return Err(Violation::new(
            "the zero address has no account",
            "an address that someone signs for",
            Address::ZERO,
        ));
    }
    if plan.order_owner != ask.account {
        return Err(Violation::new(
            "the order is for another account",
            ask.account,
            plan.order_owner,
        ));
    }
    if plan.recipe.vault_address != ask.vault {
        let text = |vault: Option<Address>| vault.map_or("none".to_owned(), |v| v.to_string());
        return Err(Violation::new(
            "the order trades for another vault",
            text(ask.vault),
            text(plan.recipe.vault_address),
        ));
    }
    Ok(Observed::fixed(match ask.vault {
        None => "order owner is the account",
        Some(_) => "order owner is the account, trading for the requested vault",
    }))
}

pub(super) fn network(facts: &PerpOrderFacts) -> Verdict {
    let (plan, domain) = (&facts.plan, &facts.plan.recipe.domain);
    for (what, expected, observed) in [
        ("the payload is of another kind", KIND, &plan.kind),
        (
            "the endpoint is not that of the main network",
            ENDPOINT,
            &plan.endpoint,
        ),
        (
            "the source is not that of the main network",
            MAINNET_SOURCE,
            &plan.recipe.source,
        ),
        (
            "the signing domain has another name",
            "Exchange",
            &domain.name,
        ),
        (
            "the signing domain has another version",
            "1",
            &domain.version,
        ),
    ] {
        if observed != expected {
            return Err(Violation::new(what, expected, observed));
        }
    }
    if domain.chain_id != 1337 {
        return Err(Violation::new(
            "the signing domain has another chain id",
            1337,
            domain.chain_id,
        ));
    }
    if !domain.verifying_contract.is_zero() {
        return Err(Violation::new(
            "the signing domain names a contract",
            Address::ZERO,
            domain.verifying_contract,
        ));
    }
    Ok(Observed::fixed("mainnet, domain Exchange 1, chain id 1337"))
}

pub(super) fn order(facts: &PerpOrderFacts) -> Verdict {
    let (ask, entry) = (&facts.ask, &facts.action.entry);
    let tif = match entry.kind {
        OrderKind::Limit(tif) => tif.as_str(),
        OrderKind::Trigger(_) => "a trigger",
    };
    let differs = |what, expected: &dyn ToString, observed: &dyn ToString| {
        let (expected, observed) = (expected.to_string(), observed.to_string());
        if expected == observed {
            Ok(())
        } else {
            Err(Violation::new(what, expected, observed))
        }
    };
    differs(
        "the order is on another side",
        &ask.side.as_str(),
        &entry.side.as_str(),
    )?;
    differs("the order has another price", &ask.price, &entry.price)?;
    differs("the order has another size", &ask.size, &entry.size)?;
    differs(
        "the order has another time in force",
        &ask.tif.as_str(),
        &tif,
    )?;
    differs(
        "the order has another reduce-only",
        &ask.reduce_only,
        &entry.reduce_only,
    )?;
    for kind in Protection::ALL {
        let asked = match kind {
            Protection::TakeProfit => ask.take_profit,
            Protection::StopLoss => ask.stop_loss,
        };
        let found = triggers(facts).any(|(_, trigger)| trigger.kind == kind);
        if found != asked.is_some() {
            let text = |present| if present { "present" } else { "absent" };
            return Err(Violation::new(
                format!("the {} is not as requested", kind.as_str()),
                text(asked.is_some()),
                text(found),
            ));
        }
        for (child, trigger) in triggers(facts).filter(|(_, trigger)| trigger.kind == kind) {
            let observed = TriggerAsk {
                trigger_price: trigger.price,
                limit_price: (!trigger.is_market).then_some(child.price),
            };
            if let Some(asked) = asked.filter(|asked| *asked != observed) {
                return Err(Violation::new(
                    format!("the {} is not as requested", kind.as_str()),
                    describe(&asked),
                    describe(&observed),
                ));
            }
        }
    }
    if let Some(extra) = facts
        .action
        .children
        .iter()
        .find(|child| child.trigger().is_none())
    {
        return Err(Violation::new(
            "the action has an order that was not asked for",
            "one plain order",
            format_args!(
                "another: {} {} at {}",
                extra.side.as_str(),
                extra.size,
                extra.price
            ),
        ));
    }
    let (side, size, price) = (entry.side.as_str(), entry.size, entry.price);
    Ok(Observed::from(format!("{side} {size} at {price} {tif}")))
}

pub(super) fn cloid(facts: &PerpOrderFacts) -> Verdict {
    let text =
        |cloid: Option<alloy_primitives::B128>| cloid.map_or("none".to_owned(), |c| c.to_string());
    let (asked, entry) = (facts.ask.cloid, facts.action.entry.cloid);
    if asked != entry {
        return Err(Violation::new(
            "the order has another client order id",
            text(asked),
            text(entry),
        ));
    }
    if let Some(child) = facts
        .action
        .children
        .iter()
        .find(|child| child.cloid.is_some())
    {
        return Err(Violation::new(
            "a trigger carries a client order id",
            "none",
            text(child.cloid),
        ));
    }
    Ok(asked.map_or(Observed::fixed("none"), |cloid| {
        Observed::from(cloid.to_string())
    }))
}

/// Iterates over the children that are triggers.
pub(super) fn triggers(facts: &PerpOrderFacts) -> impl Iterator<Item = (&Order, &Trigger)> {
    facts
        .action
        .children
        .iter()
        .filter_map(|child| Some((child, child.trigger()?)))
}

fn describe(ask: &TriggerAsk) -> String {
    let trigger = ask.trigger_price;
    ask.limit_price.map_or_else(
        || format!("market at {trigger}"),
        |limit| format!("limit {limit} at {trigger}"),
    )
}
