use std::{sync::Arc, time::Duration};

use data_sources::{okx::Okx, transport::Transport};
use serde_json::json;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use crate::okx::{answering, code, config, json as answer, recorded, recorded_clock};

#[tokio::test]
async fn the_recorded_list_is_read() {
    let (okx, server) = answering(answer(&recorded("all_tokens_196"))).await;
    let list = okx.tokens(None).await.unwrap();
    assert_eq!(
        (
            list.value.chain_id,
            list.value.tokens.len(),
            list.value.rejected
        ),
        (196, 6, 0)
    );
    let native = &list.value.tokens[0];
    assert!(native.is_native());
    assert_eq!((native.symbol.as_str(), native.decimals), ("OKB", Some(18)));
    let usdt0 = &list.value.tokens[2];
    assert_eq!(
        usdt0.address.to_string(),
        "0x779Ded0c9e1022225f8E0630b35a9b54bE713736"
    );
    assert_eq!((usdt0.symbol.as_str(), usdt0.decimals), ("USD₮0", Some(6)));
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(request.url.path(), "/api/v6/dex/aggregator/all-tokens");
    assert_eq!(request.url.query(), Some("chainIndex=196"));
}

#[tokio::test]
async fn many_callers_cause_one_call() {
    let (okx, server) = answering(answer(&recorded("all_tokens_196"))).await;
    let okx = Arc::new(okx);
    let callers: Vec<_> = (0..20)
        .map(|_| {
            let okx = okx.clone();
            tokio::spawn(async move { okx.tokens(None).await.unwrap().value.tokens.len() })
        })
        .collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), 6);
    }
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_list_grows_old_and_is_labelled() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(answer(&recorded("all_tokens_196")))
        .up_to_n_times(1)
        .mount(&server)
        .await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(503))
        .mount(&server)
        .await;
    let clock = recorded_clock();
    let okx = Okx::new(
        &Transport::new().unwrap(),
        config(&server),
        Arc::new(clock.clone()),
    )
    .unwrap();
    let hour = Duration::from_secs(3600);

    assert_eq!(
        okx.tokens(None).await.unwrap().sources[0].status.as_str(),
        "ok"
    );
    clock.advance(5 * hour);
    let cached = okx.tokens(None).await.unwrap();
    assert_eq!(
        (cached.sources[0].status.as_str(), cached.sources[0].cached),
        ("ok", true)
    );
    // A younger list is asked for and not available, and no older one is returned.
    assert_eq!(code(okx.tokens(Some(hour)).await), "upstream_http_status");

    clock.advance(2 * hour);
    let stale = okx.tokens(None).await.unwrap();
    assert_eq!(stale.sources[0].status.as_str(), "stale");
    assert_eq!(stale.sources[0].status.reason(), Some("upstream_http_503"));
    let calls = server.received_requests().await.unwrap().len();
    assert_eq!(
        okx.tokens(None).await.unwrap().sources[0].status.as_str(),
        "stale"
    );
    assert_eq!(
        server.received_requests().await.unwrap().len(),
        calls,
        "a failure is not repeated at once"
    );

    clock.advance(24 * hour);
    assert_eq!(code(okx.tokens(None).await), "upstream_http_status");
}

#[tokio::test]
async fn an_empty_list_is_no_list() {
    for empty in [
        json!({"code": "0", "data": [], "msg": ""}),
        json!({"code": "0", "data": null, "msg": ""}),
    ] {
        let (okx, _server) = answering(answer(&empty)).await;
        assert_eq!(code(okx.tokens(None).await), "upstream_malformed");
    }
}
