//! `GET /yield-farming-historical`: the history of a pool, or of the payer's own sub-wallet.

use data_sources::Provenance;
use readings::defi::history;
use readings::defi::realised::{self as positions, Gain, Move};
use route_catalog::ErrorCode;
use serde_json::{Value, json};

use super::fault;
use crate::answer::{Answered, Method, Warning};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::{Defi, Wallets};
use crate::wallets::{moved, realised};

/// For how many seconds a history counts as fresh. The source writes one point a day, so the newest
/// may be a day old, and an hour late.
const FRESH_SECONDS: u64 = 25 * 3600;
/// For how many seconds a wallet's own history counts as fresh. It changes with the wallet's next
/// action.
const OWN_FRESH_SECONDS: u64 = 15;
const DEFAULT_DAYS: u64 = 30;
const SOURCE: &str = "defillama.chart";
/// The source of a sub-wallet's history.
const OF_WALLET: &str = "wallet.intents";
/// The most actions that are read.
const MOST: u32 = 1_000;

pub(super) async fn answer(
    context: &Context,
    defi: &Defi,
    wallets: &Wallets,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let Some(pool) = call.parameters.text("pool") else {
        return realised_by(context, wallets, call).await;
    };
    let found = defi.defillama.history(pool, call.max_age()).await;
    let mut report = SourceReport::default();
    let points = report.accept(found.map_err(|error| fault::reply(&error))?);
    let days = call.parameters.integer("days").unwrap_or(DEFAULT_DAYS);
    let points = history::window(&points, days, context.now());
    if points.is_empty() {
        let message = format!("the pool has no point in the last {days} days");
        return Err(ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "no_results"));
    }
    let newest = points.last().map(|point| point.time);
    let answered = Answered::new(json!({"pool": pool, "points": points}), FRESH_SECONDS)
        .with_report(report)
        .origin("points", SOURCE, Method::Direct);
    Ok(Answered {
        as_of: newest,
        ..answered
    })
}

/// The deposits and withdrawals of the payer's own sub-wallet. Other sub-wallets are not shown.
async fn realised_by(
    context: &Context,
    wallets: &Wallets,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let named = call.parameters.address("address");
    let own = call.sub_wallet;
    let Some(address) = own.filter(|own| named.is_none_or(|named| named == *own)) else {
        return Err(match own {
            Some(_) => ErrorReply::no_sub_wallet()
                .message("the payer's sub-wallet has another address; the payment was not used"),
            None => ErrorReply::no_sub_wallet(),
        });
    };
    let Some(actions) = &wallets.actions else {
        return Err(super::sub_wallet::not_acting(wallets, call));
    };
    // A gain covers a position since its opening, however long ago that was.
    let intents = actions.of_owner(wallets.owner(call.payer), 0, MOST).await;
    let intents = intents.map_err(|error| {
        ErrorReply::new(ErrorCode::UpstreamUnavailable, error.to_string())
            .detail("reason", error.code())
    })?;
    let days = call.parameters.integer("days").unwrap_or(DEFAULT_DAYS);
    let since = actions.now().saturating_sub(days.saturating_mul(86_400));
    let within = intents.iter().filter(|intent| intent.created_at >= since);
    let rows: Vec<Value> = within.filter_map(realised).collect();
    // The store returns the newest first.
    let moves: Vec<Move> = intents.iter().rev().filter_map(moved).collect();
    let gains: Vec<Value> = positions::gains(&moves).iter().filter_map(gain).collect();
    let data = json!({
        "address": address.to_string(),
        "days": days,
        "realised": rows,
        "gains": gains,
        "gain_rule": positions::RULE,
    });
    let mut answered =
        Answered::new(data, OWN_FRESH_SECONDS).origin("realised", OF_WALLET, Method::Direct);
    answered.sources = vec![Provenance::local(OF_WALLET, context.now())];
    answered.as_of = Some(context.now());
    if u32::try_from(intents.len()).is_ok_and(|read| read >= MOST) {
        answered.warnings.push(Warning {
            code: "history_incomplete",
            message: format!(
                "the newest {MOST} actions of the sub-wallet are read; older ones are not listed"
            ),
        });
    }
    Ok(answered)
}

/// The gain of a product's closed positions; `None` when it cannot be computed exactly.
fn gain(gain: &Gain) -> Option<Value> {
    let (chain_id, product_id) = &gain.product;
    let gain = gain.gain?;
    Some(json!({"chain_id": chain_id, "product_id": product_id, "gain": gain}))
}
