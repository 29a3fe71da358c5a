//! A stand-in for the server's delegation endpoints, as `docs/FENCE.md` describes them, for one
//! grant.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use test_support::{HttpRequest, answer_http};

/// How the stand-in behaves, and the requests that it got.
#[derive(Default)]
pub(crate) struct State {
    /// The message of the stored grant. Its state is `active` until it is revoked.
    pub(crate) grant: Option<Value>,
    pub(crate) revoked: bool,
    /// How many reads of the grant still say `active` after the revocation.
    pub(crate) slow_reads: u32,
    /// Whether the delegations are disabled on the chain.
    pub(crate) disabled: bool,
    /// If set, the answer to every request.
    pub(crate) fixed: Option<(u16, String)>,
    /// If set, the answer to a revocation, and whether the revocation is carried out.
    pub(crate) acknowledgement: Option<(u16, String, bool)>,
    /// If set, the answer to every read of the grant after the revocation.
    pub(crate) read: Option<(u16, String)>,
    pub(crate) status: Option<Value>,
    /// The answer to a submission.
    pub(crate) submitted: Option<(u16, Value)>,
    /// The states of a submission, one for each read; the last one repeats.
    pub(crate) progress: Vec<(u16, Value)>,
    /// The pages of the grant's log, by their cursor.
    pub(crate) log: Vec<Value>,
    /// The method, the path and the body of every request so far.
    pub(crate) asked: Vec<(String, String, String)>,
}

pub(crate) struct Service {
    pub(crate) url: String,
    pub(crate) state: Arc<Mutex<State>>,
}

impl Service {
    pub(crate) fn start(state: State) -> Self {
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let url = answer_http(move |asked| answer(&mut shared.lock().unwrap(), asked));
        Self { url, state }
    }

    pub(crate) fn requests(&self) -> Vec<(String, String, String)> {
        self.state.lock().unwrap().asked.clone()
    }
}

fn answer(state: &mut State, asked: &HttpRequest) -> (u16, String) {
    let (method, path, body) = (&*asked.method, &*asked.target, &*asked.body);
    state
        .asked
        .push((method.to_owned(), path.to_owned(), body.to_owned()));
    if let Some(fixed) = state.fixed.clone() {
        return fixed;
    }
    let (status, value) = match (method, path) {
        ("GET", "/delegation/status") => (200, state.status.clone().unwrap()),
        ("POST", "/delegation/grants") => {
            let grant: Value = serde_json::from_str(body).unwrap();
            let message = grant["typed_data"]["message"].clone();
            state.grant = Some(message.clone());
            let answer = json!({"account": message["account"], "grant_id": message["grantId"], "state": "active",
                "expires_at": "2027-02-19T01:00:00Z"});
            (201, answer)
        }
        ("POST", "/delegation/revocations") => {
            if let Some((status, text, is_done)) = state.acknowledgement.clone() {
                state.revoked = is_done;
                return (status, text);
            }
            state.revoked = true;
            let revocation: Value = serde_json::from_str(body).unwrap();
            let receipt = json!({"state": "revoked", "revoked_at": "2026-11-22T01:00:00Z", "read_back": true,
                "log_seq": 1, "log_hash": format!("0x{}", "0".repeat(64)), "revocation": revocation});
            (200, receipt)
        }
        ("POST", "/delegation/submissions") => state.submitted.clone().unwrap(),
        ("GET", _) if path.starts_with("/delegation/submissions/") => match state.progress.len() {
            1 => state.progress[0].clone(),
            _ => state.progress.remove(0),
        },
        ("GET", _) if path.contains("/log") && !state.log.is_empty() => {
            let cursor = path
                .split_once("?cursor=")
                .map_or("0", |(_, cursor)| cursor);
            (200, state.log[cursor.parse::<usize>().unwrap()].clone())
        }
        ("GET", _) => read(state, path),
        _ => (405, refusal("method_not_allowed", "another method")),
    };
    match state.read.clone() {
        Some(read) if state.revoked && path.starts_with("/delegation/grants/") => read,
        _ => (status, value.to_string()),
    }
}

fn read(state: &mut State, path: &str) -> (u16, Value) {
    let Some(grant) = &state.grant else {
        return (404, refusal("grant_not_found", "never seen"));
    };
    let text = |member: &str| grant[member].as_str().unwrap().to_owned();
    let (account, id, kind) = (text("account"), text("grantId"), text("accountKind"));
    if path != format!("/delegation/grants/{account}/{id}") {
        return (404, refusal("grant_not_found", "never seen"));
    }
    let late = state.revoked && state.slow_reads > 0;
    state.slow_reads = state.slow_reads.saturating_sub(u32::from(state.revoked));
    let mut answer = json!({"state": "active", "expires_at": "2027-02-19T01:00:00Z"});
    if state.revoked && !late {
        answer["state"] = json!("revoked");
        answer["revoked_at"] = json!("2026-11-22T01:00:00Z");
        if kind == "eoa7702" {
            answer["on_chain"] = if state.disabled {
                json!({"disabled": true, "block_hash": format!("0x{}", "ab".repeat(32))})
            } else {
                json!({"disabled": false, "disable_transaction":
                    {"chain_id": 8453, "to": "0xdb9B1e94B5b69Df7e401DDbedE43491141047dB3", "value": "0", "data": "0x49934047"}})
            };
        }
    }
    (200, answer)
}

pub(crate) fn refusal(code: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": message, "charged": false, "retryable": false, "request_id": "r"}})
}
