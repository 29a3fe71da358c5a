//! The example `plans`, as an embedder would compose it, against stand-ins of its upstreams.

#[path = "../../../examples/plans.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "an example: its `main` is run by hand"
)]
mod plans;

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{U256, address};
use data_sources::{Clock, VenueConfig, circle::CircleConfig, rpc::RpcConfig};
use plan_builder::{
    AccountProfile, FeeDocument, Policy, Request, VerifiedPlan, bridge::BridgeRequest, verify,
};
use serde_json::json;

use self::plans::{Config, Venues, moment};
use crate::rails::*;

#[tokio::test]
async fn a_bridge_is_planned_from_the_recorded_fees_and_verified() {
    let fees = answering(json(&recorded("circle/fees_fast.json"))).await;
    let node = deciding(|request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let result = match body["method"].as_str().unwrap() {
            "eth_chainId" => "0x2105".to_owned(),
            // The chain has no least fee, and the account no code.
            "eth_call" => format!("0x{}", "0".repeat(64)),
            _ => "0x".to_owned(),
        };
        json(&json!({"jsonrpc": "2.0", "id": body["id"], "result": result}))
    })
    .await;
    let clock: Arc<dyn Clock> = Arc::new(recorded_clock());
    let asking = |node: &str| Config {
        circle: CircleConfig {
            base_url: fees.uri(),
            common: VenueConfig {
                limits: limits(),
                ..VenueConfig::default()
            },
        },
        nodes: RpcConfig {
            chains: BTreeMap::from([(8453, vec![node.into()])]),
            ..RpcConfig::default()
        },
        ..Config::default()
    };
    let venues = Venues::new(asking(&node.uri()), &clock).unwrap();
    let text = include_str!("../../../../../fixtures/vectors/plans/fees.toml");
    let document: FeeDocument = toml::from_str(text).unwrap();
    let mut policy = Policy::new(document.review().unwrap());
    policy.simulation = plan_builder::SimulationMode::Off;

    let account = AccountProfile::eoa(address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"), 8453);
    let request = BridgeRequest::new(account, 42161, U256::from(5_000_000)).unwrap();
    let request = Request::Bridge(request);
    let moment = moment(&clock, [7; 32]);
    let sealed = venues.plan(&request, &policy, &moment).await.unwrap();
    let verified = verify(&request, sealed.json(), moment.now(), &policy).unwrap();
    let VerifiedPlan::Bridge(plan) = verified.into_plan() else {
        panic!("not a bridge");
    };
    assert_eq!(plan.recipient, account.address);
    assert_eq!(plan.amount, U256::from(5_000_000));
    assert_eq!(plan.destination_chain_id, 42161);

    // A node that does not answer gives no plan, and the error names it.
    let silent = unused_address().await;
    let venues = Venues::new(asking(&silent), &clock).unwrap();
    let refusal = venues.plan(&request, &policy, &moment).await.unwrap_err();
    assert_eq!(refusal.check, "quote_unavailable");
}

/// The address of a closed port.
async fn unused_address() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}
