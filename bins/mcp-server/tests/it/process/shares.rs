//! Tests, over HTTP, of the shares of client addresses: one caller cannot use up the limits of the
//! venues.

use std::net::{SocketAddr, TcpStream};

use calldata_checks::Rail;
use serde_json::Value;
use test_support::process::Server;
use test_support::wait;

use crate::process::rails::REQUESTS;
use crate::process::rails::stage::{Venues, name};
use crate::process::server::{Configured, begin_post, get, post_with};

/// The pool covers six requests and the share of each address three. Nothing is refilled during a
/// test.
const SCARCE: &str = "server.client_address_header = 'x-forwarded-for'\n\
    plans.shares.swap = { pool = 6, pool_per_hour = 1, address = 3, address_per_hour = 1 }\n";

struct Stage {
    server: Server,
    address: SocketAddr,
    _configured: Configured,
    _venues: Venues,
}

impl Stage {
    fn open(lines: &str) -> Self {
        Self::over(lines, Venues::configuration)
    }

    /// Opens such a stage over venues with limits.
    fn open_live(lines: &str) -> Self {
        Self::over(lines, Venues::taken_for_live)
    }

    fn over(lines: &str, configuration: fn(&Venues) -> String) -> Self {
        let venues = Venues::open();
        let configured = Configured::new(&format!("{lines}{}", configuration(&venues)));
        let server = configured.serve();
        let address = server.address();
        Self {
            server,
            address,
            _configured: configured,
            _venues: venues,
        }
    }

    /// Like [`ask`], at this server.
    fn ask(&self, rail: Rail, forwarded: &str) -> Option<Value> {
        ask(self.address, rail, forwarded)
    }

    fn send(&self, rail: Rail, arguments: &str, forwarded: &str) -> Option<Value> {
        send(self.address, rail, arguments, forwarded)
    }

    fn quotes(&self) -> u64 {
        let status = get(self.address, "/status");
        let upstreams = status["upstreams"].as_array().unwrap();
        let quote = upstreams.iter().find(|seen| seen["id"] == "lifi.quote");
        quote.unwrap()["calls"].as_u64().unwrap()
    }
}

/// Asks for a plan as a proxy would forward a client's request. Returns the refusal, if there is
/// one.
pub(crate) fn ask(address: SocketAddr, rail: Rail, forwarded: &str) -> Option<Value> {
    send(address, rail, arguments(rail), forwarded)
}

pub(crate) fn send(
    address: SocketAddr,
    rail: Rail,
    arguments: &str,
    forwarded: &str,
) -> Option<Value> {
    let answer = post_with(address, &header(forwarded), &body(rail, arguments));
    let result = &answer["result"];
    let refused = result["structuredContent"].get("refused").cloned();
    assert_eq!(result["isError"], refused.is_some(), "{answer}");
    refused
}

/// Asks like [`ask`], and does not read the answer.
pub(crate) fn begin(address: SocketAddr, rail: Rail, forwarded: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    begin_post(&stream, &header(forwarded), &body(rail, arguments(rail)));
    stream
}

fn arguments(rail: Rail) -> &'static str {
    let (_, arguments) = REQUESTS.iter().find(|(found, _)| *found == rail).unwrap();
    arguments
}

fn header(forwarded: &str) -> String {
    format!("X-Forwarded-For: {forwarded}\r\n")
}

fn body(rail: Rail, arguments: &str) -> String {
    let params = format!(r#"{{"name":"{}","arguments":{arguments}}}"#, name(rail));
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#)
}

#[test]
fn a_hammering_caller_is_refused_and_others_are_served() {
    let stage = Stage::open(SCARCE);
    let greedy = "192.0.2.1";
    let mut served = 0;
    let refused = loop {
        match stage.ask(Rail::Swap, greedy) {
            None => served += 1,
            Some(refused) => break refused,
        }
    };
    // A plan may take three requests. Here it takes one and gives two back, until fewer than three
    // are left. The prices by which the swap is judged do not count.
    assert_eq!(served, 4 + 1);
    assert_eq!(refused["check"], "rate_limited");
    assert!(refused["retry_after"].as_u64().unwrap() > 60, "{refused}");
    // A refused call causes no request. The honest address has a share of its own.
    let asked = stage.quotes();
    for _ in 0..20 {
        assert!(stage.ask(Rail::Swap, greedy).is_some());
    }
    assert_eq!(stage.quotes(), asked);
    assert_eq!(stage.ask(Rail::Swap, "192.0.2.2"), None);
    // An entry that the client writes before the proxy's entry changes nothing.
    assert!(
        stage
            .ask(Rail::Swap, &format!("192.0.2.9, {greedy}"))
            .is_some()
    );
    // The greedy caller has not used the limits of the other venue.
    assert_eq!(stage.ask(Rail::Bridge, greedy), None);
    // A call that is refused before any request keeps its own error, and costs nothing.
    let wrong = stage.send(Rail::Swap, "{}", greedy).unwrap();
    assert_eq!(wrong["check"], "input_invalid");
    wait(stage.server.stop());
}

#[test]
fn an_ipv6_network_is_one_caller() {
    let stage = Stage::open(SCARCE);
    let address = |network: u8, host: u8| format!("2001:db8:0:{network}::{host}");
    let served = (0..20).filter(|host| stage.ask(Rail::Swap, &address(1, *host)).is_none());
    assert_eq!(served.count(), 5);
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
    assert_eq!(served.count(), 5);
}

/// How many requests the pool and each share cover: a pool of two plans and a share of one, which
/// is far less than the venues allow. A bridge's pool covers one plan of a Safe, and its share one
/// plan of an account with a key.
fn scarce(rail: Rail) -> (u64, u64) {
    match rail {
        Rail::Swap => (6, 3),
        Rail::Bridge => (24, 5),
        Rail::PerpOrder => (10, 5),
        Rail::PmOrder => (14, 7),
    }
}

/// How many requests the server has sent to the upstreams of a rail.
fn request_count(address: SocketAddr, rail: Rail) -> u64 {
    let calls = observed(address, rail).into_iter();
    calls.map(|seen| seen["calls"].as_u64().unwrap()).sum()
}

/// The smallest remaining budget of a rail's upstreams.
fn left(address: SocketAddr, rail: Rail) -> u64 {
    let calls = observed(address, rail).into_iter();
    let left = calls.map(|seen| seen["budget_left"].as_u64().unwrap());
    left.min().unwrap()
}

fn observed(address: SocketAddr, rail: Rail) -> Vec<Value> {
    let of = match rail {
        Rail::Swap => "lifi.",
        Rail::Bridge => "circle.",
        Rail::PmOrder => "polymarket.",
        Rail::PerpOrder => "hyperliquid.",
    };
    let status = get(address, "/status");
    let upstreams = status["upstreams"].as_array().unwrap();
    let of_rail = |seen: &&Value| seen["id"].as_str().unwrap().starts_with(of);
    upstreams.iter().filter(of_rail).cloned().collect()
}

/// Tests each tool separately. One address sends 200 calls over eight connections, while other
/// callers ask for one plan each. The 200 calls would exceed the limit of any venue (70 quotes, 30
/// requests a second, 200 in ten seconds, 55 readings a minute).
#[test]
fn a_flood_from_one_address_empties_no_upstream_and_honest_callers_are_served_beside_it() {
    let shares = Rail::ALL.map(|rail| {
        let ((pool, address), rail) = (scarce(rail), rail.as_str());
        format!(
            "plans.shares.{rail} = {{ pool = {pool}, pool_per_hour = 1, address = {address}, \
             address_per_hour = 1 }}\n"
        )
    });
    let header = "server.client_address_header = 'x-forwarded-for'\n";
    let stage = Stage::open_live(&format!("{header}{}", shares.concat()));
    for rail in Rail::ALL {
        let ((pool, share), address) = (scarce(rail), stage.address);
        let flood = || {
            let (mut served, mut refused) = (0, Vec::new());
            for _ in 0..25 {
                match ask(address, rail, "192.0.2.1") {
                    None => served += 1,
                    Some(refusal) => refused.push(refusal),
                }
            }
            (served, refused)
        };
        let (floods, honest) = std::thread::scope(|scope| {
            let floods: Vec<_> = (0..8).map(|_| scope.spawn(flood)).collect();
            let honest = ["198.51.100.7", "203.0.113.9", "2001:db8::5"]
                .map(|client| scope.spawn(move || ask(address, rail, client)));
            (
                floods
                    .into_iter()
                    .map(|flood| flood.join().unwrap())
                    .collect::<Vec<_>>(),
                honest.map(|honest| honest.join().unwrap()),
            )
        });
        assert_eq!(honest, [None, None, None], "{}", rail.as_str());
        let served: u64 = floods.iter().map(|(served, _)| served).sum();
        let refused: Vec<Value> = floods
            .into_iter()
            .flat_map(|(_, refused)| refused)
            .collect();
        assert!(
            served >= 1 && refused.len() > 100,
            "{}: {served}",
            rail.as_str()
        );
        for refusal in &refused {
            assert_eq!(refusal["check"], "rate_limited", "{refusal}");
            assert!(refusal["retry_after"].as_u64().unwrap() > 0, "{refusal}");
        }
        // The pool gets unused requests back. The greedy address takes them.
        while stage.ask(rail, "192.0.2.1").is_none() {}
        // All callers together have used at most the pool, and each of them its share.
        let most = pool + 4 * share;
        let before = request_count(stage.address, rail);
        assert!(before <= most, "{}: {before} of {most}", rail.as_str());
        assert!(left(stage.address, rail) > 0, "{}", rail.as_str());
        // A refused call causes no request.
        for _ in 0..20 {
            assert!(stage.ask(rail, "192.0.2.1").is_some());
        }
        assert_eq!(request_count(stage.address, rail), before);
    }
    wait(stage.server.stop());
}
