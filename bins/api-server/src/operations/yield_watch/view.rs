//! Renders a mandate for answers.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use watch_server::Kept;
use yield_watch::{AnnouncedOpportunity, MoveKey, MoveOutcome, Proposal, State};

use crate::answer::seconds;

/// A mandate at `now`. A caller that polls it sees everything that an owner acts on: the last
/// decision, the last opportunity, the moves.
pub(super) fn mandate(kept: &Kept, now: Timestamp) -> Value {
    let watched = &kept.watched;
    let mandate = watched.mandate();
    let state = mandate.state(now);
    let next_check_at = watched.due_at().filter(|_| state == State::Active);
    json!({
        "id": mandate.id,
        "state": state,
        "rules": mandate.rules,
        "mode": mandate.mode,
        "created_at": seconds(mandate.created_at),
        "expires_at": seconds(mandate.expires_at),
        "last_check_at": mandate.last_check_at.map(seconds),
        "next_check_at": next_check_at.map(seconds),
        "last_decision": watched.last_decision(),
        "opportunity": watched.opportunity().map(opportunity),
        "open_move": watched.open_move().map(open_move),
        "last_move": watched.last_move().map(last_move),
    })
}

/// The members that name a mandate that another payment would make a second time.
pub(crate) fn begun(kept: &Kept, now: Timestamp) -> Map<String, Value> {
    let mandate = kept.watched.mandate();
    let mut shown = Map::new();
    shown.insert("mandate_id".to_owned(), mandate.id.as_str().into());
    shown.insert("state".to_owned(), json!(mandate.state(now)));
    shown
}

fn opportunity(opportunity: &AnnouncedOpportunity) -> Value {
    json!({
        "seq": opportunity.seq,
        "at": seconds(opportunity.at),
        "pool": opportunity.pool,
        "delta_bps": opportunity.delta_bps,
    })
}

fn open_move(open: &Proposal) -> Value {
    json!({
        "key": open.key,
        "from": open.from,
        "to": open.to,
        "max_move_usd": open.max_move_usd,
        "max_slippage_bps": open.max_slippage_bps,
        "valid_until": seconds(open.valid_until),
    })
}

/// Renders the last move as the audit does.
fn last_move((key, outcome): &(MoveKey, MoveOutcome)) -> Value {
    json!({"key": key, "outcome": outcome})
}
