//! Lists whose indices cannot be trusted, and invalid answers.

use std::time::Duration;

use super::*;

#[tokio::test]
async fn contexts_must_fit_their_universe() {
    assert_eq!(
        place(contexts(|body| drop(body[1].as_array_mut().unwrap().pop())).await),
        "$[1]"
    );
    assert_eq!(
        place(contexts(|body| drop(body.as_array_mut().unwrap().pop())).await),
        "$"
    );
    assert_eq!(place(contexts(|body| body[1] = json!({})).await), "$[1]");
    assert_eq!(
        place(contexts(|body| body[1][2] = Value::Null).await),
        "$[1][2]"
    );
}

#[tokio::test]
async fn every_entry_of_a_universe_is_read() {
    for (member, wrong) in [
        ("name", json!(7)),
        ("name", json!("E\u{200b}TH")),
        ("name", Value::Null),
        ("szDecimals", json!("4")),
        ("szDecimals", json!(256)),
        ("szDecimals", Value::Null),
        ("maxLeverage", json!(-1)),
        ("maxLeverage", json!(2.5)),
        ("isDelisted", json!("no")),
    ] {
        // The wrong entry is not the requested one: a list with any defect has no trustworthy
        // indices.
        let result = contexts(|body| body[0]["universe"][2][member] = wrong.clone()).await;
        assert_eq!(
            place(result),
            format!("$[0].universe[2].{member}"),
            "{wrong}"
        );
    }
    assert_eq!(
        place(contexts(|body| body[0]["universe"][2]["name"] = json!("BTC")).await),
        "$[0].universe[2]"
    );
    assert_eq!(
        place(contexts(|body| body[0]["universe"] = json!({})).await),
        "$[0].universe"
    );
}

#[tokio::test]
async fn the_list_of_dexes_starts_with_null() {
    let list = |change: fn(&mut Vec<Value>)| {
        let mut body = recorded("hyperliquid/perp_dexs.json");
        change(body.as_array_mut().unwrap());
        async move { with("perpDexs", json(&body), "xyz:GOLD").await }
    };
    // Without the entry, every dex would have its neighbour's ids.
    assert_eq!(place(list(|dexes| drop(dexes.remove(0))).await), "$");
    assert_eq!(place(list(Vec::clear).await), "$");
    assert_eq!(
        place(list(|dexes| dexes[2]["name"] = json!("xyz")).await),
        "$[2]"
    );
    assert_eq!(
        place(list(|dexes| dexes[2]["name"] = json!(2)).await),
        "$[2].name"
    );
    // A removed dex keeps its index.
    let behind = list(|dexes| dexes.insert(1, Value::Null)).await.unwrap();
    assert_eq!((behind.dex_index, behind.asset_id), (2, 120_002));
}

/// Only listed dexes are asked about: `null` about one is the venue's contradiction, and not the
/// caller's mistake.
#[tokio::test]
async fn null_about_a_listed_dex_is_malformed() {
    for (kind, coin) in [
        ("meta", "xyz:GOLD"),
        ("metaAndAssetCtxs", "xyz:GOLD"),
        ("meta", "BTC"),
        ("metaAndAssetCtxs", "BTC"),
        ("perpDexs", "xyz:GOLD"),
    ] {
        assert_eq!(
            place(with(kind, raw("null"), coin).await),
            "$",
            "{kind} {coin}"
        );
    }
    let server = serving(|asked| (asked == "maxBuilderFee").then(|| raw("null"))).await;
    let venue = venue(config(&server), &recorded_clock());
    let approved = venue.max_builder_fee(Address::ZERO, Address::ZERO).await;
    assert_eq!(place(approved), "$");
}

#[tokio::test]
async fn failures_of_the_upstream_name_the_call() {
    for (kind, call) in [
        ("perpDexs", "perp-dexs"),
        ("meta", "meta"),
        ("metaAndAssetCtxs", "meta-and-asset-ctxs"),
    ] {
        assert_eq!(
            reason(
                with(kind, ResponseTemplate::new(502), "xyz:GOLD").await,
                "hyperliquid"
            ),
            unavailable(&format!("{call}: http status 502"))
        );
        assert_eq!(
            reason(
                with(
                    kind,
                    ResponseTemplate::new(200).set_body_raw("<html>", "text/html"),
                    "xyz:GOLD"
                )
                .await,
                "hyperliquid"
            ),
            malformed(
                "$",
                &format!("{call}: content type \"text/html\" instead of json")
            )
        );
        assert_eq!(
            reason(with(kind, raw("[null"), "xyz:GOLD").await, "hyperliquid"),
            malformed(
                "$",
                &format!(
                    "{call}: expected a json document, got EOF while parsing a list at line 1 column 5"
                )
            )
        );
        assert_eq!(
            reason(
                with(kind, ResponseTemplate::new(429), "xyz:GOLD").await,
                "hyperliquid"
            ),
            limited(Some(15))
        );
        let text = ResponseTemplate::new(422).set_body_raw("Failed to deserialize", "text/plain");
        assert_eq!(
            reason(with(kind, text, "xyz:GOLD").await, "hyperliquid"),
            refused("http status 422")
        );
    }
}

#[tokio::test]
async fn a_hanging_call_ends_in_time() {
    let server = serving(|_| Some(hanging(raw("null")))).await;
    let clock = recorded_clock();
    let slow = venue(
        HyperliquidConfig {
            common: VenueConfig {
                limits: impatient(),
                ..VenueConfig::default()
            },
            ..config(&server)
        },
        &clock,
    );
    assert_eq!(
        reason(slow.asset("BTC").await, "hyperliquid"),
        unavailable("meta: no answer within 50 ms")
    );
    assert_eq!(
        state(&slow.source().health(), "hyperliquid.meta"),
        ("unavailable", Some("upstream_timeout"))
    );
    let gone = venue(
        HyperliquidConfig {
            base_url: dropping(),
            common: VenueConfig {
                limits: limits(),
                ..VenueConfig::default()
            },
            ..HyperliquidConfig::default()
        },
        &clock,
    );
    assert_eq!(
        reason(gone.max_builder_fee(USER, BUILDER).await, "hyperliquid"),
        unavailable("max-builder-fee: not reachable")
    );
    let off = venue(
        HyperliquidConfig {
            common: VenueConfig {
                enabled: false,
                ..VenueConfig::default()
            },
            ..config(&server)
        },
        &clock,
    );
    assert_eq!(
        reason(off.asset("BTC").await, "hyperliquid"),
        unavailable("meta: disabled: switched off in the configuration")
    );
}

#[tokio::test]
async fn callers_that_wait_share_one_failure() {
    let server =
        serving(|_| Some(failure(400, &json!({"code": 1})).set_delay(Duration::from_millis(100))))
            .await;
    let clock = recorded_clock();
    let venue = Arc::new(venue(config(&server), &clock));
    let callers: Vec<_> = (0..8)
        .map(|_| {
            tokio::spawn({
                let venue = venue.clone();
                async move { venue.asset("BTC").await }
            })
        })
        .collect();
    for caller in callers {
        assert_eq!(
            reason(caller.await.unwrap(), "hyperliquid"),
            refused("http status 400 (code 1)")
        );
    }
    assert_eq!(request_count(&server).await, 1);
    clock.advance(Duration::from_secs(1));
    venue.asset("BTC").await.unwrap_err();
    assert_eq!(request_count(&server).await, 2);
}
