//! Tests that a bridge plan takes as many requests from a share as it causes. The nodes of both
//! chains count the requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use alloy_sol_types::SolValue;
use calldata_checks::Rail;
use serde_json::{Value, json};

use crate::process::node::Node;
use crate::process::rails::REQUESTS;
use crate::process::rails::stage::Venues;
use crate::process::server::Configured;
use crate::process::shares::send;

/// The answer of a node on whose chain the account is a Safe.
fn safe(request: &Value) -> Option<Value> {
    let answer = |bytes: Vec<u8>| Some(json!(Bytes::from(bytes)));
    let selector = match request["method"].as_str()? {
        "eth_getCode" => return Some(json!("0x6080")),
        "eth_call" => hex::decode(request["params"][0]["data"].as_str()?.get(..10)?).ok()?,
        // The node refuses simulations, and the plan says so.
        _ => return None,
    };
    let singleton = Address::repeat_byte(0x51);
    match <[u8; 4]>::try_from(selector).ok()? {
        // getOwners, getThreshold, VERSION, masterCopy.
        [0xa0, 0xe6, 0x7e, 0x2b] => answer(vec![Address::repeat_byte(1)].abi_encode()),
        [0xe7, 0x52, 0x35, 0xb8] => answer(U256::from(1).abi_encode()),
        [0xff, 0xa1, 0xad, 0x74] => answer("1.4.1".abi_encode()),
        [0xa6, 0x19, 0x48, 0x6e] => answer(singleton.abi_encode()),
        // getModulesPaginated, getStorageAt.
        [0xcc, 0x2f, 0x84, 0x52] => {
            let sentinel = Address::with_last_byte(1);
            answer((Vec::<Address>::new(), sentinel).abi_encode_params())
        }
        [0x56, 0x24, 0xb2, 0x5b] => answer(Bytes::from(B256::ZERO.to_vec()).abi_encode()),
        _ => None,
    }
}

fn arguments(kind: &str) -> String {
    let (_, arguments) = REQUESTS
        .iter()
        .find(|(rail, _)| *rail == Rail::Bridge)
        .unwrap();
    let mut arguments: Value = serde_json::from_str(arguments).unwrap();
    arguments["accountProfile"]["kind"] = json!(kind);
    arguments.to_string()
}

/// Starts a node of a chain with the Safe. The counter has the requests that belong to plans.
fn counted(chain_id: u64) -> (Node, Arc<AtomicU64>) {
    let asked = Arc::new(AtomicU64::new(0));
    let count = asked.clone();
    let node = Node::open(chain_id, move |request| {
        let data = request["params"][0]["data"].as_str().unwrap_or_default();
        // The server compares the reviewed legs with the router at other times, too. These requests
        // belong to no plan.
        if data.starts_with(WHITELISTED) {
            return Some(json!(format!("0x{:064x}", 1)));
        }
        count.fetch_add(1, Ordering::Relaxed);
        safe(request)
    });
    (node, asked)
}

/// `isContractSelectorWhitelisted(address,bytes4)`.
const WHITELISTED: &str = "0x9baf00f9";

#[test]
fn a_safe_costs_the_requests_that_it_causes() {
    let venues = Venues::open();
    let ((source, at_source), (destination, at_destination)) = (counted(8453), counted(42161));
    let configured = Configured::new(&format!(
        "server.client_address_header = 'x-forwarded-for'\n\
         plans.shares.bridge = {{ pool = 24, pool_per_hour = 1, address = 24, address_per_hour = 1 }}\n\
         chains.8453.rpc_urls = ['{}']\nchains.42161.rpc_urls = ['{}']\n{}",
        source.url,
        destination.url,
        venues.configuration()
    ));
    let server = configured.serve();
    let address = server.address();
    let ask = || {
        let refused = send(address, Rail::Bridge, &arguments("safe"), "192.0.2.1");
        let asked = [&at_source, &at_destination].map(|asked| asked.swap(0, Ordering::Relaxed));
        (refused, asked)
    };
    // Together with the requests for the fees and the remaining fast transfers these are 24. The
    // pool pays for the first plan, and the address's share for the second.
    assert_eq!(ask(), (None, [12, 10]));
    assert_eq!(ask(), (None, [12, 10]));
    let (refused, asked) = ask();
    assert_eq!(refused.unwrap()["check"], "rate_limited");
    assert_eq!(asked, [0, 0]);
}

#[test]
fn shares_that_no_plan_fits_into_are_refused() {
    for (key, least) in [("pool", 24), ("address", 5)] {
        let few = least - 1;
        let configured = Configured::new(&format!("plans.shares.bridge.{key} = {few}\n"));
        let (key, least) = (
            format!("plans.shares.bridge.{key}"),
            format!("at least {least}"),
        );
        configured
            .run("check-config", &[])
            .error(2, &[&key, &least]);
    }
}
