//! Tests of the agent rail's adapters against the replay, with the inputs of the demo's plans.

use std::sync::Arc;

use alloy_primitives::{Address, U256, address};
use calldata_checks::BasisPoints;
use data_sources::{
    Mode, VenueConfig,
    circle::{Circle, CircleConfig},
    hyperliquid::{Hyperliquid, HyperliquidConfig},
    lifi::{Lifi, LifiConfig},
    polymarket::{Polymarket, PolymarketConfig},
    transport::{Limits, Transport},
};
use jiff::Timestamp;
use plan_builder::ports::{
    BridgeFees, PerpVenue, PmVenue, PortError, PortErrorReason, SwapAsk, SwapQuotes,
};
use replay::{Recordings, ReplayServer};

const NOW: i64 = 1_795_222_800;
const USER: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
const USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
const WETH: Address = address!("4200000000000000000000000000000000000006");

struct World {
    replay: ReplayServer,
    lifi: Lifi,
    circle: Circle,
    polymarket: Polymarket,
    hyperliquid: Hyperliquid,
}

async fn world(recordings: Recordings) -> World {
    let replay = ReplayServer::start(recordings).await.unwrap();
    let transport = Transport::new().unwrap();
    let clock = Arc::new(Timestamp::from_second(NOW).unwrap());
    let limits = Limits {
        attempts: 1,
        ..Limits::default()
    };
    let mode = Mode::Replay;
    let lifi = LifiConfig {
        base_url: format!("{}/v1", replay.base_url("li.quest")),
        common: VenueConfig {
            mode,
            limits,
            ..VenueConfig::default()
        },
        ..LifiConfig::default()
    };
    let circle = CircleConfig {
        base_url: replay.base_url("iris-api.circle.com"),
        common: VenueConfig {
            mode,
            limits,
            ..VenueConfig::default()
        },
    };
    let polymarket = PolymarketConfig {
        clob_url: replay.base_url("clob.polymarket.com"),
        gamma_url: replay.base_url("gamma-api.polymarket.com"),
        common: VenueConfig {
            mode,
            limits,
            ..VenueConfig::default()
        },
    };
    let hyperliquid = HyperliquidConfig {
        base_url: replay.base_url("api.hyperliquid.xyz"),
        common: VenueConfig {
            mode,
            limits,
            ..VenueConfig::default()
        },
        ..HyperliquidConfig::default()
    };
    World {
        lifi: Lifi::new(&transport, lifi, clock.clone()).unwrap(),
        circle: Circle::new(&transport, circle, clock.clone()).unwrap(),
        polymarket: Polymarket::new(&transport, polymarket, clock.clone()).unwrap(),
        hyperliquid: Hyperliquid::new(&transport, hyperliquid, clock).unwrap(),
        replay,
    }
}

fn ask(from_amount: u64) -> SwapAsk {
    SwapAsk {
        chain_id: 8453,
        from_token: USDC,
        to_token: WETH,
        from_amount: U256::from(from_amount),
        account: USER,
        max_slippage: BasisPoints::new(100).unwrap(),
        integrator: "svc".to_owned(),
        fee: BasisPoints::new(30).unwrap(),
        allow_tools: Vec::new(),
        deny_tools: Vec::new(),
        max_price_impact: None,
    }
}

fn reason<T: std::fmt::Debug>(result: Result<T, PortError>) -> PortErrorReason {
    result.unwrap_err().reason
}

#[tokio::test]
async fn a_quote_is_computed_for_the_caller() {
    let world = world(Recordings::embedded().unwrap()).await;
    let quote = world.lifi.quote(&ask(2_000_000_000)).await.unwrap();
    assert_eq!((quote.sender, quote.receiver), (USER, USER));
    assert_eq!(quote.from_amount, U256::from(2_000_000_000));
    // 2000 USDC less 55 basis points, at 0.0004 WETH for each USDC.
    assert_eq!(quote.to_amount, U256::from(795_600_000_000_000_000u64));
    assert_eq!(quote.to_amount_min, U256::from(787_644_000_000_000_000u64));
    assert_eq!(quote.call_value, U256::ZERO);
    assert_eq!(world.lifi.source().mode(), Mode::Replay);
    assert_eq!(world.replay.served("lifi/quote_usdc_weth.json"), 1);
    let elsewhere = SwapAsk {
        to_token: USER,
        ..ask(1)
    };
    assert!(matches!(
        reason(world.lifi.quote(&elsewhere).await),
        PortErrorReason::NoRoute { .. }
    ));
    assert_eq!(world.replay.unmatched(), 0);
}

#[tokio::test]
async fn a_scenario_makes_the_aggregator_fail() {
    for (scenario, reason_of) in [
        ("lifi_rate_limited", "rate limited, retry in 3600 s"),
        (
            "lifi_validation",
            "refused: /fromAmount must match pattern \"^[0-9]+$\" (code 1011)",
        ),
        (
            "lifi_without_transaction",
            "malformed answer at $.transactionRequest: quote: expected a member, got nothing",
        ),
        (
            "lifi_gateway_page",
            "malformed answer at $: quote: content type \"text/html; charset=utf-8\" instead of json",
        ),
    ] {
        let world = world(Recordings::embedded().unwrap().with_scenario(scenario)).await;
        assert_eq!(
            reason(world.lifi.quote(&ask(1_000_000)).await).to_string(),
            reason_of,
            "{scenario}"
        );
    }
    let hostile = Recordings::embedded()
        .unwrap()
        .with_scenario("lifi_receiver_changed");
    let quote = world(hostile)
        .await
        .lifi
        .quote(&ask(1_000_000))
        .await
        .unwrap();
    let stranger = Address::repeat_byte(0x22);
    let names = |address: Address| {
        quote
            .call_data
            .windows(20)
            .any(|window| window == address.as_slice())
    };
    assert!(quote.receiver == USER && names(stranger) && !names(USER));
}

#[tokio::test]
async fn every_route_of_the_bridge_has_its_fees() {
    let world = world(Recordings::embedded().unwrap()).await;
    let domains = [0, 1, 3, 6, 7];
    for source in domains {
        for destination in domains
            .into_iter()
            .filter(|destination| *destination != source)
        {
            for forward in [false, true] {
                let fees = world
                    .circle
                    .fees(source, destination, forward)
                    .await
                    .unwrap();
                let fast = ![1, 7].contains(&source);
                assert_eq!(
                    fees.fast_bps.map(|bps| bps.to_string()),
                    fast.then(|| "1.3".to_owned())
                );
                let highest = if destination == 0 { 3_503_729 } else { 231_005 };
                assert_eq!(
                    fees.forward_fee,
                    forward.then(|| U256::from(highest)),
                    "{source} {destination}"
                );
            }
        }
    }
    assert_eq!(
        world.circle.fast_allowance().await,
        Ok(U256::from(52_455_615_650_179u64))
    );
    assert_eq!(world.replay.unmatched(), 0);
    // Circle charges fees for X Layer too, but the recordings do not have them.
    assert!(matches!(
        reason(world.circle.fees(37, 6, false).await),
        PortErrorReason::Refused { .. } | PortErrorReason::Unavailable { .. }
    ));
}

#[tokio::test]
async fn both_markets_answer_for_each_of_their_tokens() {
    let world = world(Recordings::embedded().unwrap()).await;
    for (token, neg_risk) in [
        (
            "68037499376105572055155402848342376736342093236553438132563031797889957479533",
            false,
        ),
        (
            "2744572747047882001286270033378172494694580688285390975368199145007599293175",
            true,
        ),
    ] {
        let market = world
            .polymarket
            .market(token.parse().unwrap())
            .await
            .unwrap();
        assert_eq!(
            (market.version, market.neg_risk, market.accepting_orders),
            (2, neg_risk, true)
        );
        let other = market.tokens[1].token_id;
        assert_eq!(
            world.polymarket.market(other).await.unwrap().tokens,
            market.tokens
        );
    }
    assert!(matches!(
        reason(world.polymarket.market(U256::ONE).await),
        PortErrorReason::Unknown { .. }
    ));
    assert_eq!(world.replay.unmatched(), 0);
}

#[tokio::test]
async fn coins_and_builder_fees_are_served() {
    let world = world(Recordings::embedded().unwrap()).await;
    for (coin, asset_id) in [("BTC", 0), ("ETH", 1), ("xyz:NVDA", 110_001)] {
        assert_eq!(
            world.hyperliquid.asset(coin).await.unwrap().asset_id,
            asset_id
        );
    }
    assert!(matches!(
        reason(world.hyperliquid.asset("nope:TSLA").await),
        PortErrorReason::Unknown { .. }
    ));
    assert_eq!(world.hyperliquid.max_builder_fee(USER, USDC).await, Ok(100));
    assert_eq!(world.replay.unmatched(), 0);
}
