//! Renders an intent for answers: its steps, its result, and the reason of a failure.

use alloy_primitives::U256;
use exact::format_units;
use jiff::Timestamp;
use readings::defi::realised::{Move, MoveKind};
use readings::{Decimal, Figure};
use serde_json::{Map, Value, json};
use wallet_actions::{Hold, Intent, Operation, State, Status, Step, StepKind};

use crate::answer::seconds;

/// The object of an action's answer and of `GET /intents/{id}`. It contains nothing that could move
/// funds: no key, no payment, and only signatures that are on a chain.
pub(crate) fn intent_view(intent: &Intent) -> Value {
    let mut shown = Map::new();
    let mut put = |name: &str, value: Value| {
        shown.insert(name.to_owned(), value);
    };
    put("intent_id", intent.id.as_str().into());
    put("operation", intent.operation.as_str().into());
    put("sub_wallet", intent.wallet.to_string().into());
    put("status", status(intent).into());
    if let Some(reason) = reason(intent) {
        put("reason", reason.into());
    }
    if let Some(held) = held(intent) {
        put("held_since", time(held.since).into());
        if let Some(until) = held.until {
            put("held_until", time(until).into());
        }
    }
    put("steps", intent.steps.iter().map(step).collect());
    put("result", result(intent));
    // The principal moves from the payer directly to its own sub-wallet, never through an address
    // of the service.
    put("refund_needed", false.into());
    put("created_at", time(intent.created_at).into());
    if let Some(ended_at) = intent.ended_at {
        put("ended_at", time(ended_at).into());
    }
    // An earlier answer about the intent may be wrong since the reorganisation.
    if let Some(at) = intent.reorganised_at {
        put("reorganised_at", time(at).into());
    }
    Value::Object(shown)
}

/// The members that name an action that another payment would begin a second time.
pub(crate) fn begun_intent(intent: &Intent) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("intent_id".to_owned(), intent.id.as_str().into());
    shown.insert("state".to_owned(), status(intent).into());
    let mut sealed = intent
        .steps
        .iter()
        .rev()
        .filter_map(|step| step.status.at());
    if let Some(at) = sealed.next() {
        shown.insert("transaction".to_owned(), at.transaction.to_string().into());
    }
    shown
}

/// What holds an action up that continues.
pub(super) fn held(intent: &Intent) -> Option<&Hold> {
    let held = intent.held.as_ref();
    held.filter(|_| !intent.state.is_over())
}

fn status(intent: &Intent) -> &'static str {
    match intent.state {
        State::Running | State::Following | State::Reopened => "in_progress",
        over => over.as_str(),
    }
}

/// The reason why the action failed, or the event that it waits for.
fn reason(intent: &Intent) -> Option<String> {
    if let Some(held) = held(intent) {
        return Some(held.reason.clone());
    }
    if intent.state == State::Following && intent.bridge.is_some() && intent.halted.is_none() {
        return Some("awaiting_mint".to_owned());
    }
    if intent.state == State::Reopened {
        return Some("reorganised".to_owned());
    }
    if intent.halted.is_some() {
        return intent.halted.clone();
    }
    if intent.state == State::Partial {
        let short = |(_, expected, received): (_, wallet_actions::Expected, U256)| {
            received < expected.at_least
        };
        return Some(match intent.received().any(short) {
            true => "delivered_below_minimum".to_owned(),
            false => "allowance_left".to_owned(),
        });
    }
    None
}

fn step(step: &Step) -> Value {
    let mut shown = Map::new();
    shown.insert("kind".to_owned(), step.kind.as_str().into());
    shown.insert("chain_id".to_owned(), step.chain_id.into());
    shown.insert("status".to_owned(), step.status.as_str().into());
    if let Some(at) = step.status.at() {
        shown.insert("tx_hash".to_owned(), at.transaction.to_string().into());
        shown.insert("block".to_owned(), at.number.into());
    }
    Value::Object(shown)
}

/// The plan of the action and its result.
fn result(intent: &Intent) -> Value {
    let mut result = match &intent.plan {
        Value::Object(plan) => plan.clone(),
        _ => Map::new(),
    };
    let decimals = result.get("decimals").and_then(Value::as_u64);
    let decimals = decimals.and_then(|decimals| u8::try_from(decimals).ok());
    for (step, expected, received) in intent.received() {
        let name = match (intent.operation, step.kind) {
            (_, StepKind::Principal) => {
                result.insert("principal_atoms".to_owned(), received.to_string().into());
                continue;
            }
            (Operation::Bridge, StepKind::Mint) => "minted",
            (Operation::Invest, _) => "shares_received",
            (Operation::Swap | Operation::Divest, _) => "amount_out",
            _ => "delivered",
        };
        result.insert(format!("{name}_atoms"), received.to_string().into());
        result.insert(
            format!("{name}_at_least_atoms"),
            expected.at_least.to_string().into(),
        );
        if let Some(decimals) = decimals {
            result.insert(name.to_owned(), format_units(received, decimals).into());
        }
    }
    if let Some(bridge) = &intent.bridge
        && bridge.minted_by_others
    {
        result.insert("minted_by".to_owned(), "somebody_else".into());
    }
    let left = intent.allowance.and_then(|allowance| allowance.left);
    if let Some(left) = left {
        result.insert("allowance_left_atoms".to_owned(), left.to_string().into());
    }
    Value::Object(result)
}

/// The effect of an action on the positions of its wallet, for their history. `None` when it had
/// none.
pub(crate) fn realised(intent: &Intent) -> Option<Value> {
    let call = of_position(intent)?;
    let Status::Sealed { at, .. } = call.status else {
        return None;
    };
    let of = |name: &str| intent.plan.get(name).cloned().unwrap_or(Value::Null);
    let mut shown = json!({
        "time": time(intent.ended_at.unwrap_or(intent.created_at)),
        "chain_id": call.chain_id,
        "protocol": of("protocol"),
        "product_id": of("product_id"),
        "asset": of("asset"),
        "tx_hash": at.transaction.to_string(),
        "intent_id": intent.id.as_str(),
    });
    let received = brought(intent).map_or(Value::Null, Value::from);
    if let Some(members) = shown.as_object_mut() {
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        match intent.operation {
            Operation::Invest => {
                put("kind", "deposit".into());
                put("amount", of("amount"));
                put("shares_received", received);
            }
            _ => {
                put("kind", "withdrawal".into());
                put("amount", received);
            }
        }
    }
    Some(shown)
}

/// The same effect as a move of the position, for the sum of its proceeds. The amount of a pending
/// one is unknown.
pub(crate) fn moved(intent: &Intent) -> Option<Move> {
    let call = of_position(intent)?;
    let sealed = matches!(call.status, Status::Sealed { .. });
    let is_open = !intent.state.is_over();
    if !sealed && !is_open {
        return None;
    }
    let of = |name: &str| intent.plan.get(name).and_then(Value::as_str);
    let kind = match intent.operation {
        Operation::Invest => MoveKind::Deposit {
            amount: of("amount").filter(|_| sealed).and_then(decimal),
            opens: of("shares_before_atoms") == Some("0"),
        },
        _ => MoveKind::Withdrawal {
            amount: brought(intent).as_deref().and_then(decimal),
            closes: sealed && intent.plan.get("takes_all") == Some(&Value::Bool(true)),
        },
    };
    let product = of("product_id").unwrap_or_default().to_owned();
    Some(Move {
        product: (call.chain_id, product),
        kind,
    })
}

/// The deposit or the withdrawal of an intent, if it has one.
fn of_position(intent: &Intent) -> Option<&Step> {
    let is_of_position = matches!(intent.operation, Operation::Invest | Operation::Divest);
    let mut steps = intent.steps.iter().filter(|_| is_of_position);
    steps.find(|step| step.kind == StepKind::Call)
}

/// The proceeds of the deposit or withdrawal in whole tokens; `None` when they are not measured.
fn brought(intent: &Intent) -> Option<String> {
    let mut received = intent.received();
    let (_, _, received) = received.find(|(step, _, _)| step.kind == StepKind::Call)?;
    let decimals = intent.plan.get("decimals").and_then(Value::as_u64)?;
    Some(format_units(received, u8::try_from(decimals).ok()?))
}

fn decimal(text: &str) -> Option<Decimal> {
    text.parse::<Figure>().ok().map(Figure::get)
}

/// A time as answers show it.
pub(super) fn time(unix: u64) -> String {
    let time = i64::try_from(unix)
        .ok()
        .and_then(|unix| Timestamp::from_second(unix).ok());
    time.map(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent(state: &str, reorganised_at: Option<u64>) -> Intent {
        let word = "0x0000000000000000000000000000000000000000000000000000000000000001";
        let intent = json!({
            "id": "00000000000000000000000000000abc", "owner": "eip155:196:0x1", "payment": word,
            "wallet": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "call": "", "price_micro_usd": 50_000,
            "operation": "withdraw", "created_at": 1_795_219_200, "not_after": 1_795_219_300,
            "state": state, "halted": null, "steps": [], "allowance": null, "bridge": null, "plan": {},
            "ended_at": null, "reorganised_at": reorganised_at,
        });
        serde_json::from_value(intent).unwrap()
    }

    #[test]
    fn an_answer_says_what_an_action_waits_for() {
        let mut waits = intent("following", None);
        waits.halted = Some("step_reverted".to_owned());
        let held = Hold {
            reason: "gas_budget_exhausted".to_owned(),
            since: 1_795_219_210,
            until: None,
        };
        waits.held = Some(held.clone());
        let shown = intent_view(&waits);
        assert_eq!(shown["status"], "in_progress");
        assert_eq!(shown["reason"], "gas_budget_exhausted");
        assert_eq!(shown["held_since"], time(1_795_219_210));
        assert!(shown.get("held_until").is_none());
        waits.held = Some(Hold {
            until: Some(1_795_219_300),
            ..held
        });
        assert_eq!(intent_view(&waits)["held_until"], time(1_795_219_300));
        // Its coins have come, and the allowance is being cleared.
        waits.held = None;
        let shown = intent_view(&waits);
        assert_eq!(shown["reason"], "step_reverted");
        assert!(shown.get("held_since").is_none());
    }

    #[test]
    fn an_answer_says_that_a_reorganisation_has_changed_it() {
        let reopened = intent_view(&intent("reopened", Some(1_795_219_260)));
        assert_eq!(reopened["status"], "in_progress");
        assert_eq!(reopened["reason"], "reorganised");
        assert_eq!(reopened["reorganised_at"], time(1_795_219_260));
        let again = intent_view(&intent("completed", Some(1_795_219_260)));
        assert_eq!(again["status"], "completed");
        assert_eq!(again["reorganised_at"], time(1_795_219_260));
        let undisturbed = intent_view(&intent("completed", None));
        assert!(undisturbed.get("reorganised_at").is_none());
    }
}
