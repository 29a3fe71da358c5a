//! Renders the answers of the delegation endpoints: plain JSON, without the `data` and `meta` of
//! paid routes. The rules and their names are those of `fence-server`.

use alloy_primitives::{Address, B256, U256, hex};
use calldata_checks::{StepKind, UtcSeconds};
use delegation_fence::{
    AccountKind, FenceStatus, LogRecord, Novelty, Policy, Refusal, Report, RevocationReceipt,
    Tightest,
};
use fence_server::{
    DelegationError, GrantReceipt, GrantState, KeptSubmission, OnChain, StoreError, Submitted,
};
use http::StatusCode;
use http::header::{self, HeaderMap};
use serde_json::{Map, Value, json};

use super::refused::Refused;
use crate::reply::{self, Reply, header_value};

pub(super) fn status(status: &FenceStatus) -> Result<Reply, Refused> {
    let body = serde_json::to_string(status).unwrap_or_default();
    Ok(reply::json(StatusCode::OK, body))
}

/// The canonical bytes of the policy. Their digest is the entity tag.
pub(super) fn policy(policy: &Policy, asked: &HeaderMap) -> Reply {
    let tag = format!("\"{}\"", policy.digest());
    let known = asked.get_all(header::IF_NONE_MATCH).iter().any(|tags| {
        let tags = tags.to_str().unwrap_or_default();
        tags.trim() == "*"
            || tags
                .split(',')
                .any(|known| known.trim().trim_start_matches("W/") == tag)
    });
    let mut reply = if known {
        let mut reply = Reply::default();
        *reply.status_mut() = StatusCode::NOT_MODIFIED;
        reply
    } else {
        reply::json(StatusCode::OK, policy.canonical().to_owned())
    };
    let headers = reply.headers_mut();
    headers.insert(header::ETAG, header_value(&tag));
    headers.insert(header::CACHE_CONTROL, header_value("no-cache"));
    reply
}

pub(super) fn granted(received: &GrantReceipt) -> Reply {
    let status = match received.novelty {
        Novelty::New => StatusCode::CREATED,
        Novelty::Again => StatusCode::OK,
    };
    let grant = &received.grant;
    let body = json!({
        "account": grant.account.to_string(),
        "grant_id": grant.grant_id.to_string(),
        "state": received.state,
        "expires_at": time(UtcSeconds::from_unix(grant.expires_at)),
    });
    reply::json(status, body.to_string())
}

pub(super) fn grant_state(state: &GrantState) -> Reply {
    let mut body = Map::new();
    body.insert("state".to_owned(), state.state.into());
    for (name, at) in [
        ("expires_at", state.expires_at),
        ("revoked_at", state.revoked_at),
    ] {
        if let Some(at) = at {
            body.insert(name.to_owned(), time(at));
        }
    }
    if let Some(read) = &state.on_chain {
        body.insert("on_chain".to_owned(), on_chain(read));
    }
    reply::json(StatusCode::OK, Value::Object(body).to_string())
}

/// The receipt of a revocation, with the revocation's state on the chain.
pub(super) fn revoked(receipt: &RevocationReceipt, read: Option<&OnChain>) -> Reply {
    let mut body: Value = serde_json::from_str(&receipt.to_json()).unwrap_or_default();
    if let (Some(read), Some(members)) = (read, body.as_object_mut()) {
        members.insert("on_chain".to_owned(), on_chain(read));
    }
    reply::json(StatusCode::OK, body.to_string())
}

/// Without a block the chain could not be read, and the state is unknown.
fn on_chain(read: &OnChain) -> Value {
    let mut body = json!({ "disabled": read.disabled });
    let Some(members) = body.as_object_mut() else {
        return body;
    };
    if let Some(block) = read.block {
        members.insert("block_hash".to_owned(), block.hash.to_string().into());
    }
    if let Some(call) = &read.disable {
        let transaction = json!({
            "chain_id": call.chain_id,
            "from": call.from.to_string(),
            "to": call.to.to_string(),
            "value": "0",
            "data": hex::encode_prefixed(&call.data),
        });
        members.insert("disable_transaction".to_owned(), transaction);
    }
    body
}

pub(super) fn log(records: &[LogRecord], next: Option<u64>) -> Reply {
    // Each record keeps the bytes that were hashed.
    let records: Vec<String> = records.iter().map(LogRecord::to_json).collect();
    let next = next.map_or_else(|| "null".to_owned(), |next| format!("\"{next}\""));
    let body = format!(
        r#"{{"records":[{}],"next_cursor":{next}}}"#,
        records.join(",")
    );
    reply::json(StatusCode::OK, body)
}

pub(super) fn limited(of: (Address, B256), tightest: Tightest, cap: U256) -> Reply {
    let body = json!({
        "account": of.0.to_string(),
        "grant_id": of.1.to_string(),
        "per_swap_cap": cap.to_string(),
        "max_swaps": tightest.max_swaps,
        "outflow_24h": tightest.outflow_24h.map(|most| most.to_string()),
    });
    reply::json(StatusCode::OK, body.to_string())
}

pub(super) fn admitted() -> Reply {
    reply::json(StatusCode::OK, json!({ "admitted": true }).to_string())
}

/// The refusal of a dry run.
pub(super) fn refused_by(refusal: &Refusal) -> Reply {
    let mut body = json!({
        "admitted": false,
        "refused_by": refusal.code(),
        "message": refusal.message,
        "expected": refusal.expected,
        "observed": refusal.observed,
    });
    if let (Some(check), Some(members)) = (&refusal.check, body.as_object_mut()) {
        members.insert("check".to_owned(), check.as_ref().into());
    }
    reply::json(StatusCode::OK, body.to_string())
}

pub(super) fn submitted(submitted: &Submitted) -> Result<Reply, Refused> {
    let status = if submitted.again {
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    };
    let report = report(&submitted.kept)?;
    let body = json!({
        "payload_digest": submitted.kept.admitted.payload_digest.to_string(),
        "state": report.state.as_str(),
    });
    Ok(reply::json(status, body.to_string()))
}

pub(super) fn submission(kept: &KeptSubmission) -> Result<Reply, Refused> {
    let report = report(kept)?;
    let steps: Vec<Value> = StepKind::ALL
        .into_iter()
        .zip(report.steps)
        .filter_map(|(kind, sealed)| {
            let (hash, block, effective) = sealed?;
            Some(json!({
                "kind": kind.as_str(),
                "tx_hash": hash.to_string(),
                "block_hash": block.hash.to_string(),
                "status": if effective { "success" } else { "reverted" },
            }))
        })
        .collect();
    let mut body = json!({
        "payload_digest": kept.admitted.payload_digest.to_string(),
        "account": kept.admitted.account.to_string(),
        "grant_id": kept.admitted.grant_id.to_string(),
        "state": report.state.as_str(),
        "accepted_at": time(kept.accepted_at),
        "steps": steps,
        "allowance_read_back": report.allowance_read_back.map(|(allowance, _)| allowance.to_string()),
    });
    let Some(members) = body.as_object_mut() else {
        return Ok(reply::json(StatusCode::OK, body.to_string()));
    };
    let mut insert = |name: &str, value: Value| members.insert(name.to_owned(), value);
    if let Some((_, block)) = report.allowance_read_back {
        insert("read_back_block_hash", block.hash.to_string().into());
    }
    if let Some(kind) = report.halted_at {
        insert("halted_at", kind.as_str().into());
    }
    if let Some(reason) = report.reason {
        insert("reason", reason.into());
        insert("allowance_cleared", report.allowance_cleared().into());
    }
    if let Some((amount, ok)) = report.landed {
        let at_least = kept.admitted.landing.at_least;
        insert(
            "landed",
            json!({ "amount": amount.to_string(), "at_least": at_least.to_string(), "ok": ok }),
        );
    }
    if let Some(clear) = &report.clear_transaction {
        insert(
            "clear_transaction",
            json!({
                "chain_id": clear.chain_id,
                "to": clear.to.to_string(),
                "value": clear.value.to_string(),
                "data": hex::encode_prefixed(&clear.data),
                "from": kept.admitted.account.to_string(),
                "sent_by": sender_of_clear(kept),
            }),
        );
    }
    Ok(reply::json(StatusCode::OK, body.to_string()))
}

/// Says who can send the transaction that clears an allowance. It must come from the account
/// itself.
fn sender_of_clear(kept: &KeptSubmission) -> &'static str {
    let grant = kept.view.grant.as_ref();
    match grant.map(|grant| grant.signed.message().account_kind) {
        Some(AccountKind::SubWallet) | None => {
            "the service, which holds the account's key and clears the allowance as soon as it can"
        }
        Some(_) => "the holder of the account, with a transaction from it",
    }
}

/// Renders the state of a plan. Impossible sequences of events mean that the store is damaged.
fn report(kept: &KeptSubmission) -> Result<Report, Refused> {
    let sending = kept.sending().map_err(|_| {
        DelegationError::from(StoreError::Unavailable {
            code: "database_damaged",
        })
    })?;
    Ok(sending.report(&kept.admitted))
}

fn time(at: UtcSeconds) -> Value {
    at.to_string().into()
}
