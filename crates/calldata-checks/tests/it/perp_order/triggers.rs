//! Take-profit and stop-loss: the allowed forms, and the refusals.

use calldata_checks::perp_order::{TriggerAsk, WireOrderKind};

use crate::perp_order::draft::{Draft, decimal, limit, trigger};

/// Sets a trigger price, in the request and on the wire.
fn set_trigger(draft: &mut Draft, child: usize, price: &str) {
    let asked = match child {
        1 => &mut draft.ask.take_profit,
        _ => &mut draft.ask.stop_loss,
    };
    asked.as_mut().unwrap().trigger_price = decimal(price);
    if let WireOrderKind::Trigger { trigger_price, .. } = &mut draft.plan.action.orders[child].kind
    {
        *trigger_price = price.to_owned();
    }
}

#[test]
fn both_directions_hold() {
    for draft in [Draft::protected(), Draft::protected_short()] {
        let report = draft.judge().unwrap();
        assert_eq!(report.assertions().len(), 20);
    }
}

#[test]
fn a_trigger_that_could_open_a_position() {
    for child in [1, 2] {
        let name = Draft::protected()
            .refused_after(|draft| draft.plan.action.orders[child].reduce_only = false);
        assert_eq!(name, "perp_tpsl_reduce_only");
    }
}

#[test]
fn a_trigger_on_the_side_of_the_entry() {
    for child in [1, 2] {
        let name =
            Draft::protected().refused_after(|draft| draft.plan.action.orders[child].is_buy = true);
        assert_eq!(name, "perp_tpsl_reduce_only");
    }
}

#[test]
fn triggers_on_an_entry_that_opens_nothing() {
    let name = Draft::protected().refused_after(|draft| {
        draft.ask.reduce_only = true;
        draft.plan.action.orders[0].reduce_only = true;
    });
    assert_eq!(name, "perp_tpsl_reduce_only");
}

#[test]
fn an_entry_that_is_a_trigger() {
    let mut draft = Draft::plain();
    draft.plan.action.orders[0].kind = trigger(true, "100000", "0.001", true, "100000", "sl").kind;
    draft.commit();
    assert_eq!(draft.refused(), "perp_side_price_size_bound");
    assert_eq!(
        draft.violated(),
        ["perp_side_price_size_bound", "perp_tpsl_reduce_only"]
    );
}

#[test]
fn a_trigger_on_the_wrong_side_of_the_entry() {
    for (draft, child, price) in [
        (Draft::protected(), 1, "99999"),
        (Draft::protected(), 1, "100000"),
        (Draft::protected(), 2, "100001"),
        (Draft::protected(), 2, "100000"),
        (Draft::protected_short(), 1, "100001"),
        (Draft::protected_short(), 1, "100000"),
        (Draft::protected_short(), 2, "99999"),
        (Draft::protected_short(), 2, "100000"),
    ] {
        let name = draft.refused_after(|draft| set_trigger(draft, child, price));
        assert_eq!(name, "perp_tpsl_direction", "{child} at {price}");
    }
}

/// The mark must reach a resting entry first, so the take-profit may lie between the two.
#[test]
fn a_take_profit_between_a_resting_entry_and_the_mark_price() {
    for (draft, mark) in [
        // The long rests at 100000, its take-profit is at 110000.
        (Draft::protected(), "110000"),
        (Draft::protected(), "110001"),
        (Draft::protected(), "120000"),
        // The short rests at 100000, its take-profit is at 90000.
        (Draft::protected_short(), "90000"),
        (Draft::protected_short(), "89999"),
        (Draft::protected_short(), "80000"),
    ] {
        let mut draft = draft;
        draft.plan.venue.mark_price = Some(decimal(mark));
        draft.commit();
        assert!(draft.judge().is_ok(), "{mark}");
    }
}

#[test]
fn a_trigger_that_the_mark_price_has_already_crossed() {
    for (draft, mark) in [
        // The long's stop-loss at 95000.
        (Draft::protected(), "95000"),
        (Draft::protected(), "94999.5"),
        // The short's stop-loss at 105000.
        (Draft::protected_short(), "105000"),
        (Draft::protected_short(), "105000.1"),
    ] {
        let name = draft.refused_after(|draft| draft.plan.venue.mark_price = Some(decimal(mark)));
        assert_eq!(name, "perp_tpsl_direction", "{mark}");
    }
}

#[test]
fn triggers_without_a_mark_price() {
    let name = Draft::protected().refused_after(|draft| draft.plan.venue.mark_price = None);
    assert_eq!(name, "perp_tpsl_direction");
}

#[test]
fn two_triggers_of_one_kind() {
    for (child, message) in [(1, "more than one tp"), (2, "more than one sl")] {
        let mut draft = Draft::protected();
        let again = draft.plan.action.orders[child].clone();
        draft.plan.action.orders.push(again);
        draft.commit();
        let failure = draft.judge().unwrap_err();
        assert_eq!(failure.check, "perp_tpsl_direction");
        assert_eq!(failure.violation.message, message);
    }
}

#[test]
fn unrequested_or_missing_triggers() {
    let name = Draft::plain().refused_after(|draft| {
        draft
            .plan
            .action
            .orders
            .push(trigger(false, "85500", "0.001", true, "95000", "sl"));
        draft.plan.action.grouping = "normalTpsl".to_owned();
    });
    assert_eq!(name, "perp_side_price_size_bound");
    let name = Draft::protected().refused_after(|draft| {
        draft.plan.action.orders.pop();
    });
    assert_eq!(name, "perp_side_price_size_bound");
}

#[test]
fn triggers_at_other_prices_than_requested() {
    for change in [
        |draft: &mut Draft| set_wire(draft, 1, "110001", false),
        |draft: &mut Draft| set_wire(draft, 1, "110000", true),
        |draft: &mut Draft| set_wire(draft, 2, "95001", true),
        |draft: &mut Draft| set_wire(draft, 2, "95000", false),
        |draft: &mut Draft| draft.plan.action.orders[1].price = "109499".to_owned(),
    ] {
        assert_eq!(
            Draft::protected().refused_after(change),
            "perp_side_price_size_bound"
        );
    }
}

#[test]
fn one_protection_alone_holds_and_does_not_replace_the_other() {
    for gone in [1, 2] {
        let mut draft = Draft::protected();
        draft.plan.action.orders.remove(gone);
        match gone {
            1 => draft.ask.take_profit = None,
            _ => draft.ask.stop_loss = None,
        }
        draft.commit();
        assert_eq!(draft.judge().unwrap().assertions().len(), 20);
        let ask = &mut draft.ask;
        std::mem::swap(&mut ask.take_profit, &mut ask.stop_loss);
        let failure = draft.judge().unwrap_err();
        assert_eq!(failure.check, "perp_side_price_size_bound");
        assert_eq!(failure.violation.message, "the tp is not as requested");
    }
}

#[test]
fn a_refused_trigger_is_shown_as_asked_and_as_decoded() {
    for (child, price, market, expected, observed) in [
        (
            1,
            "110000",
            true,
            "limit 109500 at 110000",
            "market at 110000",
        ),
        (2, "95001", true, "market at 95000", "market at 95001"),
        (2, "95000", false, "market at 95000", "limit 85500 at 95000"),
    ] {
        let mut draft = Draft::protected();
        set_wire(&mut draft, child, price, market);
        draft.commit();
        let violation = draft.judge().unwrap_err().violation;
        assert_eq!(violation.expected, expected);
        assert_eq!(violation.observed, observed);
    }
}

fn set_wire(draft: &mut Draft, child: usize, price: &str, market: bool) {
    if let WireOrderKind::Trigger {
        trigger_price,
        is_market,
        ..
    } = &mut draft.plan.action.orders[child].kind
    {
        *trigger_price = price.to_owned();
        *is_market = market;
    }
}

#[test]
fn a_second_plain_order() {
    let name = Draft::plain().refused_after(|draft| {
        draft
            .plan
            .action
            .orders
            .push(limit(true, "100000", "0.001"));
        draft.plan.action.grouping = "normalTpsl".to_owned();
    });
    assert_eq!(name, "perp_side_price_size_bound");
}

#[test]
fn a_trigger_of_another_size() {
    for size in ["0.002", "0.00099", "0.1"] {
        let name = Draft::protected()
            .refused_after(|draft| draft.plan.action.orders[2].size = size.to_owned());
        assert_eq!(name, "perp_tpsl_size_bound", "{size}");
    }
    // The venue's own pages send this for a whole position.
    let name =
        Draft::protected().refused_after(|draft| draft.plan.action.orders[2].size = "0".to_owned());
    assert_eq!(name, "perp_size_lot_exact");
}

#[test]
fn a_market_triggers_limit_price() {
    for (draft, price, holds) in [
        // A sell at 95000: exactly 10 % worse.
        (Draft::protected(), "85500", true),
        (Draft::protected(), "85501", false),
        (Draft::protected(), "95000", false),
        (Draft::protected(), "85499", false),
        (Draft::protected(), "95001", false),
        // A buy at 105000.
        (Draft::protected_short(), "115500", true),
        (Draft::protected_short(), "115499", false),
        (Draft::protected_short(), "105000", false),
        (Draft::protected_short(), "115501", false),
        (Draft::protected_short(), "104999", false),
    ] {
        let mut draft = draft;
        draft.plan.action.orders[2].price = price.to_owned();
        draft.commit();
        let expected = if holds {
            Ok(())
        } else {
            Err("perp_tpsl_limit_bound")
        };
        assert_eq!(
            draft.judge().map(|_| ()).map_err(|f| f.check),
            expected,
            "{price}"
        );
    }
}

#[test]
fn a_requested_limit_price_beyond_its_trigger_or_the_tolerance() {
    for price in ["110001", "98999", "1"] {
        let name = Draft::protected().refused_after(|draft| {
            draft.ask.take_profit = Some(TriggerAsk {
                trigger_price: decimal("110000"),
                limit_price: Some(decimal(price)),
            });
            draft.plan.action.orders[1].price = price.to_owned();
        });
        assert_eq!(name, "perp_tpsl_limit_bound", "{price}");
    }
}

#[test]
fn another_grouping() {
    for grouping in ["na", "positionTpsl"] {
        let name = Draft::protected()
            .refused_after(|draft| draft.plan.action.grouping = grouping.to_owned());
        assert_eq!(name, "perp_grouping_exact");
    }
    for grouping in ["normalTpsl", "positionTpsl"] {
        let name =
            Draft::plain().refused_after(|draft| draft.plan.action.grouping = grouping.to_owned());
        assert_eq!(name, "perp_grouping_exact");
    }
}

#[test]
fn a_trigger_price_off_the_tick() {
    let name = Draft::protected().refused_after(|draft| set_trigger(draft, 2, "95000.5"));
    assert_eq!(name, "perp_price_tick_exact");
    let name = Draft::protected()
        .refused_after(|draft| draft.plan.action.orders[2].price = "95000.5".to_owned());
    assert_eq!(name, "perp_price_tick_exact");
}
