//! Tests of a ledger that has no room left: the server refuses calls uncharged, keeps bought
//! answers, and continues as soon as there is room.

use alloy_primitives::U256;
use dev_chain::Mining;
use tokio::task::JoinSet;

use crate::process::buyer::{Answer, Payment};
use crate::process::eventually;
use crate::process::server::{Server, start_limited, start_server};
use crate::process::world::World;

const PAGE: usize = 4096;

/// The payments of a ledger that ran out of room.
#[derive(Default)]
struct Filled {
    served: Vec<(Payment, Answer)>,
    refused: Vec<Payment>,
}

/// Makes this many paid calls at once, until several calls in a row have been refused.
async fn fill(world: &World, server: &Server, at_once: usize) -> Filled {
    let mut filled = Filled::default();
    let mut signed = 0;
    while filled.refused.len() < 5 {
        assert!(signed < 1_000, "the limit does not hold");
        let mut calls = JoinSet::new();
        for _ in 0..at_once {
            let payment = world.buyer.sign(server, "/all-tokens", signed % 3).await;
            signed += 1;
            let (buyer, url) = (world.buyer.clone(), server.url(&payment.target));
            calls.spawn(async move {
                let answer = buyer.try_get(&url, Some(&payment.header)).await;
                (payment, answer.expect("an answer"))
            });
        }
        for (payment, answer) in calls.join_all().await {
            if answer.status == 200 {
                world.assert_paid(&payment, &answer);
                filled.served.push((payment, answer));
                continue;
            }
            assert_eq!(answer.status, 503, "{}", answer.text);
            answer.assert_uncharged();
            assert_eq!(answer.error("retryable"), true);
            assert!(
                !world.is_settled(&payment),
                "charged and refused: {}",
                answer.text
            );
            filled.refused.push(payment);
        }
    }
    assert!(filled.served.len() > 5, "{}", filled.served.len());
    assert_eq!(world.received(), filled.paid());
    filled
}

impl Filled {
    fn paid(&self) -> U256 {
        self.served.iter().map(|(payment, _)| payment.amount).sum()
    }

    /// Presents the served payments again, which costs nothing and changes nothing. Returns the
    /// number of answers that are unavailable because their charge found no room.
    async fn present_again(&self, world: &World, server: &Server) -> usize {
        let mut unrecorded = 0;
        for (payment, first) in &self.served {
            let again = world.buyer.present(server, payment).await;
            let code = again.body()["error"]["code"].clone();
            if code == "settlement_pending" || code == "payment_in_flight" {
                unrecorded += 1;
                continue;
            }
            world.assert_paid(payment, &again);
            assert_eq!(again.text, first.text);
            assert_eq!(again.transaction(), first.transaction());
        }
        assert_eq!(world.received(), self.paid());
        unrecorded
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_ledger_refuses_uncharged_and_keeps_what_it_has() {
    let world = World::new(Mining::Auto).await;
    let small = "storage.max_bytes = 131072";
    let server = start_server(&world.config(small), &[]).await;
    let mut filled = fill(&world, &server, 1).await;
    assert_eq!(filled.present_again(&world, &server).await, 0);
    assert_eq!(world.buyer.get(&server, "/healthz").await.status, 200);
    let ready = world.buyer.get(&server, "/readyz").await;
    assert_eq!(ready.status, 503);
    assert_eq!(
        ready.body()["reasons"][0]["component"],
        "ledger",
        "{}",
        ready.text
    );
    server.stop().await;

    // A restart alone changes nothing, and does not fail.
    let server = start_server(&world.config(small), &[]).await;
    assert_eq!(filled.present_again(&world, &server).await, 0);
    server.stop().await;

    let server = start_server(&world.config("storage.max_bytes = 1048576"), &[]).await;
    for payment in std::mem::take(&mut filled.refused) {
        // The payment was not used, so it still buys its answer.
        let answer = world.buyer.present(&server, &payment).await;
        world.assert_paid(&payment, &answer);
        filled.served.push((payment, answer));
    }
    assert_eq!(world.buyer.get(&server, "/readyz").await.status, 200);
    assert_eq!(filled.present_again(&world, &server).await, 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_charge_that_the_full_ledger_cannot_record_is_not_lost() {
    let mut unrecorded = 0;
    // Several calls run at once and the limits differ by one page, so that every kind of row meets
    // the last page.
    for pages in 32..48 {
        let world = World::new(Mining::Auto).await;
        let limit = format!("storage.max_bytes = {}", pages * PAGE);
        let server = start_server(&world.config(&limit), &[]).await;
        let filled = fill(&world, &server, 4).await;
        unrecorded += filled.present_again(&world, &server).await;
        server.stop().await;

        // The next start decides open entries, even without room.
        let server = start_server(&world.config(&limit), &[]).await;
        filled.present_again(&world, &server).await;
        server.stop().await;

        let server = start_server(&world.config(""), &[]).await;
        eventually("every answer", async || {
            (filled.present_again(&world, &server).await == 0).then_some(())
        })
        .await;
        server.stop().await;
    }
    assert!(
        unrecorded > 0,
        "every charge found room: other limits are needed"
    );
}

/// Here the operating system refuses the write, to the log or to the file, and not SQLite by a
/// limit of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_takes_no_more_refuses_uncharged_and_loses_nothing() {
    for kib in [160, 200, 256] {
        let world = World::new(Mining::Auto).await;
        let limits = format!(r#"trap "" XFSZ; ulimit -f {}"#, 2 * kib);
        let server = start_limited(&limits, &world.config("")).await;
        let mut filled = fill(&world, &server, 4).await;
        filled.present_again(&world, &server).await;
        let ready = world.buyer.get(&server, "/readyz").await;
        assert_eq!(ready.status, 503, "{}", ready.text);
        server.stop().await;

        let server = start_server(&world.config(""), &[]).await;
        for payment in std::mem::take(&mut filled.refused) {
            let answer = world.buyer.present(&server, &payment).await;
            world.assert_paid(&payment, &answer);
            filled.served.push((payment, answer));
        }
        eventually("every answer", async || {
            (filled.present_again(&world, &server).await == 0).then_some(())
        })
        .await;
        server.stop().await;
    }
}
