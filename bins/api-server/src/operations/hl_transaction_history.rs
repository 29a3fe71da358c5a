//! `GET /hl-transaction-history`: the fills, funding payments and transfers of a Hyperliquid
//! account. All requested kinds have to be complete within the covered time.

use data_sources::hyperliquid_info::HyperliquidInfo;
use jiff::{SignedDuration, Timestamp};
use readings::derivatives::{Cursor, HistoryKind, HistoryKinds, Window, page};
use serde_json::json;

use super::fault;
use crate::answer::{Answered, Method, Warning, seconds};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;

/// For how many seconds a history counts as fresh. Past events do not change, but new ones arrive.
const FRESH_SECONDS: u64 = 10;
/// The span of a history without a start.
const USUAL_SPAN: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The items of a page without a limit.
const USUAL_LIMIT: usize = 100;
const HISTORY: &str = "hyperliquid.history";

pub(super) async fn answer(
    context: &Context,
    hyperliquid: &HyperliquidInfo,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let user = call.address_or_own()?;
    let cursor = start_of(call, context.now())?;
    let limit = call
        .parameters
        .integer("limit")
        .and_then(|limit| usize::try_from(limit).ok());
    let window = Window {
        start: cursor.start,
        end: cursor.end,
    };
    let of = |kind: HistoryKind| async move {
        match cursor.kinds.include(kind) {
            true => Some(hyperliquid.history(user, kind, window).await),
            false => None,
        }
    };
    let (fills, funding, ledger) = tokio::join!(
        of(HistoryKind::Fill),
        of(HistoryKind::Funding),
        of(HistoryKind::Ledger)
    );
    let mut report = SourceReport::default();
    let mut items = Vec::new();
    let mut covered = window;
    let mut dropped_before = None;
    for history in [fills, funding, ledger].into_iter().flatten() {
        // A list that lacks one of the requested kinds would be misleading.
        let history = report.accept(history.map_err(|error| fault::reply(&error))?);
        covered.start = covered.start.max(history.covered.start);
        // Data that was read a moment ago ends at that moment.
        covered.end = covered.end.min(history.covered.end);
        dropped_before = dropped_before.max(history.dropped_before);
        items.extend(history.items);
    }
    let shortened = covered.start > window.start;
    let page = page(
        items,
        covered,
        window.start,
        &cursor,
        limit.unwrap_or(USUAL_LIMIT),
    );
    let data = json!({
        "address": user.to_string(),
        "window": covered,
        "items": page.items,
        "truncated": shortened || dropped_before.is_some(),
        "next_cursor": page.next.map(|next| next.to_string()),
    });
    let mut answered = Answered::new(data, FRESH_SECONDS)
        .with_report(report)
        .origin("items", HISTORY, Method::Direct);
    answered.none = &["next_cursor"];
    if shortened {
        answered.warnings.push(Warning {
            code: "history_truncated",
            message:
                "the venue returned full lists: only the newest part of the window is shown, and \
                      next_cursor goes on before it"
                    .to_owned(),
        });
    }
    if let Some(time) = dropped_before {
        answered.warnings.push(Warning {
            code: "venue_keeps_10000_fills",
            message: format!(
                "the venue keeps the newest 10,000 fills of an account, and none before {}: the window \
                 may have had more",
                seconds(time)
            ),
        });
    }
    Ok(answered)
}

/// The start of the page: the cursor, or the end of the requested window.
fn start_of(call: &Call, now: Timestamp) -> Result<Cursor, ErrorReply> {
    let word = call.parameters.text("type").unwrap_or("all");
    let kinds = HistoryKinds::from_word(word)
        .ok_or_else(|| fault::bad_parameter("type", "expected all, fills, funding or ledger"))?;
    if let Some(text) = call.parameters.text("cursor") {
        let cursor: Cursor = text.parse().map_err(|_| {
            fault::bad_parameter("cursor", "expected the next_cursor of an earlier answer")
        })?;
        if cursor.kinds != kinds {
            return Err(fault::bad_parameter(
                "cursor",
                "it belongs to an answer with another type",
            ));
        }
        return Ok(cursor);
    }
    let millis =
        |time: Timestamp| Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time);
    let named = |name: &str| {
        let millis = i64::try_from(call.parameters.timestamp_ms(name)?).ok()?;
        Timestamp::from_millisecond(millis).ok()
    };
    let end = named("end").unwrap_or(millis(now)).min(millis(now));
    let start = named("start").unwrap_or_else(|| end.saturating_sub(USUAL_SPAN).unwrap_or(end));
    if start > end {
        return Err(fault::bad_parameter("start", "it lies in the future"));
    }
    Ok(Cursor {
        start,
        end,
        skip: 0,
        kinds,
    })
}
