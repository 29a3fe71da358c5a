//! One caller cannot use up what the venues allow: shares by client address, over HTTP.

use std::net::SocketAddr;

use plan_checks::Rail;
use serde_json::Value;

use crate::process::{Configured, Running, get, post_with};
use crate::rails::{REQUESTS, Venues, name};

/// A pool of four requests and two for each address, none of which comes back while a test runs.
const SCARCE: &str = "server.client_address_header = 'x-forwarded-for'\n\
    plans.shares.swap = { pool = 4, pool_per_hour = 1, address = 2, address_per_hour = 1 }\n";

struct Stage {
    server: Running,
    address: SocketAddr,
    _configured: Configured,
    _venues: Venues,
}

impl Stage {
    fn open(lines: &str) -> Self {
        let venues = Venues::open();
        let configured = Configured::new(&format!("{lines}{}", venues.configuration()));
        let path = configured.path();
        let server = Running::start(&["serve", "--config", path.to_str().unwrap()]);
        let (address, _) = server.listens();
        Self {
            server,
            address,
            _configured: configured,
            _venues: venues,
        }
    }

    /// Asks for a plan as the proxy passes it on for a client; gives what it is refused for, if anything.
    fn ask(&self, rail: Rail, forwarded: &str) -> Option<Value> {
        let (_, arguments) = REQUESTS.iter().find(|(found, _)| *found == rail).unwrap();
        self.send(rail, arguments, forwarded)
    }

    fn send(&self, rail: Rail, arguments: &str, forwarded: &str) -> Option<Value> {
        let params = format!(r#"{{"name":"{}","arguments":{arguments}}}"#, name(rail));
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let header = format!("X-Forwarded-For: {forwarded}\r\n");
        let answer = post_with(self.address, &header, &body);
        let result = &answer["result"];
        let refused = result["structuredContent"].get("refused").cloned();
        assert_eq!(result["isError"], refused.is_some(), "{answer}");
        refused
    }

    fn quotes(&self) -> u64 {
        let status = get(self.address, "/status");
        let upstreams = status["upstreams"].as_array().unwrap();
        let quote = upstreams.iter().find(|seen| seen["id"] == "lifi.quote");
        quote.unwrap()["calls"].as_u64().unwrap()
    }
}

#[test]
fn who_hammers_is_refused_and_everybody_else_is_served() {
    let stage = Stage::open(SCARCE);
    let greedy = "192.0.2.1";
    let mut served = 0;
    let refused = loop {
        match stage.ask(Rail::Swap, greedy) {
            None => served += 1,
            Some(refused) => break refused,
        }
    };
    // A plan takes two requests when its chain is read as well; without a node it uses one and gives one back.
    assert_eq!(served, 3 + 1);
    assert_eq!(refused["check"], "rate_limited");
    assert!(refused["retry_after"].as_u64().unwrap() > 60, "{refused}");
    // Nothing was asked for whoever was refused, and the honest address has its own share.
    let asked = stage.quotes();
    for _ in 0..20 {
        assert!(stage.ask(Rail::Swap, greedy).is_some());
    }
    assert_eq!(stage.quotes(), asked);
    assert_eq!(stage.ask(Rail::Swap, "192.0.2.2"), None);
    // What the client itself writes in front of the proxy's entry changes nothing.
    assert!(
        stage
            .ask(Rail::Swap, &format!("192.0.2.9, {greedy}"))
            .is_some()
    );
    // Another venue is not used up.
    assert_eq!(stage.ask(Rail::Bridge, greedy), None);
    // What is refused before anything is asked is told as it is, and costs nothing.
    let wrong = stage.send(Rail::Swap, "{}", greedy).unwrap();
    assert_eq!(wrong["check"], "input_invalid");
    stage.server.terminate();
    assert_eq!(stage.server.ended().0.code(), Some(0));
}

#[test]
fn an_ipv6_network_is_one_caller() {
    let stage = Stage::open(SCARCE);
    let address = |network: u8, host: u8| format!("2001:db8:0:{network}::{host}");
    let served = (0..20).filter(|host| stage.ask(Rail::Swap, &address(1, *host)).is_none());
    assert_eq!(served.count(), 4);
    assert_eq!(stage.ask(Rail::Swap, &address(2, 1)), None);
    assert!(stage.ask(Rail::Swap, &address(1, 99)).is_some());
}

#[test]
fn without_a_header_that_is_named_callers_cannot_choose_an_address() {
    let stage = Stage::open(SCARCE.split_once('\n').unwrap().1);
    let served = (0..20).filter(|host| {
        let forwarded = format!("192.0.2.{host}");
        stage.ask(Rail::Swap, &forwarded).is_none()
    });
    assert_eq!(served.count(), 4);
}
