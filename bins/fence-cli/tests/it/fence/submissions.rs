//! Tests of `order submit` and `log fetch`. A stand-in with the interface of `docs/FENCE.md` takes
//! the server's place.

use serde_json::{Value, json};
use test_support::process::Ended;

use crate::fence::{
    desk::{Desk, GRANT_ID, Refused as _},
    logs::log,
    orders::{NEW, SIGN, ordering},
    service::{Service, State, refusal},
};

const HASH: &str = "0xabababababababababababababababababababababababababababababababab";

/// A desk with a signed order.
fn ordered() -> Desk {
    let desk = ordering();
    desk.run(&format!("{NEW} --out order.json")).ok();
    desk.run(&format!(
        "order sign --in order.json {SIGN} --out ordered.json"
    ))
    .ok();
    desk
}

fn submit(desk: &Desk, service: &Service, more: &str) -> Ended {
    desk.run(&format!(
        "order submit --in ordered.json --plan swap.plan.json --request swap.request.json --url {} {more}",
        service.url
    ))
}

fn accepted(progress: Vec<Value>) -> Service {
    Service::start(State {
        submitted: Some((202, json!({"payload_digest": HASH, "state": "accepted"}))),
        progress: progress.into_iter().map(|said| (200, said)).collect(),
        ..State::default()
    })
}

fn step(kind: &str) -> Value {
    json!({"kind": kind, "tx_hash": HASH, "block_hash": HASH, "status": "success"})
}

fn done() -> Value {
    json!({"state": "done", "steps": [step("approve_reset"), step("approve"), step("call")], "allowance_read_back": "0",
        "landed": {"amount": "396000000000000000", "at_least": "395811000000000000", "ok": true}})
}

#[test]
fn a_plan_is_submitted_byte_for_byte_and_awaited() {
    let desk = ordered();
    let sending = json!({"state": "sending", "steps": [], "allowance_read_back": null});
    let service = accepted(vec![sending, done()]);
    let said = submit(&desk, &service, "");
    let digest = desk.json("order.json")["message"]["payloadDigest"].clone();
    let digest = digest.as_str().unwrap();
    assert_eq!(
        said.ok().stdout,
        format!(
            "plan {digest}: done\n\
             approve_reset     success {HASH}\n\
             approve           success {HASH}\n\
             call              success {HASH}\n\
             landed            0.396 WETH, at least 0.395811 WETH\n\
             allowance         read back: 0\n"
        )
    );
    let asked = service.requests();
    let (method, path, body) = &asked[0];
    assert_eq!(
        (method.as_str(), path.as_str()),
        ("POST", "/delegation/submissions")
    );
    for name in ["swap.plan.json", "swap.request.json"] {
        assert!(body.contains(desk.text(name).trim()), "{name}: {body}");
    }
    let body: Value = serde_json::from_str(body).unwrap();
    let ordered = desk.json("ordered.json");
    assert_eq!(body["order"], ordered["typed_data"]);
    assert_eq!(body["signature"], ordered["signature"]);
    assert_eq!(body["grant_id"], GRANT_ID);
    assert_eq!(body.get("dry_run"), None);
    let reads = format!("/delegation/submissions/{digest}");
    assert!(
        asked[1..]
            .iter()
            .all(|(method, path, _)| method == "GET" && *path == reads)
    );
    let said = submit(&desk, &accepted(vec![done()]), "--json");
    assert_eq!(said.ok().json(), done());
}

#[test]
fn the_end_of_a_plan_sets_the_exit_code() {
    let desk = ordered();
    let clean = json!({"state": "halted_clean", "steps": [step("approve_reset")], "halted_at": "approve",
        "reason": "grant_revoked", "allowance_cleared": true, "allowance_read_back": "0"});
    let said = submit(&desk, &accepted(vec![clean]), "");
    assert_eq!(said.code, 1, "{said:?}");
    for part in [
        "halted at         approve\n",
        "reason            grant_revoked\n",
    ] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    let dirty = json!({"state": "halted_dirty", "steps": [], "halted_at": "call", "reason": "grant_revoked\u{1b}[2K",
        "allowance_cleared": false, "allowance_read_back": "1000000000",
        "clear_transaction": {"chain_id": 8453, "to": HASH, "value": "0", "data": "0x095ea7b3"}});
    let said = submit(&desk, &accepted(vec![dirty]), "");
    assert_eq!(said.code, 5, "{said:?}");
    for part in [
        "read back: 1000000000",
        "send this from 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266: {",
        "0x095ea7b3",
        "\\u{1b}",
    ] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    let mut short = done();
    short["landed"]["ok"] = json!(false);
    let mut left = done();
    left["allowance_read_back"] = json!("1");
    let open = json!({"state": "sending", "steps": [], "allowance_read_back": null});
    for said in [short, left] {
        assert_eq!(submit(&desk, &accepted(vec![said]), "").code, 5);
    }
    let said = submit(&desk, &accepted(vec![open]), "--timeout 0");
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.stdout.contains("not at its end yet"), "{said:?}");
    // The server accepts the order, and cannot be reached afterwards.
    let service = Service::start(State {
        submitted: Some((202, json!({}))),
        progress: vec![(503, refusal("fence_unreadable", "later"))],
        ..State::default()
    });
    submit(&desk, &service, "--timeout 0").error(5, &["was accepted", "sends nothing twice"]);
}

#[test]
fn a_dry_run_names_the_first_rule_that_refuses() {
    let desk = ordered();
    let answered = |status, answer: Value| {
        Service::start(State {
            submitted: Some((status, answer)),
            ..State::default()
        })
    };
    let service = answered(200, json!({"admitted": true}));
    let said = submit(&desk, &service, "--dry-run");
    assert!(said.ok().stdout.starts_with("admitted: "), "{said:?}");
    let body: Value = serde_json::from_str(&service.requests()[0].2).unwrap();
    assert_eq!(body["dry_run"], true);
    assert_eq!(service.requests().len(), 1);
    let refused = json!({"admitted": false, "refused_by": "envelope_unverified", "message": "no", "expected": "a", "observed": "b",
        "check": "artifact_expiry_committed"});
    let said = submit(&desk, &answered(200, refused.clone()), "--dry-run");
    let words = said.refused_by("envelope_unverified");
    for part in [
        "expected: a",
        "observed: b",
        "check: artifact_expiry_committed",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    let said = submit(&desk, &answered(200, refused.clone()), "--dry-run --json");
    assert_eq!((said.code, said.json()), (1, refused));
    submit(&desk, &answered(200, json!({})), "--dry-run").error(4, &["not that of a dry run"]);
    let mut busy = refusal("plan_in_flight", "another plan");
    busy["error"]["observed"] = json!("one on its way");
    let said = submit(&desk, &answered(409, busy), "");
    assert!(said.refused_by("plan_in_flight").contains("one on its way"));
}

#[test]
fn a_malformed_submission_is_not_sent() {
    let desk = ordered();
    let service = Service::start(State::default());
    let submit = |order: &str, plan: &str, request: &str| {
        desk.run(&format!(
            "order submit --in {order} --plan {plan} --request {request} --url {}",
            service.url
        ))
    };
    submit("order.json", "swap.plan.json", "swap.request.json").refused_by("not_signed");
    submit("ordered.json", "swap.request.json", "swap.plan.json").refused_by("plan_malformed");
    submit("ordered.json", "swap.plan.json", "fees.toml").error(3, &["--request: not JSON"]);
    submit("-", "-", "swap.request.json").error(2, &["only one of"]);
    assert_eq!(service.requests().len(), 0);
}

#[test]
fn all_pages_of_a_log_are_fetched() {
    let desk = ordering();
    let whole: Value = serde_json::from_str(&log()).unwrap();
    let page = |from: usize, next: Value| json!({"records": [whole["records"][from]], "next_cursor": next});
    let service = Service::start(State {
        log: vec![
            page(0, json!("1")),
            page(1, json!("2")),
            page(2, Value::Null),
        ],
        ..State::default()
    });
    let fetch = |service: &Service, more: &str| {
        desk.run(&format!(
            "log fetch --grant grant.json --url {} {more}",
            service.url
        ))
    };
    let said = fetch(&service, "--out log.json");
    assert!(said.ok().stderr.starts_with("3 records."), "{said:?}");
    assert_eq!(desk.json("log.json"), whole);
    desk.run("log verify --in log.json").ok();
    // The file exists already. The tool does not overwrite it, and asks for nothing.
    let asked = service.requests().len();
    fetch(&service, "--out log.json").error(3, &["exists already"]);
    assert_eq!(service.requests().len(), asked);
    let none = Service::start(State::default());
    fetch(&none, "").refused_by("grant_not_found");
    for page in [
        json!({"records": [], "next_cursor": "1&x=/.."}),
        json!({"records": {}}),
        json!({"records": [], "next_cursor": 7}),
    ] {
        let service = Service::start(State {
            log: vec![page],
            ..State::default()
        });
        fetch(&service, "").error(4, &["not the log of a grant"]);
    }
}
