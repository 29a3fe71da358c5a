//! Tests of callers that close their connection during a paid call. The server completes the call
//! as if the caller had waited.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::World;
use crate::support::buyer::header_of;

/// A generator of seeded random numbers (SplitMix64), which choose when a caller hangs up.
struct Moments(u64);

impl Moments {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }
}

const CALLS: u64 = 60;

/// Sends a paid call over a new connection, which the test can close at any time.
async fn send(world: &World, target: &str, payment: &str) -> TcpStream {
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let head = format!(
        "GET {target} HTTP/1.1\r\nhost: {}\r\npayment-signature: {payment}\r\n\r\n",
        world.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn the_same_payment_is_served_whenever_its_caller_hung_up() {
    let seed = std::env::var("HANG_UP_SEED").map_or(196, |seed| seed.parse().unwrap());
    println!("HANG_UP_SEED={seed}");
    let world = World::onchain().await;
    let target = world.price();
    let mut moments = Moments(seed);
    for call in 0..CALLS {
        let payment = world.buyer.payment(&target).await;
        let stream = send(&world, &target, &payment).await;
        // Half of the callers hang up early in the call.
        let turns = match call % 2 {
            0 => moments.next(12),
            _ => moments.next(400),
        };
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        drop(stream);

        let began = Instant::now();
        let mut answer = world.buyer.get_paid(&target, &payment).await;
        while answer.status == 409 {
            assert_eq!(answer.action(), "send_same_again", "{}", answer.text);
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "no call owns the payment"
            );
            answer = world.buyer.get_paid(&target, &payment).await;
        }
        assert_eq!(answer.status, 200, "after {turns} turns: {}", answer.text);
        assert_eq!(world.paid(), 2000 * (call + 1), "after {turns} turns");
    }
}

/// Only the chain can judge these signatures, so the ledger keeps one row for each forgery that it
/// judged. The pool for newcomers bounds the number of rows, whether callers wait for the answer or
/// not.
#[tokio::test]
async fn forgeries_whose_callers_hang_up_leave_bounded_rows() {
    const LOOKED_AT: u64 = 40;
    let world = World::start(|config, _rpc| {
        config.credit.verification_micro_usd = 25_000;
        config.credit.pool_micro_usd = 25_000 * LOOKED_AT;
        config.credit.pool_refill_micro_usd_per_second = 1;
        config.credit.address_share_micro_usd = 26_000;
        config.credit.address_refill_micro_usd_per_second = 1;
    })
    .await;
    let target = world.price();
    let mut moments = Moments(196);
    let mut forged = Vec::new();
    for _ in 0..4 * LOOKED_AT {
        let draft = world.buyer.draft(Method::GET, &target).await;
        let mut payment = world.buyer.signed(&draft);
        payment["payload"]["signature"] = json!(format!("0x{}", "ab".repeat(66)));
        let stream = send(&world, &target, &header_of(&payment)).await;
        for _ in 0..moments.next(200) {
            tokio::task::yield_now().await;
        }
        drop(stream);
        forged.push(payment);
    }
    let began = Instant::now();
    let mut rows = 0;
    for payment in &forged {
        let mut state = world.look_up(payment).await["state"].clone();
        while state == "in_flight" {
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "no call owns the payment"
            );
            state = world.look_up(payment).await["state"].clone();
        }
        match state.as_str() {
            Some("released") => rows += 1,
            state => assert_eq!(state, Some("not_seen")),
        }
    }
    // The share of the address covers one more forgery than the pool.
    assert!((1..=LOOKED_AT + 1).contains(&rows), "{rows} rows");
    assert_eq!(world.paid(), 0);
}
