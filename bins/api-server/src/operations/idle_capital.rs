//! `GET /idle-capital`.

use readings::defi::idle;
use serde_json::json;

use super::legs::Legs;
use super::sub_wallet::address_or_own;
use super::yields::{Held, dataset, holdings};
use super::{Call, yields::Edition};
use crate::Sources;
use crate::answer::{Answered, Method, Part, fresh_together};
use crate::reply::ErrorReply;

/// Balances are read again after a moment; the markets beside them have the pace of their edition.
const FRESH_SECONDS: u64 = 60;
/// Members whose `null` means that there is none: a chain's own coin has no contract.
const NONE: &[&str] = &["token_address"];

pub(super) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let address = address_or_own(call)?;
    let mut legs = Legs::default();
    let (held, edition) = tokio::join!(
        holdings(sources, address, None, "idle", &mut legs),
        sources.yields.edition_if_any(sources.now()),
    );
    let Held {
        holdings,
        unread,
        uncertain,
    } = held?;
    let balances = legs.core();
    let now = sources.now();
    let of_balances = Part::of(&legs.sources, FRESH_SECONDS, now);
    let of_edition = edition.as_ref().map(|edition| edition.part(now));
    if let Some(edition) = &edition {
        edition.count_in(&mut legs);
    }
    let markets = edition
        .as_ref()
        .map(|edition: &Edition| edition.markets.as_slice());
    let rows = idle::idle(&holdings, markets.unwrap_or_default());
    if rows.iter().any(|row| row.best.is_none()) {
        let reason = match markets {
            Some(_) => "no_low_risk_market_on_chain",
            None => "yield_snapshot_missing",
        };
        legs.missing("idle[].best", reason, dataset::SOURCE);
    }
    if rows.iter().any(|row| row.usd.is_none()) {
        for field in ["idle[].usd", "idle[].best.expected_usd_year"] {
            legs.missing(field, "price_unknown", balances);
        }
    }
    let total = idle::total_usd(&rows);
    if total.is_none() {
        legs.missing("total_idle_usd", "price_unknown", balances);
    }
    let priced = rows.iter().all(|row| row.usd.is_some());
    let complete = unread.is_empty() && !uncertain && priced;
    let data = json!({
        "address": address.to_string(),
        "idle": rows,
        "total_idle_usd": total,
        "total_idle_usd_complete": complete,
        "chains_unavailable": unread,
        "rules": {
            "min_usd": idle::MIN_USD.to_string(),
            "max_share_of_market_pct": idle::MAX_SHARE_OF_MARKET_PCT.to_string(),
            "alternatives": "grade A or B, the same token on the same chain, before gas",
        },
    });
    let fresh = fresh_together([of_balances].into_iter().chain(of_edition));
    let mut answered = Answered::new(data, fresh)
        .with_legs(legs)
        .origin("idle", balances, Method::Direct)
        .origin("total_idle_usd", balances, Method::Derived);
    if markets.is_some() {
        answered = answered.origin("idle/*/best", dataset::SOURCE, Method::Derived);
    }
    answered.none = NONE;
    Ok(answered)
}
