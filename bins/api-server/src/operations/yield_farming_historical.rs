//! `GET /yield-farming-historical`.

use readings::defi::history;
use route_catalog::ErrorCode;
use serde_json::json;

use super::fault;
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Defi;

/// The source writes one point a day: the newest may be a day old, and an hour late.
const FRESH_SECONDS: u64 = 25 * 3600;
const DEFAULT_DAYS: u64 = 30;
const SOURCE: &str = "defillama.chart";

pub(super) async fn answer(
    context: &Context,
    defi: &Defi,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let Some(pool) = call.parameters.text("pool") else {
        // Realised positions are those of a sub-wallet, and no sub-wallet is provisioned.
        let message = "no sub-wallet with this address is known";
        return Err(ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "no_sub_wallet"));
    };
    let found = defi.defillama.history(pool, call.max_age()).await;
    let mut report = SourceReport::default();
    let points = report.got(found.map_err(|error| fault::reply(&error))?);
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
