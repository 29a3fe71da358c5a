//! `GET /idle-capital`: the balances of an account that earn nothing, each with the best low-risk
//! market.

use readings::defi::idle;
use serde_json::json;

use super::yields::{Held, holdings};
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::snapshots::yield_pools;
use crate::source_report::SourceReport;
use crate::sources::Accounts;
use crate::sources::Defi;
use crate::sources::Edition;

/// Members whose `null` means that there is none: a chain's own coin has no contract.
const NONE: &[&str] = &["token_address"];

pub(super) async fn answer(
    context: &Context,
    accounts: &Accounts,
    defi: &Defi,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let address = call.address_or_own()?;
    let mut report = SourceReport::default();
    let (held, edition) = tokio::join!(
        holdings(context, accounts, address, None, "idle", &mut report),
        defi.edition(context.now()),
    );
    let edition = edition.ok();
    let Held {
        holdings,
        unread,
        partly_read,
        uncertain,
        parts,
    } = held?;
    let balances = report.core();
    let of_edition = edition.as_ref().map(|edition| edition.part("best"));
    if let Some(edition) = &edition {
        edition.count_in(&mut report);
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
        report.missing("idle[].best", reason, yield_pools::SOURCE);
    }
    if rows.iter().any(|row| row.usd.is_none()) {
        for field in ["idle[].usd", "idle[].best.expected_usd_year"] {
            report.missing(field, "price_unknown", balances);
        }
    }
    let total = idle::total_usd(&rows);
    if total.is_none() {
        report.missing("total_idle_usd", "price_unknown", balances);
    }
    let priced = rows.iter().all(|row| row.usd.is_some());
    let complete = unread.is_empty() && partly_read.is_empty() && !uncertain && priced;
    let data = json!({
        "address": address.to_string(),
        "idle": rows,
        "total_idle_usd": total,
        "total_idle_usd_complete": complete,
        "chains_unavailable": unread,
        "chains_partly_read": partly_read,
        "rules": {
            "min_usd": idle::MIN_USD.to_string(),
            "max_share_of_market_pct": idle::MAX_SHARE_OF_MARKET_PCT.to_string(),
            "alternatives": "grade A or B without impermanent loss, the same token on the same chain, before gas",
        },
    });
    let parts = parts.into_iter().chain(of_edition).collect();
    let mut answered = Answered::of_parts(data, parts)
        .with_report(report)
        .origin("idle", balances, Method::Direct)
        .origin("total_idle_usd", balances, Method::Derived);
    if markets.is_some() {
        answered = answered.origin("idle/*/best", yield_pools::SOURCE, Method::Derived);
    }
    answered.none = NONE;
    Ok(answered)
}
