//! Protocols, chains and histories.

use std::time::Duration;

use data_sources::{Error, SourceErrorKind, SourceStatus};
use readings::defi::{history, tvl};
use wiremock::{MockServer, ResponseTemplate};

use super::{changed, defillama, json, kind, now, recorded, serve, serving};

const POOL: &str = "aa70268e-4b52-42bf-a116-608b370f9501";

#[tokio::test]
async fn protocols_and_chains_rank() {
    let server = MockServer::start().await;
    serve(
        &server,
        "/protocols",
        json(recorded("defillama/protocols.json")),
    )
    .await;
    serve(
        &server,
        "/v2/chains",
        json(recorded("defillama/v2_chains.json")),
    )
    .await;
    let llama = defillama(&server);
    let protocols = llama.protocols(None).await.unwrap();
    let chains = llama.chains(None).await.unwrap();
    assert_eq!(protocols.sources[0].source, "defillama.protocols");
    assert_eq!(protocols.sources[0].as_of, None, "the source names no time");

    let ranked = tvl::rank(
        &protocols.value,
        Some(&chains.value),
        readings::Extent::First,
    );
    let slugs: Vec<_> = ranked
        .protocols
        .iter()
        .map(|row| row.slug.as_str())
        .collect();
    assert_eq!(&slugs[..3], ["aave-v3", "lido", "sky-lending"]);
    assert!(!slugs.contains(&"binance-cex") && !slugs.contains(&"base-chain"));
    assert!(!slugs.contains(&"dead-protocol"));
    let aave = protocols
        .value
        .iter()
        .find(|one| one.slug == "aave-v3")
        .unwrap();
    let keys: Vec<_> = aave.by_chain.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["Base", "Ethereum", "X Layer"]);
    assert_eq!(
        ranked.gainers[0].slug, "pendle",
        "84 % of a million is no mover"
    );
    let example = chains
        .value
        .iter()
        .find(|chain| chain.name == "Example")
        .unwrap();
    assert_eq!(example.chain_id, None);

    let family = tvl::of_protocol(&protocols.value, "uniswap").unwrap();
    assert_eq!(family.protocols.len(), 2);
}

#[tokio::test]
async fn a_list_is_asked_for_once_and_kept() {
    let answer = json(recorded("defillama/protocols.json"));
    let server = serving("/protocols", answer).await;
    let llama = defillama(&server);
    let (one, two) = tokio::join!(llama.protocols(None), llama.protocols(None));
    assert_eq!(one.unwrap().value, two.unwrap().value);
    assert!(llama.protocols(None).await.unwrap().sources[0].cached);
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn impossible_figures_are_left_out() {
    let body = changed("defillama/protocols.json", |all| {
        all[0]["change_1d"] = serde_json::json!(-250);
        all[0]["change_7d"] = serde_json::json!("NaN");
        all[0]["name"] = serde_json::json!("Li\u{202e}do <b>");
        all[3]["tvl"] = serde_json::json!(1e20);
        all[4]["tvl"] = serde_json::json!(-5);
    });
    let server = serving("/protocols", json(body)).await;
    let protocols = defillama(&server).protocols(None).await.unwrap().value;
    assert_eq!(
        (protocols[0].change_1d_pct, protocols[0].change_7d_pct),
        (None, None)
    );
    assert_eq!(protocols[0].name, "Lido");
    assert!(
        !protocols
            .iter()
            .any(|one| one.slug == "sky-lending" || one.slug == "uniswap-v3")
    );
}

#[tokio::test]
async fn nonsense_is_no_list_of_protocols() {
    let page = ResponseTemplate::new(200).set_body_raw("<html>busy</html>", "text/html");
    let cases = [
        (page, "upstream_wrong_content_type"),
        (json("<html>busy</html>"), "upstream_malformed"),
        (json("[]"), "upstream_malformed"),
        (json("{}"), "upstream_malformed"),
        (
            json(r#"[{"name":"a","slug":"a","tvl":"much"}]"#),
            "upstream_malformed",
        ),
        (
            json(r#"[{"name":"a","slug":"a","tvl":NaN}]"#),
            "upstream_malformed",
        ),
        (ResponseTemplate::new(500), "upstream_http_status"),
        (ResponseTemplate::new(451), "upstream_http_status"),
    ];
    for (answer, code) in cases {
        let server = serving("/protocols", answer).await;
        let error = defillama(&server).protocols(None).await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
    for body in [
        "[]",
        "{}",
        r#"[{"name":"","tvl":1}]"#,
        r#"[{"name":"a","tvl":"x"}]"#,
    ] {
        let server = serving("/v2/chains", json(body)).await;
        let error = defillama(&server).chains(None).await.unwrap_err();
        assert_eq!(error.code(), "upstream_malformed", "{body}");
    }
}

#[tokio::test]
async fn a_history_has_its_points() {
    let server = serving(
        &format!("/chart/{POOL}"),
        json(recorded("defillama/chart_pool.json")),
    )
    .await;
    let points = defillama(&server).history(POOL, None).await.unwrap();
    let month = history::window(&points.value, 30, now());
    assert_eq!(month.len(), 30);
    assert_eq!(month[29].time.to_string(), "2026-11-20T23:01:20Z");
    assert_eq!(month[29].apy_pct.unwrap().to_string(), "4.12");
    assert_eq!(history::window(&points.value, 365, now()).len(), 45);
}

#[tokio::test]
async fn an_unknown_pool_is_not_found_and_harmless() {
    let empty = json(r#"{"status":"success","data":[]}"#);
    for answer in [
        empty,
        ResponseTemplate::new(404),
        ResponseTemplate::new(400),
    ] {
        let server = serving(&format!("/chart/{POOL}"), answer).await;
        let error = defillama(&server).history(POOL, None).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::NotFound {
                    reason: "pool_not_found",
                    ..
                }
            ),
            "{error}"
        );
    }
    let server = MockServer::start().await;
    let error = defillama(&server)
        .history("../pools", None)
        .await
        .unwrap_err();
    assert_eq!(error.code(), "pool_not_found");
    assert!(server.received_requests().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_history_in_an_error_or_another_form_is_refused() {
    for body in [
        r#"{"status":"error","data":null}"#,
        r#"{"data":[{"timestamp":"2026-11-20T00:00:00Z","apy":1}]}"#,
    ] {
        let server = serving(&format!("/chart/{POOL}"), json(body)).await;
        let error = kind(defillama(&server).history(POOL, None).await.unwrap_err());
        assert!(matches!(error, SourceErrorKind::Business { .. }), "{error}");
    }
    for row in [
        r#"{"timestamp":"yesterday","apy":1}"#,
        r#"{"apy":1}"#,
        r#"{"timestamp":"2026-11-20T00:00:00Z","apy":"high"}"#,
    ] {
        let body = format!(r#"{{"status":"success","data":[{row}]}}"#);
        let server = serving(&format!("/chart/{POOL}"), json(body)).await;
        let error = defillama(&server).history(POOL, None).await.unwrap_err();
        assert_eq!(error.code(), "upstream_malformed", "{row}");
    }
}

#[tokio::test]
async fn an_older_list_is_served_when_there_is_no_newer_one() {
    let server = MockServer::start().await;
    wiremock::Mock::given(wiremock::matchers::path("/v2/chains"))
        .respond_with(json(recorded("defillama/v2_chains.json")))
        .up_to_n_times(1)
        .mount(&server)
        .await;
    serve(&server, "/v2/chains", ResponseTemplate::new(404)).await;
    let llama = defillama(&server);
    let first = llama.chains(None).await.unwrap();
    assert_eq!(first.sources[0].status, SourceStatus::Ok);
    // The cache has no data of age zero, and the upstream does not answer.
    let error = llama.chains(Some(Duration::ZERO)).await;
    assert!(
        error.is_ok(),
        "the clock does not move: what was fetched now is of no age"
    );
}
