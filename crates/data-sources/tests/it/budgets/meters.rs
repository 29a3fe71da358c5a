//! Every request on the wire counts for the caller that caused it.

use data_sources::{Caller, Meter, Usage, coinpaprika::Coinpaprika, openai::Openai};
use readings::symbol::SymbolKey;
use serde_json::json;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use crate::budgets::{config, recorded_clock, request_count, transport};

fn coinpaprika(server: &MockServer) -> Coinpaprika {
    let config = config(server, Coinpaprika::SPEC.urls);
    Coinpaprika::new(&transport(), config, recorded_clock().shared()).unwrap()
}

#[tokio::test]
async fn retries_count_and_waiting_does_not() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(502))
        .mount(&server)
        .await;
    let (coinpaprika, btc) = (coinpaprika(&server), SymbolKey::new("btc").unwrap());
    let (first, second, third) = (
        Meter::new(Caller::Newcomer),
        Meter::new(Caller::Newcomer),
        Meter::new(Caller::Newcomer),
    );
    let coin = || coinpaprika.coin(&btc, None);
    // The second caller finds the first caller's fetch in progress, which does not count for it.
    let (one, other) = tokio::join!(first.scope(coin()), second.scope(coin()));
    assert!(one.is_err() && other.is_err());
    // A failure that is kept for a moment also costs nothing.
    third.scope(coin()).await.unwrap_err();
    let calls = u32::try_from(request_count(&server).await).unwrap();
    assert_eq!(calls, 3);
    let upstream = |upstream_calls| Usage {
        upstream_calls,
        ..Usage::default()
    };
    assert_eq!(first.usage(), upstream(3));
    assert_eq!(second.usage(), Usage::default());
    assert_eq!(third.usage(), Usage::default());
}

#[tokio::test]
async fn a_fetch_counts_although_its_caller_went_away() {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200).set_body_json(json!({"currencies": []}));
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let (coinpaprika, btc) = (coinpaprika(&server), SymbolKey::new("btc").unwrap());
    let meter = Meter::new(Caller::Newcomer);
    let mut gone = Box::pin(meter.scope(coinpaprika.coin(&btc, None)));
    tokio::select! {
        biased;
        _ = &mut gone => panic!("no upstream answers at once"),
        () = tokio::task::yield_now() => {}
    }
    drop(gone);
    let other = Meter::new(Caller::Newcomer);
    let told = other.scope(coinpaprika.coin(&btc, None)).await;
    assert_eq!(told.unwrap_err().code(), "symbol_not_found");
    assert_eq!(
        (meter.usage().upstream_calls, other.usage()),
        (1, Usage::default())
    );
}

#[tokio::test]
async fn models_count_apart() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ResponseTemplate::new(500))
        .mount(&server)
        .await;
    let config = config(&server, Openai::SPEC.urls);
    let openai = Openai::new(&transport(), config, recorded_clock().shared()).unwrap();
    let meter = Meter::new(Caller::Newcomer);
    meter.scope(openai.research("why?")).await.unwrap_err();
    let once = Usage {
        model_calls: 1,
        ..Usage::default()
    };
    assert_eq!(meter.usage(), once);
}
