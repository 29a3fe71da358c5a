//! Tests of accepted requests and their answers.

use alloy_primitives::B256;
use delegation_fence::{RevocationReceipt, Sending, verify_log};
use serde_json::{Value, json};

use crate::delegation::sample::{ACCOUNT, NOW};
use crate::delegation::served::{Served, body, config};
use crate::delegation::stage::{GRANT_ID, at, fence_policy, grant, limit, owner, revocation, sign};
use crate::delegation::world::ordered;

const AMOUNT: u64 = 1_000_000_007;

#[tokio::test]
async fn a_permission_from_its_grant_to_its_end() {
    let served = Served::new().await;
    let signed = sign(grant(GRANT_ID), &owner()).to_json();
    let path = format!("/delegation/grants/{ACCOUNT}/{GRANT_ID}");
    assert_eq!(
        served.get(&path).await.error(),
        (404, "grant_not_found".to_owned())
    );
    assert_eq!(served.get(&format!("{path}/log")).await.error().0, 404);

    let granted = json!({
        "account": ACCOUNT.to_string(),
        "grant_id": GRANT_ID.to_string(),
        "state": "active",
        "expires_at": at(grant(GRANT_ID).expires_at).to_string(),
    });
    assert_eq!(
        served.post("/delegation/grants", &signed).await.ok(201),
        granted
    );
    assert_eq!(
        served.post("/delegation/grants", &signed).await.ok(200),
        granted
    );
    let read = served.get(&path).await.ok(200);
    assert_eq!(
        read,
        json!({"state": "active", "expires_at": granted["expires_at"]})
    );
    // A path may write an address with digits of any case.
    let lower = path.replace(&ACCOUNT.to_string(), &format!("{ACCOUNT:#x}"));
    assert_eq!(served.get(&lower).await.ok(200), read);

    let limited = served
        .post("/delegation/limits", limit(2_000_000_000).to_json())
        .await;
    let tightest = json!({
        "account": ACCOUNT.to_string(),
        "grant_id": GRANT_ID.to_string(),
        "per_swap_cap": "2000000000",
        "max_swaps": null,
        "outflow_24h": null,
    });
    assert_eq!(limited.ok(200), tightest);

    // The plan is tried in a dry run and then submitted.
    let plan = ordered(AMOUNT, GRANT_ID);
    let submissions = "/delegation/submissions";
    let tried = served
        .post(submissions, body(&plan, Some(true)).to_string())
        .await;
    assert_eq!(tried.ok(200), json!({"admitted": true}));
    let digest = plan.order.message().payload_digest;
    let look_up = format!("{submissions}/{digest}");
    assert_eq!(
        served.get(&look_up).await.error(),
        (404, "submission_not_found".to_owned())
    );
    let accepted = json!({"payload_digest": digest.to_string(), "state": "accepted"});
    let submitted = body(&plan, None).to_string();
    assert_eq!(served.post(submissions, &submitted).await.ok(202), accepted);
    assert_eq!(served.post(submissions, &submitted).await.ok(200), accepted);
    let said = served.get(&look_up).await.ok(200);
    assert_eq!(
        said,
        json!({
            "payload_digest": digest.to_string(),
            "account": ACCOUNT.to_string(),
            "grant_id": GRANT_ID.to_string(),
            "state": "accepted",
            "accepted_at": at(NOW).to_string(),
            "steps": [],
            "allowance_read_back": null,
        })
    );

    let signed = revocation(GRANT_ID, NOW);
    let revoked = served
        .post("/delegation/revocations", signed.to_json())
        .await;
    let receipt = RevocationReceipt::parse(&revoked.text).unwrap();
    assert_eq!(revoked.ok(200)["state"], "revoked");
    assert_eq!(receipt.revocation(), &signed);
    let read = served.get(&path).await.ok(200);
    assert_eq!(
        (&read["state"], &read["revoked_at"]),
        (&json!("revoked"), &json!(at(NOW).to_string()))
    );

    let log = served.get(&format!("{path}/log?cursor=0")).await;
    assert_eq!(log.ok(200)["next_cursor"], Value::Null);
    let verified = verify_log([log.text.as_str()]).unwrap();
    receipt.require_in(&verified).unwrap();
    let events = log.json()["records"].as_array().unwrap().clone();
    let events: Vec<&str> = events
        .iter()
        .filter_map(|record| record["event"].as_str())
        .collect();
    assert_eq!(events, ["granted", "limited", "admitted", "revoked"]);
    let rest = served.get(&format!("{path}/log?cursor=2")).await.ok(200);
    assert_eq!(rest["records"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_policy_is_its_canonical_bytes_with_their_digest() {
    let served = Served::new().await;
    let policy = fence_policy(1);
    let answer = served.get("/delegation/policy").await;
    assert_eq!(
        (answer.status, answer.text.as_str()),
        (200, policy.canonical())
    );
    let tag = format!("\"{}\"", policy.digest());
    assert_eq!(answer.headers["etag"], tag.as_str());
    for known in [tag.clone(), format!("W/{tag}, \"other\""), "*".to_owned()] {
        let request = served.request("GET", "/delegation/policy");
        let answer = served.send(request.header("If-None-Match", known)).await;
        assert_eq!((answer.status, answer.text.as_str()), (304, ""));
    }
    let request = served.request("GET", "/delegation/policy");
    let answer = served
        .send(request.header("If-None-Match", "\"0x00\""))
        .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn the_status_is_read_back_now() {
    let served = Served::new().await;
    let status = served.get("/delegation/status").await;
    assert_eq!(status.headers["cache-control"], "no-store");
    let record = |present: bool| {
        json!({
            "present": present,
            "policy_name": fence_policy(1).name().to_string(),
            "per_swap_cap_usd": 5000,
            "project_id": crate::delegation::stage::PROJECT,
            "rules_digest": fence_policy(1).digest().to_string(),
        })
    };
    assert_eq!(status.ok(200), record(true));
    served
        .store
        .install(fence_policy(2), at(NOW))
        .await
        .unwrap();
    assert_eq!(
        served.get("/delegation/status").await.ok(200),
        record(false)
    );
    let refused = served.get("/delegation/policy").await.error();
    assert_eq!(refused, (403, "fence_name_mismatch".to_owned()));
    let signed = sign(grant(GRANT_ID), &owner()).to_json();
    let refused = served.post("/delegation/grants", signed).await.error();
    assert_eq!(refused, (403, "fence_name_mismatch".to_owned()));
    let revoked = served
        .post(
            "/delegation/revocations",
            revocation(GRANT_ID, NOW).to_json(),
        )
        .await;
    assert_eq!(revoked.ok(200)["state"], "revoked");
}

/// The report of a sent plan follows its recorded events.
#[tokio::test]
async fn a_send_is_reported_as_it_was_read_back() {
    use calldata_checks::StepKind;
    use delegation_fence::{Block, ClearObstacle, Event, HaltReason, Transaction};

    let served = Served::new().await;
    let signed = sign(grant(GRANT_ID), &owner()).to_json();
    served.post("/delegation/grants", signed).await.ok(201);
    let plan = ordered(AMOUNT, GRANT_ID);
    served
        .post("/delegation/submissions", body(&plan, None).to_string())
        .await
        .ok(202);
    let digest = plan.order.message().payload_digest;
    let lease = served
        .store
        .acquire(ACCOUNT, "test", at(NOW), 60)
        .await
        .unwrap()
        .unwrap();
    let block = |number: u8| Block {
        number: number.into(),
        hash: B256::repeat_byte(number),
    };
    let step = Transaction::Step;
    let amount = alloy_primitives::U256::from(AMOUNT);
    let sealed = |kind, number, effective, allowance| Event::Sealed {
        transaction: step(kind),
        hash: B256::repeat_byte(0xf0 + number),
        block: block(number),
        effective,
        allowance,
    };
    for event in [
        Event::Ordered(step(StepKind::ApproveReset)),
        sealed(
            StepKind::ApproveReset,
            1,
            true,
            alloy_primitives::U256::ZERO,
        ),
        Event::Ordered(step(StepKind::Approve)),
        sealed(StepKind::Approve, 2, true, amount),
        Event::Ordered(step(StepKind::Call)),
        sealed(StepKind::Call, 3, false, amount),
        Event::Halting {
            at: StepKind::Call,
            reason: HaltReason::Reverted,
        },
        Event::ReadBack {
            allowance: amount,
            block: block(4),
        },
        Event::ClearImpossible(ClearObstacle::NoGas),
    ] {
        let kept = served.store.submission(digest).await.unwrap().unwrap();
        served
            .store
            .write(kept.append(event, lease, at(NOW)).unwrap())
            .await
            .unwrap();
    }
    let kept = served.store.submission(digest).await.unwrap().unwrap();
    assert_eq!(
        kept.sending()
            .map(|sending: Sending| sending.state().as_str()),
        Ok("halted_dirty")
    );
    let said = served
        .get(&format!("/delegation/submissions/{digest}"))
        .await
        .ok(200);
    let hash = |byte: u8| B256::repeat_byte(byte).to_string();
    assert_eq!(said["state"], "halted_dirty");
    assert_eq!(
        said["steps"],
        json!([
            {"kind": "approve_reset", "tx_hash": hash(0xf1), "block_hash": hash(1), "status": "success"},
            {"kind": "approve", "tx_hash": hash(0xf2), "block_hash": hash(2), "status": "success"},
            {"kind": "call", "tx_hash": hash(0xf3), "block_hash": hash(3), "status": "reverted"},
        ])
    );
    assert_eq!(said["halted_at"], "call");
    assert_eq!(said["reason"], "step_reverted");
    assert_eq!(said["allowance_cleared"], false);
    assert_eq!(said["allowance_read_back"], AMOUNT.to_string());
    assert_eq!(said["read_back_block_hash"], hash(4));
    let clear = &said["clear_transaction"];
    assert_eq!(clear["chain_id"], 8453);
    assert_eq!(clear["to"], crate::delegation::sample::USDC.to_string());
    assert_eq!(clear["value"], "0");
    // Only the account itself can clear the allowance, and the service has its key.
    assert_eq!(
        clear["from"],
        crate::delegation::sample::ACCOUNT.to_string()
    );
    assert!(clear["sent_by"].as_str().unwrap().contains("the service"));
    assert!(clear["data"].as_str().unwrap().starts_with("0x095ea7b3"));
    // Another plan waits until the allowance is cleared.
    let next = body(&ordered(AMOUNT + 1, GRANT_ID), None).to_string();
    let refused = served.post("/delegation/submissions", next).await.error();
    assert_eq!(refused, (409, "plan_in_flight".to_owned()));
}

#[tokio::test]
async fn without_the_section_there_are_no_delegations() {
    let folder = tempfile::tempdir().unwrap();
    let service = api_server::ApiServer::open(&config(&folder)).await.unwrap();
    let address = service.local_addr();
    tokio::spawn(service.run(std::future::pending()));
    for path in ["status", "grants", "submissions"] {
        let url = format!("http://{address}/delegation/{path}");
        let answer = test_support::http_client().get(url).send().await.unwrap();
        assert_eq!(answer.status(), 404);
        let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
        assert_eq!(body["error"]["reason"], "no_delegation");
    }
    assert!(!folder.path().join("service.fence.db").exists());
}
