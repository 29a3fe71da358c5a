//! Tests of the four plans of the agent rail: built from replayed answers and verified again.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes};
use calldata_checks::Rail;
use data_sources::{
    circle::{Circle, CircleConfig},
    hyperliquid::{Hyperliquid, HyperliquidConfig},
    lifi::{Lifi, LifiConfig},
    polymarket::{Polymarket, PolymarketConfig},
    transport::Transport,
};
use jiff::Timestamp;
use plan_builder::{
    FeeDocument, Moment, Policy, Refusal, Request, Sealed, bridge, perp_order, pm_order,
    ports::{Accounts, NoSimulator, PortError},
    swap, verify,
};
use replay::{Recordings, ReplayServer};
use serde_json::{Value, json};

const NOW: u64 = 1_795_222_800;
const USER: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

/// A code reader that finds no code at any address.
struct NoCode;

impl Accounts for NoCode {
    async fn code(&self, _: u64, _: Address) -> Result<Bytes, PortError> {
        Ok(Bytes::new())
    }

    async fn call(&self, _: u64, _: Address, _: Bytes) -> Result<Option<Bytes>, PortError> {
        // The recordings have no chain with a minimum fee.
        Ok(None)
    }
}

fn policy() -> Policy {
    let document = json!({
        "version": "2026-11-01",
        "fee_model": "B/forwarder-v2",
        "integrator": "svc",
        "aggregate_cap_bps": 60,
        "rounding": "floor",
        "recipients": [
            {"role": "own", "address": "0x90F79bf6EB2c4f870365E785982E1f101E93b906", "bps": 30},
            {"role": "aggregator", "address": "0xC06ebbefD94032B85424D51906e2A335EFAe264B", "bps": 25},
        ],
        "chains": [{
            "chain_id": 8453,
            "router": "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE",
            "forwarder": "0xCE40449B773a3E6E5e769ADb4e567179d4828cbd",
            "selectors": ["0x5fd9ae2e"],
            "legs": [{"contract": "0xAC4c6e212A361c968F1725b4d055b47E63F80b75", "selectors": ["0x5f3bd1c8"]}],
        }],
        "perpetuals": {"builder": USER, "fee_tenth_bps": 10},
    });
    let document: FeeDocument = serde_json::from_value(document).unwrap();
    Policy::new(document.review().unwrap())
}

fn moment() -> Moment {
    Moment {
        now_millis: NOW * 1000,
        entropy: [7; 32],
    }
}

async fn replayed(scenario: Option<&str>) -> (ReplayServer, Transport, Arc<Timestamp>) {
    let mut recordings = Recordings::embedded().unwrap();
    if let Some(scenario) = scenario {
        recordings = recordings.with_scenario(scenario);
    }
    let clock = Timestamp::from_second(i64::try_from(NOW).unwrap()).unwrap();
    let replay = ReplayServer::start(recordings).await.unwrap();
    (replay, Transport::new().unwrap(), Arc::new(clock))
}

/// Verifies the built plan like its recipient.
fn verified(rail: Rail, arguments: &Value, sealed: &Sealed) -> Value {
    let request = Request::parse(rail, &arguments.to_string()).unwrap();
    verify(&request, sealed.json(), moment().now(), &policy()).unwrap();
    serde_json::from_str(sealed.json()).unwrap()
}

async fn swap(scenario: Option<&str>) -> (Value, Result<Sealed, Refusal>) {
    let (replay, transport, clock) = replayed(scenario).await;
    let config = LifiConfig {
        base_url: format!("{}/v1", replay.base_url("li.quest")),
        ..LifiConfig::default()
    };
    let lifi = Lifi::new(&transport, config, clock).unwrap();
    let arguments = json!({
        "accountProfile": {"kind": "eoa", "address": USER, "chainId": 8453},
        "chainId": 8453,
        "fromToken": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        "toToken": "0x4200000000000000000000000000000000000006",
        "fromAmount": "1000000007",
        "slippage": {"maxBps": 50},
    });
    let Request::Swap(request) = Request::parse(Rail::Swap, &arguments.to_string()).unwrap() else {
        panic!("not a swap");
    };
    let sealed = swap::build(&request, &lifi, &NoSimulator, &policy(), &moment()).await;
    (arguments, sealed)
}

#[tokio::test]
async fn a_swap_passes_every_check() {
    let (arguments, sealed) = swap(None).await;
    let plan = verified(Rail::Swap, &arguments, &sealed.unwrap());
    assert_eq!(plan["assertions"].as_array().unwrap().len(), 12);
    // The adapter of the aggregator alone has no prices to judge by.
    assert_eq!(plan["judgements"][0]["name"], "agg_output_price_bound");
    assert_eq!(plan["judgements"][0]["result"], "unknown");
    assert_eq!(plan["payload"]["steps"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn hostile_and_broken_quotes_give_no_plan() {
    for (scenario, check) in [
        ("lifi_receiver_changed", "agg_receiver_account_bound"),
        ("lifi_without_transaction", "quote_malformed"),
        ("lifi_gateway_page", "quote_malformed"),
        ("lifi_rate_limited", "rate_limited"),
    ] {
        assert_eq!(
            swap(Some(scenario)).await.1.unwrap_err().check,
            check,
            "{scenario}"
        );
    }
}

#[tokio::test]
async fn a_bridge_passes_every_check() {
    let (replay, transport, clock) = replayed(None).await;
    let config = CircleConfig {
        base_url: replay.base_url("iris-api.circle.com"),
        ..CircleConfig::default()
    };
    let circle = Circle::new(&transport, config, clock).unwrap();
    for (speed, forward) in [
        ("standard", false),
        ("fast", false),
        ("standard", true),
        ("fast", true),
    ] {
        let arguments = json!({
            "accountProfile": {"kind": "eoa", "address": USER, "chainId": 8453},
            "fromChainId": 8453,
            "toChainId": 42161,
            "token": "USDC",
            "amount": "1234567890",
            "transferSpeed": speed,
            "forward": forward,
        });
        let Request::Bridge(request) =
            Request::parse(Rail::Bridge, &arguments.to_string()).unwrap()
        else {
            panic!("not a bridge");
        };
        let sealed = bridge::build(
            &request,
            &circle,
            &NoCode,
            &NoSimulator,
            &policy(),
            &moment(),
        )
        .await;
        verified(Rail::Bridge, &arguments, &sealed.unwrap());
    }
}

#[tokio::test]
async fn orders_of_both_markets_pass_every_check() {
    let (replay, transport, clock) = replayed(None).await;
    let config = PolymarketConfig {
        clob_url: replay.base_url("clob.polymarket.com"),
        gamma_url: replay.base_url("gamma-api.polymarket.com"),
        ..PolymarketConfig::default()
    };
    let venue = Polymarket::new(&transport, config, clock).unwrap();
    for (token, price) in [
        (
            "68037499376105572055155402848342376736342093236553438132563031797889957479533",
            "0.42",
        ),
        (
            "2744572747047882001286270033378172494694580688285390975368199145007599293175",
            "0.0001",
        ),
    ] {
        let arguments = json!({
            "accountProfile": {"kind": "eoa", "address": USER, "chainId": 137},
            "tokenId": token,
            "side": "BUY",
            "price": price,
            "size": "77.7",
            "outcome": "Yes",
        });
        let Request::PmOrder(request) =
            Request::parse(Rail::PmOrder, &arguments.to_string()).unwrap()
        else {
            panic!("not an order");
        };
        let sealed = pm_order::build(&request, &venue, &policy(), &moment()).await;
        verified(Rail::PmOrder, &arguments, &sealed.unwrap());
    }
}

#[tokio::test]
async fn orders_of_both_dexes_pass_every_check() {
    let (replay, transport, clock) = replayed(None).await;
    let config = HyperliquidConfig {
        base_url: replay.base_url("api.hyperliquid.xyz"),
        ..HyperliquidConfig::default()
    };
    let venue = Hyperliquid::new(&transport, config, clock).unwrap();
    for (coin, price, stop) in [("BTC", "97000", "95000"), ("xyz:NVDA", "183", "170")] {
        let arguments = json!({
            "accountProfile": {"kind": "eoa", "address": USER},
            "coin": coin,
            "side": "buy",
            "price": price,
            "size": "0.5",
            "stopLoss": {"triggerPrice": stop},
        });
        let Request::PerpOrder(request) =
            Request::parse(Rail::PerpOrder, &arguments.to_string()).unwrap()
        else {
            panic!("not an order");
        };
        let sealed = perp_order::build(&request, &venue, &policy(), &moment()).await;
        verified(Rail::PerpOrder, &arguments, &sealed.unwrap());
    }
    let delisted = json!({
        "accountProfile": {"kind": "eoa", "address": USER},
        "coin": "MATIC", "side": "buy", "price": "0.37", "size": "100",
    });
    let Request::PerpOrder(request) =
        Request::parse(Rail::PerpOrder, &delisted.to_string()).unwrap()
    else {
        panic!("not an order");
    };
    let refusal = perp_order::build(&request, &venue, &policy(), &moment())
        .await
        .unwrap_err();
    assert_eq!(refusal.check, "perp_asset_bound");
}
