//! The adapters of the agent rail keep the documented limits by themselves.

use std::time::Duration;
use std::{num::NonZeroU32, path::Path, sync::Arc};

use alloy_primitives::{Address, U256, address};
use calldata_checks::BasisPoints;
use data_sources::{
    Mode, QuotaSpec, VenueConfig,
    circle::{Circle, CircleConfig},
    hyperliquid::{Hyperliquid, HyperliquidConfig},
    lifi::{Lifi, LifiConfig},
    polymarket::{Polymarket, PolymarketConfig},
};
use plan_builder::ports::{BridgeFees, PerpVenue, PortError, PortErrorReason, SwapAsk, SwapQuotes};
use test_support::ManualClock;
use wiremock::{MockServer, ResponseTemplate};

use crate::budgets::{answering, quotas::Store, recorded_clock, request_count, transport};

fn swap() -> SwapAsk {
    SwapAsk {
        chain_id: 8453,
        from_token: address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
        to_token: address!("4200000000000000000000000000000000000006"),
        from_amount: U256::from(1_000_000_000),
        account: Address::repeat_byte(0x11),
        max_slippage: BasisPoints::new(50).unwrap(),
        integrator: "svc".to_owned(),
        fee: BasisPoints::new(30).unwrap(),
        allow_tools: Vec::new(),
        deny_tools: Vec::new(),
        max_price_impact: None,
    }
}

fn quote() -> ResponseTemplate {
    let path = "../../fixtures/upstreams/lifi/quote_usdc_weth.json";
    let text = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    ResponseTemplate::new(200).set_body_raw(text, "application/json")
}

fn lifi(server: &MockServer, clock: &ManualClock) -> Lifi {
    let config = LifiConfig {
        base_url: server.uri(),
        ..LifiConfig::default()
    };
    Lifi::new(&transport(), config, clock.shared()).unwrap()
}

fn retry_after<T: std::fmt::Debug>(told: Result<T, PortError>) -> u64 {
    match told.unwrap_err().reason {
        PortErrorReason::RateLimited { retry_after } => retry_after.unwrap().as_secs(),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn quotes_end_before_the_two_hours_of_lifi_do() {
    let (server, clock) = (answering(quote()).await, recorded_clock());
    let lifi = lifi(&server, &clock);
    for _ in 0..70 {
        lifi.quote(&swap()).await.unwrap();
        clock.advance(Duration::from_secs(10));
    }
    // 700 of the 7,200 seconds have passed since the first quote.
    assert_eq!(retry_after(lifi.quote(&swap()).await), 6_501);
    assert_eq!(request_count(&server).await, 70);
    let budget = &lifi.source().budget()[0];
    assert_eq!((budget.family.as_str(), budget.left), ("lifi", 0));
    assert_eq!((budget.limit, budget.window_seconds), (70, 7_200));
    assert_eq!(lifi.source().health()[0].budget_left, Some(0));
    assert_eq!(lifi.source().health()[0].state.as_str(), "ok");
    clock.advance(Duration::from_secs(6501));
    lifi.quote(&swap()).await.unwrap();
}

/// A restarted server learns from LI.FI how much it has used before.
#[tokio::test]
async fn the_remaining_requests_that_lifi_states_are_believed() {
    let told = quote()
        .insert_header("ratelimit-remaining", "2")
        .insert_header("ratelimit-reset", "600");
    let (server, clock) = (answering(told).await, recorded_clock());
    let lifi = lifi(&server, &clock);
    lifi.quote(&swap()).await.unwrap();
    assert_eq!(lifi.source().budget()[0].left, 2);
    lifi.quote(&swap()).await.unwrap();
    lifi.quote(&swap()).await.unwrap();
    assert_eq!(retry_after(lifi.quote(&swap()).await), 601);
    assert_eq!(request_count(&server).await, 3);
}

#[tokio::test]
async fn keys_and_servers_change_the_share() {
    let server = answering(quote()).await;
    let keyed = LifiConfig {
        base_url: server.uri(),
        api_key: Some("key".to_owned().into()),
        ..LifiConfig::default()
    };
    let limit = |config: LifiConfig| {
        let lifi = Lifi::new(&transport(), config, recorded_clock().shared()).unwrap();
        let budget = lifi.source().budget();
        budget.first().map(|one| (one.limit, one.window_seconds))
    };
    assert_eq!(limit(keyed.clone()), Some((90, 60)));
    let shared = LifiConfig {
        common: VenueConfig {
            servers: NonZeroU32::new(4).unwrap(),
            ..VenueConfig::default()
        },
        ..keyed.clone()
    };
    assert_eq!(limit(shared), Some((22, 60)));
    let recording = LifiConfig {
        common: VenueConfig {
            mode: Mode::Replay,
            ..VenueConfig::default()
        },
        ..keyed
    };
    assert_eq!(limit(recording), None);
    let polymarket = PolymarketConfig::default();
    let polymarket = Polymarket::new(&transport(), polymarket, recorded_clock().shared()).unwrap();
    let hosts: Vec<_> = polymarket
        .source()
        .budget()
        .into_iter()
        .map(|one| one.family)
        .collect();
    assert_eq!(hosts, ["polymarket.clob_url", "polymarket.gamma_url"]);
}

#[tokio::test]
async fn circle_is_never_asked_so_often_that_it_locks_out() {
    let allowance = ResponseTemplate::new(200).set_body_json(serde_json::json!({"allowance": 1}));
    let (server, clock) = (answering(allowance).await, recorded_clock());
    let config = CircleConfig {
        base_url: server.uri(),
        ..CircleConfig::default()
    };
    let circle = Arc::new(Circle::new(&transport(), config, clock.shared()).unwrap());
    let mut crowd = tokio::task::JoinSet::new();
    for _ in 0..60 {
        let circle = circle.clone();
        crowd.spawn(async move { circle.fast_allowance().await });
    }
    let told = crowd.join_all().await;
    assert_eq!(told.iter().filter(|told| told.is_ok()).count(), 30);
    assert_eq!(request_count(&server).await, 30);
    for refused in told.into_iter().filter(Result::is_err) {
        assert_eq!(retry_after(refused), 2);
    }
    clock.advance(Duration::from_secs(2));
    circle.fast_allowance().await.unwrap();
}

#[tokio::test]
async fn hyperliquid_counts_weight() {
    let server = answering(ResponseTemplate::new(200).set_body_json(10)).await;
    let config = HyperliquidConfig {
        base_url: server.uri(),
        ..HyperliquidConfig::default()
    };
    let clock = recorded_clock();
    let venue = Hyperliquid::new(&transport(), config, clock.shared()).unwrap();
    let (user, builder) = (Address::repeat_byte(1), Address::repeat_byte(2));
    for _ in 0..55 {
        venue.max_builder_fee(user, builder).await.unwrap();
    }
    assert_eq!(retry_after(venue.max_builder_fee(user, builder).await), 61);
    assert_eq!(request_count(&server).await * 20, 1_100);
}

/// LI.FI's two hours continue where the last server stopped: it is asked neither more nor much
/// less.
#[tokio::test]
async fn a_long_window_goes_on_after_a_restart() {
    let (server, clock) = (answering(quote()).await, recorded_clock());
    let store = Arc::new(Store::default());
    let start = async || {
        let lifi = lifi(&server, &clock);
        lifi.source().keep_limits(store.clone()).await.unwrap();
        lifi
    };
    let first = start().await;
    for _ in 0..30 {
        first.quote(&swap()).await.unwrap();
        clock.advance(Duration::from_secs(10));
    }
    drop(first);
    let second = start().await;
    assert_eq!(second.source().budget()[0].left, 40);
    for _ in 0..40 {
        second.quote(&swap()).await.unwrap();
    }
    assert_eq!(request_count(&server).await, 70);
    // 300 s have passed since the first quote. Slices count at their ends, so two minutes may be
    // lost.
    let wait = retry_after(second.quote(&swap()).await);
    assert!((6_901..=7_021).contains(&wait), "{wait}");
    clock.advance(Duration::from_secs(wait));
    second.quote(&swap()).await.unwrap();
    // Use that no window contains any more is not kept.
    clock.advance(Duration::from_secs(8000));
    second.quote(&swap()).await.unwrap();
    assert_eq!(store.windows.lock().unwrap().len(), 1);
}

/// A budget is also kept in memory: a failing store stops no call.
#[tokio::test]
async fn a_store_that_fails_stops_no_call_within_a_budget() {
    let (server, clock) = (answering(quote()).await, recorded_clock());
    let store = Arc::new(Store::default());
    let lifi = lifi(&server, &clock);
    lifi.source().keep_limits(store.clone()).await.unwrap();
    store.breaks();
    lifi.quote(&swap()).await.unwrap();
    assert_eq!(lifi.source().budget()[0].left, 69);
    assert!(store.windows.lock().unwrap().is_empty());
}

/// The operator's quota bounds every try, and is paced: of 20 a month, two may be used ahead of
/// time.
#[tokio::test]
async fn quotas_of_the_rails_are_kept_paced_and_divided() {
    let (server, clock) = (answering(quote()).await, recorded_clock());
    let store = Arc::new(Store::default());
    let start = async |servers| {
        let config = LifiConfig {
            base_url: server.uri(),
            common: VenueConfig {
                quota: QuotaSpec::monthly(40),
                servers: NonZeroU32::new(servers).unwrap(),
                ..VenueConfig::default()
            },
            ..LifiConfig::default()
        };
        let lifi = Lifi::new(&transport(), config, clock.shared()).unwrap();
        lifi.source().keep_limits(store.clone()).await.unwrap();
        lifi
    };
    let first = start(2).await;
    assert_eq!(first.source().quota().unwrap().limit, 20);
    // On the 21st of the month 13 calls are due.
    let mut served = 0;
    while first.quote(&swap()).await.is_ok() {
        served += 1;
    }
    assert_eq!(served, 13 + 2);
    assert_eq!(request_count(&server).await, 15);
    let wait = retry_after(first.quote(&swap()).await);
    assert_eq!(first.source().health()[0].quota_left, Some(5));
    drop(first);
    let second = start(2).await;
    assert_eq!(retry_after(second.quote(&swap()).await), wait);
    assert_eq!(second.source().quota().unwrap().left, 5);
    clock.advance(Duration::from_secs(wait));
    second.quote(&swap()).await.unwrap();
    assert_eq!(request_count(&server).await, 16);
    let recording = LifiConfig {
        common: VenueConfig {
            mode: Mode::Replay,
            quota: QuotaSpec::monthly(40),
            ..VenueConfig::default()
        },
        ..LifiConfig::default()
    };
    let recording = Lifi::new(&transport(), recording, clock.shared()).unwrap();
    assert_eq!(recording.source().quota(), None);
}
