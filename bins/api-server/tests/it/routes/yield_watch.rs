//! Tests of mandates over HTTP: created, checked, read, verified and cancelled by their payer.

mod acting;
mod bounds;

use std::path::Path;
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use dev_chain::{DEV_ACCOUNTS, DevChain, USDT0};
use replay::Recordings;
use reqwest::Method;
use route_catalog::Operation;
use serde_json::{Value, json};
use test_support::ManualClock;
use test_support::eventually;
use watch_server::{Clock, Mandates, SqliteStore, Store, Terms, mandate_id};
use x402_wire::PaymentPayload;
use yield_watch::{AuditRecord, Mode, verify};

use crate::routes::shop::{Shop, clock_at, recorded_at, well_formed};
use crate::support::World;
use crate::support::buyer::{Answer, Buyer, header_of};

const HOUR: i64 = 3_600;

/// A server over a clock that a test moves. Data ages by that clock, too.
async fn shop(clock: Arc<ManualClock>) -> Shop {
    Shop::by_the_clock(clock).await
}

fn rules() -> Value {
    json!({
        "min_apy_delta_bps": 50,
        "max_slippage_bps": 50,
        "max_move_usd": "1000",
        "allowed_protocols": ["aave-v3"],
        "check_interval": 3_600,
        "max_moves_per_day": 24,
        "min_gain_usd": "0",
    })
}

/// The body that creates a mandate, which ends this many seconds after the recordings.
fn body(mode: &str, seconds: i64) -> Value {
    let expires_at = recorded_at() + jiff::SignedDuration::from_secs(seconds);
    json!({"rules": rules(), "mode": mode, "expires_at": expires_at.to_string()})
}

async fn payment(buyer: &Buyer, method: Method, target: &str) -> Value {
    buyer.signed(&buyer.draft(method, target).await)
}

async fn send(
    buyer: &Buyer,
    method: Method,
    target: &str,
    body: Option<&Value>,
    payment: &Value,
) -> Answer {
    let request = buyer
        .request(method, target)
        .header("payment-signature", header_of(payment));
    buyer
        .send(match body {
            Some(body) => request.body(body.to_string()),
            None => request,
        })
        .await
}

async fn create(buyer: &Buyer, body: &Value) -> Answer {
    let payment = payment(buyer, Method::POST, "/yield-watch").await;
    send(buyer, Method::POST, "/yield-watch", Some(body), &payment).await
}

/// Buys an answer. Returns its data.
async fn buy(buyer: &Buyer, method: Method, target: &str) -> Value {
    let payment = payment(buyer, method.clone(), target).await;
    let answer = send(buyer, method, target, None, &payment).await;
    assert_eq!(answer.status, 200, "{target}: {}", answer.text);
    well_formed(target, &answer.body());
    answer.body()["data"].clone()
}

async fn refused(buyer: &Buyer, method: Method, target: &str, status: u16, code: &str) -> Value {
    let payment = payment(buyer, method.clone(), target).await;
    let answer = send(buyer, method, target, None, &payment).await;
    answer.is_refused(status, code);
    answer.body()["error"].clone()
}

/// Reads the whole audit of a mandate, and verifies it as a client does.
async fn audit(buyer: &Buyer, id: &str) -> Vec<Value> {
    let target = format!("/yield-watch/audit?id={id}");
    let mut page = buy(buyer, Method::GET, &target).await;
    let mut records = page["records"].as_array().unwrap().clone();
    while let Some(cursor) = page["next_cursor"].as_str() {
        page = buy(buyer, Method::GET, &format!("{target}&cursor={cursor}")).await;
        records.extend(page["records"].as_array().unwrap().clone());
    }
    verify(&records).unwrap();
    records
}

fn decisions(records: &[Value]) -> Vec<&str> {
    records
        .iter()
        .map(|record| record["decision"].as_str().unwrap())
        .collect()
}

fn file(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder.join("ledger.watch.db")).unwrap()
}

/// Waits until a mandate has this many records, because checks run in the background.
async fn recorded(world: &World, id: &str, count: usize) -> Vec<AuditRecord> {
    let store = file(world.folder());
    let recorded = async || {
        let records = store.records(id, 0, 999).await.unwrap();
        (records.len() >= count).then_some(records)
    };
    eventually(&format!("{count} records"), recorded).await
}

fn owner(payer: Address) -> String {
    format!("eip155:196:{payer:#x}")
}

/// The mandates in a server's file, opened as a second process would open them.
fn beside(folder: &Path) -> Mandates {
    let clock: Clock = Arc::new(recorded_at);
    Mandates::new(Arc::new(file(folder)), clock)
}

fn terms(payer: Address, seconds: i64) -> Terms {
    Terms {
        owner: owner(payer),
        rules: serde_json::from_value(rules()).unwrap(),
        mode: Mode::Notify,
        expires_at: recorded_at() + jiff::SignedDuration::from_secs(seconds),
    }
}

/// Creates a mandate for `payer` in a server's file, as a second process would.
pub(crate) async fn mandate_in(folder: &Path, payer: Address) -> String {
    let mandates = beside(folder);
    let made = mandates.create(B256::ZERO, terms(payer, 24 * HOUR), None);
    made.await.unwrap().watched.mandate().id.clone()
}

/// Asserts that an answer has the members of the catalog's example, at every level that both have.
fn fits(operation: Operation, data: &Value) {
    fn differ(path: &str, documented: &Value, given: &Value) {
        match (documented, given) {
            (Value::Object(documented), Value::Object(given)) => {
                let names = |of: &serde_json::Map<String, Value>| -> Vec<String> {
                    of.keys().cloned().collect()
                };
                assert_eq!(names(documented), names(given), "{path}");
                for (name, member) in documented {
                    differ(&format!("{path}.{name}"), member, &given[name]);
                }
            }
            (Value::Array(documented), Value::Array(given)) => {
                if let (Some(one), Some(other)) = (documented.first(), given.first()) {
                    differ(&format!("{path}[]"), one, other);
                }
            }
            _ => {}
        }
    }
    let example: Value = serde_json::from_str(operation.route().example).unwrap();
    differ(operation.name(), &example, data);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mandate_is_created_checked_read_verified_and_cancelled() {
    let clock = clock_at(0);
    let mut shop = shop(clock.clone()).await;
    let before = shop.world.paid();
    let answer = create(&shop.world.buyer, &body("notify", 24 * HOUR)).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    assert!(shop.world.paid() > before);
    well_formed("/yield-watch", &answer.body());
    let made = answer.body()["data"].clone();
    fits(Operation::CreateYieldWatch, &made);
    let id = made["id"].as_str().unwrap().to_owned();
    assert_eq!((made["state"].as_str(), id.len()), (Some("active"), 32));

    // The first check comes soon after the creation. The next one comes an interval later, and
    // finds the yields stale.
    clock.set(90);
    recorded(&shop.world, &id, 2).await;
    clock.set(3 * HOUR);
    recorded(&shop.world, &id, 3).await;
    let buyer = &shop.world.buyer;
    let records = audit(buyer, &id).await;
    assert_eq!(decisions(&records), ["created", "no_change", "stale_data"]);
    assert!(records[1]["action"]["inputs"]["best"]["apy_pct"].is_string());
    fits(
        Operation::AuditYieldWatch,
        &json!({"records": records, "next_cursor": null}),
    );

    let listed = buy(buyer, Method::GET, "/yield-watch").await;
    fits(Operation::ListYieldWatch, &listed);
    assert_eq!(listed["next_cursor"], Value::Null);
    let one = buy(buyer, Method::GET, &format!("/yield-watch?id={id}")).await;
    assert_eq!(one, listed);
    let shown = &listed["mandates"][0];
    assert_eq!(shown["last_decision"], "stale_data");
    assert_eq!(shown["rules"], rules());
    assert!(shown["next_check_at"].as_str() > shown["last_check_at"].as_str());

    // A new process continues on the same files.
    shop.world.restart().await;
    let buyer = &shop.world.buyer;
    clock.set(5 * HOUR);
    recorded(&shop.world, &id, 4).await;
    let target = format!("/yield-watch?id={id}");
    let cancelled = buy(buyer, Method::DELETE, &target).await;
    fits(Operation::CancelYieldWatch, &cancelled);
    assert_eq!(cancelled["state"], "cancelled");
    clock.set(6 * HOUR);
    let again = buy(buyer, Method::DELETE, &target).await;
    assert_eq!(again, cancelled);
    let records = audit(buyer, &id).await;
    let last = records.last().unwrap();
    assert_eq!(
        (last["decision"].as_str(), &last["at"]),
        (Some("cancelled"), &cancelled["confirmed_at"])
    );
    let listed = buy(buyer, Method::GET, "/yield-watch").await;
    assert_eq!(listed["mandates"][0]["state"], "cancelled");
    assert_eq!(listed["mandates"][0]["next_check_at"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_makes_one_mandate_however_often_it_comes() {
    let shop = shop(clock_at(0)).await;
    let buyer = &shop.world.buyer;
    let terms_body = body("notify", 24 * HOUR);
    let mut paid = payment(buyer, Method::POST, "/yield-watch").await;
    // The server gives an answer about mandates again only for a payment with an identifier.
    paid["extensions"] = json!({
        "payment-identifier": { "info": { "id": "a-random-identifier-of-mine" } },
    });
    let first = send(
        buyer,
        Method::POST,
        "/yield-watch",
        Some(&terms_body),
        &paid,
    )
    .await;
    let again = send(
        buyer,
        Method::POST,
        "/yield-watch",
        Some(&terms_body),
        &paid,
    )
    .await;
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(again.text, first.text);

    // This is the state that a process leaves when it ends between the creation and the settlement:
    // a mandate without a payment.
    let left = payment(buyer, Method::POST, "/yield-watch").await;
    let payload = PaymentPayload::from_header(header_of(&left).as_bytes()).unwrap();
    let digest = payload.authorization_key().unwrap().digest();
    let made = beside(shop.world.folder())
        .create(digest, terms(buyer.address(), 24 * HOUR), None)
        .await
        .unwrap();
    // The same authorization for other terms is refused, uncharged.
    let before = shop.world.paid();
    let other = body("notify", 25 * HOUR);
    let refused = send(buyer, Method::POST, "/yield-watch", Some(&other), &left).await;
    refused.is_refused(409, "payment_bound_elsewhere");
    assert_eq!(shop.world.paid(), before);
    let answer = send(
        buyer,
        Method::POST,
        "/yield-watch",
        Some(&terms_body),
        &left,
    )
    .await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    let id = answer.body()["data"]["id"].as_str().unwrap().to_owned();
    assert_eq!(id, made.watched.mandate().id);
    assert_eq!(id, mandate_id(digest));
    let listed = buy(buyer, Method::GET, "/yield-watch").await;
    assert_eq!(listed["mandates"].as_array().unwrap().len(), 2);
    // The list has the newest mandate first, and continues page by page.
    let page = buy(buyer, Method::GET, "/yield-watch?limit=1").await;
    // A check between the two answers changes other members.
    assert_eq!(page["mandates"][0]["id"], listed["mandates"][0]["id"]);
    let cursor = page["next_cursor"].as_str().unwrap();
    let target = format!("/yield-watch?limit=1&cursor={cursor}");
    let rest = buy(buyer, Method::GET, &target).await;
    assert_eq!(rest["mandates"][0]["id"], listed["mandates"][1]["id"]);
    assert_eq!(rest["next_cursor"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mandate_is_seen_by_its_payer_alone() {
    let other = DEV_ACCOUNTS[2];
    let chain = DevChain::builder()
        .chain_196_assets()
        .holder(USDT0, other.address, U256::from(1_000_000))
        .build()
        .unwrap();
    let recordings = Recordings::embedded().unwrap();
    let clock = clock_at(0);
    let world = Box::pin(World::over(chain, clock, recordings, |_, _, _| {})).await;
    let answer = create(&world.buyer, &body("notify", 24 * HOUR)).await;
    let id = answer.body()["data"]["id"].as_str().unwrap().to_owned();
    let other = Buyer::new(other, world.buyer.base());
    let target = format!("/yield-watch?id={id}");
    for (method, target) in [
        (Method::GET, target.clone()),
        (Method::DELETE, target),
        (Method::GET, format!("/yield-watch/audit?id={id}")),
    ] {
        let error = refused(&other, method, &target, 404, "not_found").await;
        assert_eq!(error["reason"], "mandate_not_found", "{target}");
    }
    let listed = buy(&other, Method::GET, "/yield-watch").await;
    assert_eq!(listed["mandates"], json!([]));
    let cursor = format!("/yield-watch?cursor={id}");
    refused(&other, Method::GET, &cursor, 400, "invalid_params").await;
    assert_eq!(decisions(&audit(&world.buyer, &id).await)[0], "created");
}
