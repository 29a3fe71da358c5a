//! A ledger without room: calls are refused before anything is charged, what was bought stays there, and more room is
//! all that is needed to go on.

use alloy_primitives::U256;
use dev_chain::Mining;

use crate::buyer::{Answer, Payment};
use crate::server::Server;
use crate::world::World;

const SMALL: &str = "storage.max_bytes = 131072";

fn total<'a>(payments: impl IntoIterator<Item = &'a (Payment, Answer)>) -> U256 {
    payments
        .into_iter()
        .map(|(payment, _)| payment.amount)
        .sum()
}

/// Presents what was served before, which costs nothing.
async fn assert_kept(world: &World, server: &Server, served: &[(Payment, Answer)]) {
    for (payment, first) in served {
        let again = world.buyer.present(server, payment).await;
        world.assert_paid(payment, &again);
        assert_eq!(again.text, first.text);
        assert_eq!(again.transaction(), first.transaction());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_ledger_refuses_uncharged_and_keeps_what_it_has() {
    let world = World::new(Mining::Auto).await;
    let server = Server::start(&world.config(SMALL), &[]).await;
    let mut served = Vec::new();
    let mut refused = Vec::new();
    while refused.len() < 5 {
        let asset = (served.len() + refused.len()) % 3;
        let payment = world.buyer.sign(&server, "/all-tokens", asset).await;
        let answer = world.buyer.present(&server, &payment).await;
        if answer.status == 200 {
            world.assert_paid(&payment, &answer);
            served.push((payment, answer));
        } else {
            assert_eq!(answer.status, 500, "{}", answer.text);
            answer.assert_uncharged();
            assert_eq!(answer.error("retryable"), true);
            assert!(
                !world.is_settled(&payment),
                "charged and refused: {}",
                answer.text
            );
            refused.push((payment, answer));
        }
        assert!(served.len() < 1_000, "the limit does not hold");
    }
    assert!(served.len() > 5, "{}", served.len());
    assert_eq!(world.received(), total(&served));
    assert_kept(&world, &server, &served).await;
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
    let server = Server::start(&world.config(SMALL), &[]).await;
    assert_kept(&world, &server, &served).await;
    server.stop().await;

    let server = Server::start(&world.config("storage.max_bytes = 1048576"), &[]).await;
    assert_kept(&world, &server, &served).await;
    for (payment, _) in refused {
        // It was not used, so it still buys what it was made for.
        let answer = world.buyer.present(&server, &payment).await;
        world.assert_paid(&payment, &answer);
        served.push((payment, answer));
    }
    assert_eq!(world.buyer.get(&server, "/readyz").await.status, 200);
    assert_kept(&world, &server, &served).await;
    assert_eq!(world.received(), total(&served));
    server.stop().await;
}
