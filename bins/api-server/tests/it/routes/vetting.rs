//! Tests of the evidence against a token that is not part of its scan, and of quoted sales of a
//! token that cannot be bought.

use serde_json::{Value, json};

use crate::routes::shop::{Shop, clock_at, recorded_at, source, unavailable};

const USDG: &str = "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8";
const WOKB: &str = "0xe538905cf8410324e03A5A23C1c177a474D59b2b";

#[tokio::test]
async fn a_name_from_a_list_does_not_age_a_scan() {
    let clock = clock_at(-3600);
    let shop = Shop::by_the_clock(clock.clone()).await;
    shop.buy("/all-tokens").await;
    clock.set(0);
    let body = shop.buy(&format!("/token-security?address={USDG}")).await;
    assert_eq!(body["data"]["token"]["symbol"], "USDG");
    assert_eq!(source(&body, "okx.all-tokens")["status"], "ok");
    let market = source(&body, "okx.price-info")["as_of"].as_str().unwrap();
    assert_eq!(
        (&body["meta"]["as_of"], &body["meta"]["verdict"]),
        (&json!(market), &json!("fresh"))
    );
}

#[tokio::test]
async fn the_markets_evidence_against_a_token_counts() {
    let shop = Shop::in_scenario("origin_against").await;
    let body = shop.buy(&format!("/token-security?address={WOKB}")).await;
    let data = &body["data"];
    assert_eq!(
        (&data["verdict"], &data["risk_level"]),
        (&json!("danger"), &json!("critical"))
    );
    assert_eq!(
        data["flags"],
        json!([
            "honeypot",
            "linked_to_rug_pulls",
            "rated_high",
            "severe_checks_unknown"
        ])
    );
    assert_eq!(
        data["checks"]["honeypot"],
        json!({"value": true, "source": "okx.advanced-info", "disputed_by": "okx.token-scan"})
    );
    let vetted = shop.buy(&format!("/vet-token?address={WOKB}")).await;
    assert_eq!(vetted["data"]["verdict"], "danger");
    assert_eq!(vetted["data"]["security"]["verdict"], "danger");
    let plain = Shop::open().await;
    let body = plain.buy(&format!("/token-security?address={WOKB}")).await;
    assert_eq!(body["data"]["sources"], json!(["okx.token-scan"]));
}

#[tokio::test]
async fn a_token_that_can_be_neither_bought_nor_sold_is_not_traded() {
    let shop = Shop::in_scenario("not_traded").await;
    let body = shop.buy(&format!("/vet-token?address={WOKB}")).await;
    let trade = &body["data"]["tradeability"];
    assert_eq!(
        (&trade["can_buy"], &trade["can_sell"]),
        (&json!(false), &json!(false))
    );
    let flags = body["data"]["flags"].as_array().unwrap();
    assert!(flags.contains(&json!("not_traded")), "{flags:?}");
    assert_eq!(body["data"]["verdict"], "caution");
}

#[tokio::test]
async fn a_sale_is_tried_for_a_token_that_cannot_be_bought() {
    let shop = Shop::in_scenario("sale_only").await;
    let body = shop.buy(&format!("/vet-token?address={USDG}")).await;
    let trade = &body["data"]["tradeability"];
    assert_eq!(
        (&trade["can_buy"], &trade["can_sell"]),
        (&json!(false), &json!(true))
    );
    // The sale is worth ten dollars, at 0.9999 dollars for each token.
    assert_eq!(trade["sell_quote"][0]["amount_in_atoms"], "10001000");
    assert_eq!(
        trade["buy_quote"][0],
        json!({"usd": "10", "status": "no_route"})
    );
    // The quote does not name its pools. The answer does not claim that there are none.
    assert_eq!(trade["sell_quote"][0]["hops"], Value::Null);
    for field in ["sell_quote[].hops", "route_count"] {
        let entry = unavailable(&body, &format!("data.tradeability.{field}"));
        assert_eq!(
            (&entry["reason"], &entry["source"]),
            (&json!("not_named_by_source"), &json!("okx.quote")),
            "{field}"
        );
    }
    assert_eq!(
        unavailable(&body, "data.tradeability.round_trip[].loss_pct")["reason"],
        "no_route"
    );
}

#[tokio::test]
async fn a_price_that_is_derived_from_a_quote_is_as_old_as_the_quote() {
    let clock = clock_at(0);
    let shop = Shop::by_the_clock(clock.clone()).await;
    let target = "/vet-token?address=0x7777777777777777777777777777777777777777";
    let quoted = shop.buy(target).await;
    assert_eq!(quoted["data"]["price"]["confidence"], "derived");
    // Quotes are cached for half a minute.
    clock.set(20);
    let kept = shop.buy(target).await;
    assert_eq!(
        kept["data"]["price"]["as_of"],
        recorded_at().to_string().as_str()
    );
    assert_eq!(kept["data"]["price"], quoted["data"]["price"]);
}
