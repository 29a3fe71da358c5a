//! Tests of the limits of mandates: their terms, their number, their end.

use alloy_primitives::B256;
use reqwest::Method;
use serde_json::{Value, json};
use test_support::eventually;

use super::{HOUR, audit, beside, body, buy, create, recorded, shop, terms};
use crate::routes::shop::{clock_at, recorded_at};
use crate::support::buyer::Answer;

#[tokio::test(flavor = "multi_thread")]
async fn terms_that_are_out_of_bounds_are_refused_with_every_path() {
    let shop = shop(clock_at(0)).await;
    let buyer = &shop.world.buyer;
    let before = shop.world.paid();
    let paths = |answer: &Answer| -> Vec<String> {
        answer.is_refused(400, "invalid_params");
        let problems = answer.body()["error"]["problems"].clone();
        let path = |problem: &Value| problem["path"].as_str().unwrap().to_owned();
        problems.as_array().unwrap().iter().map(path).collect()
    };
    let mut wrong = body("notify", 24 * HOUR);
    wrong["rules"]["check_interval"] = json!(3_599);
    wrong["rules"]["min_apy_delta_bps"] = json!(0);
    wrong["mode"] = json!("perhaps");
    assert_eq!(
        paths(&create(buyer, &wrong).await),
        [
            "body.rules.min_apy_delta_bps",
            "body.rules.check_interval",
            "body.mode"
        ]
    );
    // These terms are well-formed, so only the work of the call can refuse them.
    let mut late = body("notify", 181 * 24 * HOUR);
    late["rules"]["allowed_protocols"] = json!(["Aave V3"]);
    assert_eq!(
        paths(&create(buyer, &late).await),
        ["body.rules.allowed_protocols", "body.expires_at"]
    );
    assert_eq!(shop.world.paid(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_has_twenty_active_mandates_at_most() {
    let shop = shop(clock_at(0)).await;
    let buyer = &shop.world.buyer;
    let mandates = beside(shop.world.folder());
    for number in 0..20 {
        let payment = B256::repeat_byte(number);
        let made = mandates.create(payment, terms(buyer.address(), 24 * HOUR), None);
        made.await.unwrap();
    }
    let answer = create(buyer, &body("notify", 24 * HOUR)).await;
    answer.is_refused(422, "unsupported");
    let error = answer.body()["error"].clone();
    assert_eq!(
        (error["reason"].as_str(), error["limit"].as_u64()),
        (Some("too_many_mandates"), Some(20))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_mandate_is_recorded_and_a_clock_that_goes_back_is_survived() {
    let clock = clock_at(0);
    let shop = shop(clock.clone()).await;
    let buyer = &shop.world.buyer;
    let made = |answer: Answer| answer.body()["data"]["id"].as_str().unwrap().to_owned();
    let short = made(create(buyer, &body("notify", 2 * HOUR)).await);
    let long = made(create(buyer, &body("notify", 48 * HOUR)).await);
    clock.set(3 * HOUR);
    let expired = async || {
        let records = audit(buyer, &short).await;
        (records.last().unwrap()["decision"] == "expired").then_some(())
    };
    eventually("the end of the mandate", expired).await;
    recorded(&shop.world, &long, 2).await;
    let target = format!("/yield-watch?id={short}");
    let ended = buy(buyer, Method::DELETE, &target).await;
    let expected = (recorded_at() + jiff::SignedDuration::from_secs(2 * HOUR)).to_string();
    assert_eq!(
        (ended["state"].as_str(), ended["confirmed_at"].as_str()),
        (Some("expired"), Some(expected.as_str()))
    );
    // The clock goes back to a time before the last record.
    clock.set(HOUR);
    let target = format!("/yield-watch?id={long}");
    assert_eq!(
        buy(buyer, Method::DELETE, &target).await["state"],
        "cancelled"
    );
    let records = audit(buyer, &long).await;
    assert_eq!(records.last().unwrap()["decision"], "cancelled");
}
