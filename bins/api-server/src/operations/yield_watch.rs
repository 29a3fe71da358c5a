//! The `/yield-watch` routes: the mandates of the call's payer. Another payer's mandate counts as
//! unknown. The checks and moves of mandates run in the background, without a call.

mod view;

pub(crate) use self::view::begun as begun_mandate;

use data_sources::{Meter, Provenance};
use jiff::Timestamp;
use route_catalog::{ErrorCode, Operation, Parameters};
use serde_json::{Value, json};
use watch_server::{Mandates, MoveStop, Terms, WatchError};
use yield_watch::{MAX_ACTIVE, Mode, Rules};

use super::{fault, sub_wallet};
use crate::answer::{Answered, Method, Status, seconds};
use crate::call::Call;
use crate::reply::ErrorReply;
use crate::sources::Wallets;

/// The source of mandates.
const SOURCE: &str = "yield_watch";
/// For how many seconds a mandate counts as fresh. It changes with its next check: soon after its
/// creation, or within an hour.
const FRESH_SECONDS: u64 = 60;
/// The most audit records of one answer: about 100 kB.
const AUDIT_PAGE: u32 = 100;
const DEFAULT_LIMIT: u32 = 20;
/// Members whose `null` means that there is none.
const NONE: &[&str] = &[
    "last_check_at",
    "next_check_at",
    "last_decision",
    "opportunity",
    "delta_bps",
    "open_move",
    "last_move",
    "from",
    "move",
    "snapshot",
    "baseline",
    "best",
    "tx_hash",
    "next_cursor",
];

/// The inputs of the routes.
pub(super) struct Watch<'a> {
    /// The mandates; `None` without a store.
    pub(super) mandates: Option<&'a Mandates>,
    pub(super) wallets: &'a Wallets,
    /// Whether yields are gathered, so that mandates are checked.
    pub(super) gathers: bool,
}

impl Watch<'_> {
    pub(super) async fn answer(&self, call: &Call) -> Result<Answered, ErrorReply> {
        let Some(mandates) = self.mandates else {
            let message = "this server keeps no mandates";
            return Err(ErrorReply::new(ErrorCode::UpstreamUnavailable, message)
                .detail("reason", "no_store")
                .retryable(false));
        };
        let owner = self.wallets.owner(call.payer).to_string().to_lowercase();
        match call.operation {
            Operation::CreateYieldWatch => self.create(mandates, owner, call).await,
            Operation::CancelYieldWatch => cancel(mandates, &owner, call).await,
            Operation::AuditYieldWatch => audit(mandates, &owner, call).await,
            _ => list(mandates, &owner, call).await,
        }
    }

    async fn create(
        &self,
        mandates: &Mandates,
        owner: String,
        call: &Call,
    ) -> Result<Answered, ErrorReply> {
        let terms = terms(&call.parameters, owner).ok_or_else(|| {
            ErrorReply::new(ErrorCode::InvalidParams, "the parameters are unreadable")
        })?;
        if terms.mode == Mode::Auto {
            if self.wallets.custody.is_none() {
                return Err(sub_wallet::no_custody(call));
            }
            let broken = self.wallets.mandates.broken_by(&terms.rules);
            if !broken.is_empty() {
                return Err(invalid(broken));
            }
        }
        if !self.gathers {
            return Err(
                fault::core_missing("yield_snapshot", "dataset_not_gathered").retryable(false),
            );
        }
        // The mandate stays whatever happens to the payment, so a call that makes one pays for it
        // even when it ends uncharged.
        let payment = call.payment.digest;
        let is_there = mandates.is_active(payment).await;
        let counted = match is_there.map_err(|error| refused(&error, call))? {
            true => None,
            false => Some(Meter::count_kept()),
        };
        let made = mandates.create(payment, terms, call.claim.clone()).await;
        if let Some(counted) = counted {
            match &made {
                Ok(_) | Err(WatchError::Store(_)) => counted.stays(),
                Err(_) => counted.was_not_made(),
            }
        }
        let kept = made.map_err(|error| refused(&error, call))?;
        Ok(Answered {
            status: Status::Created,
            ..answered(mandates, view::mandate(&kept, mandates.now()))
        })
    }
}

async fn list(mandates: &Mandates, owner: &str, call: &Call) -> Result<Answered, ErrorReply> {
    let refused = |error: WatchError| refused(&error, call);
    let parameters = &call.parameters;
    let now = mandates.now();
    if let Some(id) = parameters.text("id") {
        let kept = mandates.find(owner, id).await.map_err(refused)?;
        let data = json!({"mandates": [view::mandate(&kept, now)], "next_cursor": null});
        return Ok(answered(mandates, data));
    }
    let limit = parameters.integer("limit");
    let limit = limit.and_then(|limit| u32::try_from(limit).ok());
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    // A page begins after the last mandate of the page before.
    let before = match parameters.text("cursor") {
        Some(last) => match mandates.find(owner, last).await {
            Ok(kept) => Some(kept.place),
            Err(WatchError::NotFound) => return Err(bad_cursor()),
            Err(error) => return Err(refused(error)),
        },
        None => None,
    };
    let one_more = limit.saturating_add(1);
    let listed = mandates.list(owner, before, one_more).await;
    let mut kept = listed.map_err(refused)?;
    let page = usize::try_from(limit).unwrap_or(usize::MAX);
    let goes_on = kept.len() > page;
    kept.truncate(page);
    let last = kept.last().filter(|_| goes_on);
    let data = json!({
        "next_cursor": last.map(|last| &last.watched.mandate().id),
        "mandates": kept.iter().map(|kept| view::mandate(kept, now)).collect::<Vec<_>>(),
    });
    Ok(answered(mandates, data))
}

async fn cancel(mandates: &Mandates, owner: &str, call: &Call) -> Result<Answered, ErrorReply> {
    let cancelled = mandates.cancel(owner, id(call)).await;
    let cancelled = cancelled.map_err(|error| refused(&error, call))?;
    let mandate = cancelled.kept.watched.mandate();
    let data = json!({
        "id": mandate.id,
        "state": mandate.state(mandates.now()),
        "confirmed_at": mandate.ended.map(|ended| seconds(ended.at)),
        "move": cancelled.stopped.map(|stopped| match stopped {
            MoveStop::Stopped => "stopped",
            MoveStop::TooLate => "too_late",
            MoveStop::NotKnown => "not_known",
        }),
    });
    Ok(answered(mandates, data))
}

async fn audit(mandates: &Mandates, owner: &str, call: &Call) -> Result<Answered, ErrorReply> {
    let from = match call.parameters.text("cursor") {
        Some(cursor) => cursor.parse::<u64>().map_err(|_| bad_cursor())?,
        None => 0,
    };
    let one_more = AUDIT_PAGE.saturating_add(1);
    let records = mandates.audit(owner, id(call), from, one_more).await;
    let mut records = records.map_err(|error| refused(&error, call))?;
    let page = usize::try_from(AUDIT_PAGE).unwrap_or(usize::MAX);
    let next = records.get(page).map(|record| record.seq.to_string());
    records.truncate(page);
    let data = json!({"records": records, "next_cursor": next});
    Ok(answered(mandates, data))
}

fn answered(mandates: &Mandates, data: Value) -> Answered {
    let now = mandates.now();
    Answered {
        sources: vec![Provenance::local(SOURCE, now)],
        as_of: Some(now),
        none: NONE,
        ..Answered::new(data, FRESH_SECONDS)
    }
    .origin("", SOURCE, Method::Direct)
}

fn id(call: &Call) -> &str {
    call.parameters.text("id").unwrap_or_default()
}

/// The terms of a request whose parameters are valid individually.
fn terms(parameters: &Parameters, owner: String) -> Option<Terms> {
    let rules = parameters.object("rules")?;
    let small = |name: &str| u32::try_from(rules.integer(name)?).ok();
    let expires_at = i64::try_from(parameters.timestamp_ms("expires_at")?).ok()?;
    Some(Terms {
        owner,
        rules: Rules {
            min_apy_delta_bps: small("min_apy_delta_bps")?,
            max_slippage_bps: small("max_slippage_bps")?,
            max_move_usd: rules.text("max_move_usd")?.parse().ok()?,
            allowed_protocols: rules.lines("allowed_protocols")?.to_vec(),
            check_interval: rules.integer("check_interval")?,
            max_moves_per_day: small("max_moves_per_day")?,
            min_gain_usd: rules.text("min_gain_usd")?.parse().ok()?,
        },
        mode: match parameters.text("mode")? {
            "auto" => Mode::Auto,
            _ => Mode::Notify,
        },
        expires_at: Timestamp::from_millisecond(expires_at).ok()?,
    })
}

fn refused(error: &WatchError, call: &Call) -> ErrorReply {
    let code = error.code();
    match error {
        WatchError::Invalid(problems) => {
            let problems = problems.iter();
            invalid(problems.map(|problem| (problem.path, problem.expected)))
        }
        WatchError::NotFound => {
            let message = "the payer of this call has no mandate with this id";
            ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "mandate_not_found")
        }
        WatchError::TooMany => {
            let message = format!("the payer has {MAX_ACTIVE} active mandates, which is the most");
            ErrorReply::new(ErrorCode::Unsupported, message)
                .detail("reason", code)
                .detail("limit", MAX_ACTIVE)
        }
        WatchError::OtherTerms => {
            let message = "this payment has already bought a mandate with other terms";
            ErrorReply::new(ErrorCode::PaymentBoundElsewhere, message)
                .detail("reason", "another_request")
        }
        WatchError::NoMover => sub_wallet::no_chain(call),
        error => {
            tracing::error!(code, %error, "the store of mandates is unavailable");
            let message = "the store of mandates is unavailable";
            ErrorReply::new(ErrorCode::UpstreamUnavailable, message)
                .detail("reason", code)
                .retry_after(5)
        }
    }
}

/// Refuses rules, each by its path and with what is expected.
fn invalid<T: std::fmt::Display>(
    problems: impl IntoIterator<Item = (&'static str, T)>,
) -> ErrorReply {
    let problem = |(path, expected): (&str, T)| {
        json!({
            "path": format!("body.{path}"),
            "code": "invalid",
            "message": format!("expected {expected}"),
        })
    };
    let message = "the parameters are not valid; the payment was not used";
    ErrorReply::new(ErrorCode::InvalidParams, message).detail(
        "problems",
        problems.into_iter().map(problem).collect::<Vec<_>>(),
    )
}

fn bad_cursor() -> ErrorReply {
    fault::bad_parameter("cursor", "expected the next_cursor of an earlier answer")
}

#[cfg(test)]
mod tests;
