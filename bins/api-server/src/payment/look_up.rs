//! `GET /payments/{asset}/{payer}/{nonce}`: the state of a payment, free of charge. The bought
//! answer is never in it.

use alloy_primitives::{Address, B256};
use exact::parse_hex_array;
use http::StatusCode;
use http::header;
use http::request::Parts;
use http_edge::RequestId;
use jiff::Timestamp;
use ledger::{Journal, PaymentRecord, State};
use route_catalog::{ErrorCode, Next};
use serde_json::{Value, json};
use settlement::Settler;
use x402_wire::AuthorizationKey;

use super::{PaymentProcessor, Worker};
use crate::answer::seconds;
use crate::reply::{self, ErrorReply, NO_STORE, Reply};

/// The path prefix of payments.
pub(crate) const PREFIX: &str = "/payments/";

/// Answers a `GET` or `HEAD` below [`PREFIX`].
pub(crate) async fn answer<S: Settler, J: Journal, W: Worker>(
    parts: &Parts,
    processor: &PaymentProcessor<S, J, W>,
    id: RequestId,
) -> Reply {
    let path = parts.uri.path().strip_prefix(PREFIX).unwrap_or_default();
    let (asset, payer, nonce) = match read(path) {
        Ok(read) => read,
        Err(Unreadable::Path) => {
            return ErrorReply::new(ErrorCode::NotFound, "there is no such route")
                .detail("reason", "unknown_route")
                .into_reply(id);
        }
        Err(Unreadable::Parts(problems)) => {
            return ErrorReply::new(ErrorCode::InvalidParams, "the path is not valid")
                .detail("problems", problems)
                .into_reply(id);
        }
    };
    let key = AuthorizationKey {
        network: processor.catalog().network(),
        asset,
        payer,
        nonce,
    };
    match processor.journal().look_up(&key).await {
        Ok(record) => {
            let mut reply = reply::json(StatusCode::OK, state(record).to_string());
            reply.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
            reply
        }
        Err(error) => {
            tracing::error!(code = error.code(), %error, "the journal cannot be read");
            ErrorReply::new(
                ErrorCode::LedgerUnavailable,
                "the payment ledger is not available",
            )
            .retry_after(5)
            .next(&Next::LookUp {
                url: processor.catalog().payment_url(&key),
            })
            .into_reply(id)
        }
    }
}

enum Unreadable {
    Path,
    Parts(Vec<Value>),
}

fn read(path: &str) -> Result<(Address, Address, B256), Unreadable> {
    let parts: Vec<&str> = path.split('/').collect();
    let [asset, payer, nonce] = parts.as_slice() else {
        return Err(Unreadable::Path);
    };
    let mut problems = Vec::new();
    let mut problem = |name: &str, expected: &str, observed: &str| {
        problems.push(json!({
            "path": format!("path.{name}"),
            "code": "invalid",
            "message": format!("expected {expected}"),
            "expected": expected,
            "observed": observed.chars().take(80).collect::<String>(),
        }));
    };
    // Each part has its full length and its prefix. The case of the digits does not matter.
    let parsed_asset = parse_hex_array::<20>(asset).map(Address::from);
    let parsed_payer = parse_hex_array::<20>(payer).map(Address::from);
    let parsed_nonce = parse_hex_array::<32>(nonce).map(B256::from);
    if parsed_asset.is_none() {
        problem("asset", "0x and 40 hexadecimal digits", asset);
    }
    if parsed_payer.is_none() {
        problem("payer", "0x and 40 hexadecimal digits", payer);
    }
    if parsed_nonce.is_none() {
        problem("nonce", "0x and 64 hexadecimal digits", nonce);
    }
    match (parsed_asset, parsed_payer, parsed_nonce) {
        (Some(asset), Some(payer), Some(nonce)) => Ok((asset, payer, nonce)),
        _ => Err(Unreadable::Parts(problems)),
    }
}

fn state(record: Option<PaymentRecord>) -> Value {
    let Some(record) = record else {
        return json!({ "state": "not_seen" });
    };
    let state = match record.state {
        State::Reserved | State::Working | State::Settling => "in_flight",
        State::Settled => "settled",
        State::Released => "released",
        State::Unknown => "unknown",
        State::Undecidable => "undecidable",
    };
    let since = i64::try_from(record.since).ok();
    let since = since.and_then(|since| Timestamp::from_second(since).ok());
    let mut answer = json!({ "state": state });
    if let Some(members) = answer.as_object_mut() {
        let transaction = record
            .transaction
            .filter(|transaction| !transaction.is_empty());
        if let Some(transaction) = transaction {
            members.insert("transaction".to_owned(), transaction.into());
        }
        let reason = record.reason.filter(|_| record.state != State::Settled);
        if let Some(reason) = reason {
            members.insert("reason".to_owned(), reason.into());
        }
        if let Some(since) = since {
            members.insert("since".to_owned(), seconds(since).into());
        }
    }
    answer
}
