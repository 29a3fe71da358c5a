//! Tests of the real adapters against the replay, connected as in the demo.

use std::sync::Arc;

use data_sources::{
    Mode, ReviewedContracts, SwapRequest,
    okx::{Okx, OkxConfig},
    transport::{Limits, Transport},
};
use jiff::Timestamp;
use replay::{Recordings, ReplayServer};

const NOW: u64 = 1_795_222_800;
const USDT0: &str = "0x779Ded0c9e1022225f8E0630b35a9b54bE713736";
const USDG: &str = "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8";
const WOKB: &str = "0xe538905cf8410324e03A5A23C1c177a474D59b2b";
const USER: &str = "0x2222222222222222222222222222222222222222";

async fn replayed(recordings: Recordings) -> (ReplayServer, Okx) {
    let replay = ReplayServer::start(recordings.at(NOW)).await.unwrap();
    let config = OkxConfig {
        base_url: replay.base_url("web3.okx.com"),
        mode: Mode::Replay,
        limits: Limits {
            attempts: 1,
            ..Limits::default()
        },
        ..OkxConfig::default()
    };
    let now = Timestamp::from_second(i64::try_from(NOW).unwrap()).unwrap();
    (
        replay,
        Okx::new(&Transport::new().unwrap(), config, Arc::new(now)).unwrap(),
    )
}

fn swap(from: &str, to: &str, amount: &str, slippage: Option<&str>) -> SwapRequest {
    let parsed = |text: &str| text.parse().unwrap();
    SwapRequest::parse(
        parsed(from),
        parsed(to),
        amount,
        parsed(USER),
        slippage,
        &ReviewedContracts::default(),
    )
    .unwrap()
}

#[tokio::test]
async fn prices_and_tokens_are_served_as_recorded() {
    let (replay, okx) = replayed(Recordings::embedded().unwrap()).await;
    let price = okx.price(WOKB.parse().unwrap()).await.unwrap();
    assert_eq!(
        (price.value.price_usd.as_str(), price.sources[0].mode),
        ("118.42", Mode::Replay)
    );
    assert_eq!(
        okx.price(USDT0.parse().unwrap())
            .await
            .unwrap()
            .value
            .price_usd
            .as_str(),
        "1.0001"
    );
    assert_eq!(
        okx.price(USER.parse().unwrap()).await.unwrap_err().code(),
        "token_not_priced"
    );
    assert_eq!(okx.tokens(None).await.unwrap().value.tokens.len(), 6);
    assert_eq!(replay.served("okx/market_price_okb.json"), 1);
    assert_eq!(replay.served("okx/market_price_unknown.json"), 1);
    assert_eq!(replay.unmatched(), 0);
}

#[tokio::test]
async fn swaps_are_computed_for_the_caller_and_every_check_accepts_them() {
    let (replay, okx) = replayed(Recordings::embedded().unwrap()).await;
    for (from, to, amount, slippage, least) in [
        (USDG, WOKB, "100", None, "835172019000000000"),
        (USDT0, USDG, "50", Some("0.5"), "49741214"),
        (USDT0, WOKB, "0.000001", Some("50"), "4217706000"),
    ] {
        let request = swap(from, to, amount, slippage);
        let quote = okx.swap(&request).await.unwrap().value;
        assert_eq!(quote.min_amount_out.to_string(), least);
        assert_eq!((quote.request, quote.deadline), (request, Some(NOW + 600)));
    }
    assert_eq!(replay.served("okx/swap_usdt0_wokb.json"), 1);
    let other = swap(
        USDG,
        "0xb7C00000bcDEeF966b20B3D884B98E64d2b06b4f",
        "1",
        None,
    );
    assert_eq!(okx.swap(&other).await.unwrap_err().code(), "no_route");
}

#[tokio::test]
async fn approvals_are_computed_for_the_amount_and_compared() {
    let (_replay, okx) = replayed(Recordings::embedded().unwrap()).await;
    let amount = "123456789".parse().unwrap();
    let approval = okx.approval(USDG.parse().unwrap(), amount).await.unwrap();
    assert_eq!(approval.sources[1].status.as_str(), "ok");
    assert_eq!(
        (approval.value.amount, approval.value.gas_limit),
        (amount, Some(70_000))
    );
}

#[tokio::test]
async fn scenarios_take_precedence() {
    for (scenario, code) in [
        ("rate_limited", "upstream_rate_limited"),
        ("bad_sign", "upstream_http_status"),
    ] {
        let (_replay, okx) =
            replayed(Recordings::embedded().unwrap().with_scenario(scenario)).await;
        assert_eq!(okx.tokens(None).await.unwrap_err().code(), code);
        // The endpoints that share a limit pause for a while. The other endpoints do not.
        let asked = swap(USDT0, WOKB, "1", None);
        let swapped = okx.swap(&asked).await;
        let limited = swapped.is_err_and(|error| error.code() == "upstream_rate_limited");
        assert_eq!(limited, scenario == "rate_limited");
        let price = okx.price(WOKB.parse().unwrap()).await;
        assert!(!price.is_err_and(|error| error.code() == "upstream_rate_limited"));
    }
    let (_replay, okx) = replayed(
        Recordings::embedded()
            .unwrap()
            .with_scenario("spender_unreviewed"),
    )
    .await;
    let refused = okx
        .approval(USDT0.parse().unwrap(), "10000000".parse().unwrap())
        .await
        .unwrap_err();
    assert_eq!(refused.code(), "spender_unreviewed");
}

#[tokio::test]
async fn an_unrecorded_request_is_answered_404() {
    let (replay, _okx) = replayed(Recordings::embedded().unwrap()).await;
    let ask = |path: &str| {
        test_support::http_client()
            .get(format!("{}{path}", replay.url()))
            .send()
    };
    let answer = ask("/web3.okx.com/api/v6/dex/aggregator/all-tokens?chainIndex=1")
        .await
        .unwrap();
    assert_eq!(answer.status(), 404);
    assert_eq!(answer.headers()["content-type"], "text/plain");
    let text = answer.text().await.unwrap();
    assert!(
        text.contains("no recording answers this request") && text.contains("chainIndex"),
        "{text}"
    );
    assert_eq!(
        ask("/api/v6/dex/aggregator/all-tokens?chainIndex=196")
            .await
            .unwrap()
            .status(),
        404
    );
    assert_eq!(ask("/").await.unwrap().status(), 404);
    assert_eq!(replay.unmatched(), 3);
    // A query may have members that are not in the recorded request.
    let more = ask("/web3.okx.com/api/v6/dex/aggregator/all-tokens?chainIndex=196&page=1")
        .await
        .unwrap();
    assert_eq!(more.status(), 200);
}

#[tokio::test]
async fn a_dropped_replay_stops() {
    let replay = ReplayServer::start(Recordings::embedded().unwrap())
        .await
        .unwrap();
    let url = replay.url();
    assert!(test_support::http_client().get(&url).send().await.is_ok());
    drop(replay);
    let stopped = async {
        while test_support::http_client().get(&url).send().await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), stopped)
        .await
        .unwrap();
}
