//! Tests of the server's limits: monthly calls of an upstream, and descriptors of the system.

use std::net::SocketAddr;

use dev_chain::Mining;
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;
use test_support::eventually;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::process::server::{start_limited, start_server};
use crate::process::world::{PRICED, World};

/// An account with a recorded history.
const ACCOUNT: &str = "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984";

/// The quota of each server in the test. Two servers share the quota in the file.
const QUOTA: u64 = 2;

/// How many calls of the quota may have been made by now. The quota is paced, and one call is
/// always allowed.
fn due_calls() -> u64 {
    let now = Timestamp::now();
    let midnight = |date: Date| date.to_zoned(TimeZone::UTC).unwrap().timestamp();
    let first = now.to_zoned(TimeZone::UTC).date().first_of_month();
    let (start, end) = (midnight(first), midnight(first + 1.month()));
    let passed = now.as_second() - start.as_second();
    match passed * 2 >= end.as_second() - start.as_second() {
        true => 2,
        false => 1,
    }
}

fn row(status: &Value) -> &Value {
    row_of(status, "okx.all-tokens")
}

fn row_of<'a>(status: &'a Value, id: &str) -> &'a Value {
    let mut upstreams = status["upstreams"].as_array().unwrap().iter();
    let row = upstreams.find(|upstream| upstream["id"] == id);
    row.unwrap_or_else(|| panic!("{id} is not in {status}"))
}

/// The value of a series.
fn gauge(metrics: &str, series: &str) -> f64 {
    let line = metrics.lines().find(|line| line.starts_with(series));
    let line = line.unwrap_or_else(|| panic!("{series} is not in\n{metrics}"));
    line.rsplit_once(' ').unwrap().1.parse().unwrap()
}

#[track_caller]
fn same(observed: f64, expected: u64) {
    let expected = f64::from(u32::try_from(expected).unwrap());
    // A gauge of whole numbers is exact.
    assert_eq!(
        observed.to_bits(),
        expected.to_bits(),
        "{observed}, expected {expected}"
    );
}

/// Each process starts with an empty cache and so asks the upstream. Only the store remembers how
/// much of the month's quota is used.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_monthly_quota_outlives_restarts_and_is_shown() {
    let world = World::new(Mining::Auto).await;
    let further = "upstreams.okx.monthly_quota = 4\nupstreams.okx.servers = 2";
    let config = world.config(further);
    let live = [
        ("SVC__UPSTREAMS__OKX__MODE", "live"),
        ("SVC__UPSTREAMS__OKX__API_KEY", "key"),
        ("SVC__UPSTREAMS__OKX__SECRET_KEY", "secret"),
        ("SVC__UPSTREAMS__OKX__PASSPHRASE", "phrase"),
    ];
    let (due, mut budget) = (due_calls(), None);
    for used in 0..due + 2 {
        let server = start_server(&config, &live).await;
        let get = |path: &'static str| world.buyer.get(&server, path);
        let used = used.min(due);
        let before = get("/status").await.body();
        assert_eq!(row(&before)["quota_left"], QUOTA - used, "{before}");
        assert_eq!(row(&before)["mode"], "live");
        let limit = row(&before)["budget_limit"].as_u64().unwrap();
        if used == 0 {
            assert_eq!(row(&before)["budget_left"], limit);
        }
        assert_eq!(*budget.get_or_insert(limit), limit);

        let payment = world.buyer.sign(&server, "/all-tokens", 0).await;
        let answer = world.buyer.present(&server, &payment).await;
        let left = if used < due {
            world.assert_paid(&payment, &answer);
            QUOTA - used - 1
        } else {
            assert_eq!(answer.status, 503, "{}", answer.text);
            answer.assert_uncharged();
            assert_eq!(answer.error("code"), "upstream_unavailable");
            assert_eq!(answer.error("reason"), "upstream_quota_spent");
            assert!(answer.headers.contains_key("retry-after"));
            assert_eq!(answer.error("next")["action"], "send_same_again");
            assert!(!world.is_settled(&payment));
            QUOTA - used
        };
        let after = get("/status").await.body();
        assert_eq!(row(&after)["quota_left"], left, "{after}");
        let resets_at: Timestamp = row(&after)["quota_resets_at"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        assert!(resets_at > Timestamp::now());
        let metrics = get("/metrics").await.text;
        same(
            gauge(&metrics, "svc_upstream_quota_limit{upstream=\"okx\"}"),
            QUOTA,
        );
        same(
            gauge(&metrics, "svc_upstream_quota_left{upstream=\"okx\"}"),
            left,
        );
        let of_family = |name: &str| {
            let prefix = format!("svc_upstream_budget_{name}{{family=\"okx");
            let mut lines = metrics.lines().filter(|line| line.starts_with(&prefix));
            lines.any(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap() > 0.5)
        };
        assert!(of_family("left") && of_family("limit"), "{metrics}");
        server.stop().await;
    }
    // A server that shares with no other has twice the budget.
    let server = start_server(&world.config(""), &live).await;
    let status = world.buyer.get(&server, "/status").await.body();
    assert_eq!(row(&status)["budget_limit"], budget.unwrap() * 2);
    assert_eq!(row(&status)["quota_left"], Value::Null);
    server.stop().await;
}

/// Otherwise a restart would allow twice the upstream's limit within a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_use_of_a_minutes_budget_outlives_a_restart() {
    const ROW: &str = "hyperliquid.history";
    let world = World::new(Mining::Auto).await;
    let config = world.config("");
    let url = world.upstream("api.hyperliquid.xyz");
    let live = [
        ("SVC__UPSTREAMS__HYPERLIQUID__ENABLED", "true"),
        ("SVC__UPSTREAMS__HYPERLIQUID__MODE", "live"),
        ("SVC__UPSTREAMS__HYPERLIQUID__BASE_URL", url.as_str()),
    ];
    let left = |status: &Value| row_of(status, ROW)["budget_left"].as_u64().unwrap();

    let first = start_server(&config, &live).await;
    let whole = left(&world.buyer.get(&first, "/status").await.body());
    let path = format!("/hl-transaction-history?address={ACCOUNT}");
    let payment = world.buyer.sign(&first, &path, 0).await;
    let answer = world.buyer.present(&first, &payment).await;
    world.assert_paid(&payment, &answer);
    let used = whole - left(&world.buyer.get(&first, "/status").await.body());
    assert!(used > 0);
    first.stop().await;

    let second = start_server(&config, &live).await;
    let status = world.buyer.get(&second, "/status").await.body();
    assert_eq!(row_of(&status, ROW)["budget_limit"], whole);
    // The server records the highest weight of a call before it makes the call. It does not record
    // the real weight.
    assert!(left(&status) <= whole - used, "{}", left(&status));
    second.stop().await;
}

/// Idle connections leave enough descriptors for a call, which needs them for the ledger's files,
/// the upstream and the node.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paid_call_succeeds_beside_more_idle_sockets_than_descriptors() {
    const DESCRIPTORS: u32 = 1_024;
    const SOCKETS: usize = 1_100;
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    )
    .unwrap();
    let world = World::new(Mining::Auto).await;
    let config = world
        .config("server.header_timeout_seconds = 120\nserver.max_connections_per_address = 16384");
    let server = start_limited(&format!("ulimit -n {DESCRIPTORS}"), &config).await;
    // The buyer's own connection is open before them.
    let payments = [
        world.buyer.sign(&server, PRICED[0], 0).await,
        world.buyer.sign(&server, PRICED[1], 1).await,
    ];
    let mut sockets = Vec::new();
    for _ in 0..SOCKETS {
        let connected = TcpStream::connect(server.address());
        let connected = tokio::time::timeout(crate::process::PATIENCE, connected).await;
        sockets.push(connected.unwrap().unwrap());
    }
    let accepted = async || {
        let metrics = world.buyer.get(&server, "/metrics").await.text;
        let open = gauge(&metrics, "svc_connections ");
        (open >= 500.0).then_some(open)
    };
    let open = eventually("many sockets are accepted", accepted).await;
    assert!(open < f64::from(DESCRIPTORS), "{open}");
    for payment in &payments {
        let answer = world.buyer.present(&server, payment).await;
        world.assert_paid(payment, &answer);
    }
    drop(sockets);
    let log = server.stop().await;
    assert!(log.contains("fewer connections than configured"), "{log}");
}

/// Opens connections from an address of this machine, each with an unfinished head.
async fn unfinished(from: [u8; 4], to: SocketAddr, count: usize) -> Vec<TcpStream> {
    let mut opened = Vec::new();
    for _ in 0..count {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((from, 0).into()).unwrap();
        let mut stream = socket.connect(to).await.unwrap();
        // A refused connection may be closed already.
        let _ = stream
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
            .await;
        opened.push(stream);
    }
    opened
}

/// How many of the connections the server serves when their heads are finished.
async fn served(connections: Vec<TcpStream>) -> usize {
    let mut served = 0;
    for mut stream in connections {
        let _ = stream.write_all(b"Connection: close\r\n\r\n").await;
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let _ = tokio::time::timeout(crate::process::PATIENCE, read)
            .await
            .unwrap();
        served += usize::from(answer.starts_with(b"HTTP/1.1 200"));
    }
    served
}

/// One address cannot fill the server with unfinished requests. The operator's proxy, through which
/// many clients come, can open more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_holds_only_its_part_of_the_connections() {
    const CAP: usize = 20;
    let world = World::new(Mining::Auto).await;
    let config = world.config(
        "server.max_connections_per_address = 20\nserver.trusted_proxies = ['127.0.0.3/32']",
    );
    let server = start_server(&config, &[]).await;
    let crowd = unfinished([127, 0, 0, 2], server.address(), 2 * CAP).await;
    let proxied = unfinished([127, 0, 0, 3], server.address(), 2 * CAP).await;
    // Another address buys meanwhile.
    let payment = world.buyer.sign(&server, PRICED[0], 0).await;
    let answer = world.buyer.present(&server, &payment).await;
    world.assert_paid(&payment, &answer);
    let metrics = world.buyer.get(&server, "/metrics").await.text;
    same(gauge(&metrics, "svc_connections_refused_total "), 20);
    assert_eq!(served(crowd).await, CAP);
    assert_eq!(served(proxied).await, 2 * CAP);
    // The places are free again.
    let next = unfinished([127, 0, 0, 2], server.address(), 1).await;
    assert_eq!(served(next).await, 1);
    server.stop().await;
}
