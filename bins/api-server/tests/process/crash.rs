//! SIGKILL at any moment of a paid call. After the restart on the same ledger every settled payment gets its answer,
//! nothing is charged twice, and nothing is served unpaid.

use std::collections::HashMap;
use std::time::Duration;

use alloy_primitives::U256;
use dev_chain::Mining;
use ledger::{Journal, Options, Recovery, SqliteLedger};
use tokio::task::JoinSet;

use crate::buyer::{Answer, Payment};
use crate::server::Server;
use crate::tripwire::Moment;
use crate::world::{PRICED, World};
use crate::{PATIENCE, POLL, eventually};

/// Every payment that was made, and the answers that came before a crash.
#[derive(Default)]
struct Book {
    payments: Vec<Payment>,
    answers: HashMap<String, Answer>,
}

/// Presents payments, all at once, until the server has answered or died.
async fn present(world: &World, server: &Server, payments: &[Payment]) -> Vec<(Payment, Answer)> {
    let mut calls = JoinSet::new();
    for payment in payments.iter().cloned() {
        let (buyer, url) = (world.buyer.clone(), server.url(&payment.target));
        calls.spawn(async move {
            let answer = buyer.try_get(&url, Some(&payment.header)).await?;
            Some((payment, answer))
        });
    }
    calls.join_all().await.into_iter().flatten().collect()
}

impl Book {
    async fn sign(&mut self, world: &World, server: &Server, count: usize) -> Vec<Payment> {
        let mut payments = Vec::new();
        for number in self.payments.len()..self.payments.len() + count {
            let target = PRICED[(number / 3) % 3];
            payments.push(world.buyer.sign(server, target, number % 3).await);
        }
        self.payments.extend(payments.iter().cloned());
        payments
    }

    /// Checks answers, and keeps those that were served.
    fn keep(&mut self, world: &World, answers: Vec<(Payment, Answer)>) {
        for (payment, answer) in answers {
            if answer.status != 200 {
                answer.assert_uncharged();
                continue;
            }
            world.assert_paid(&payment, &answer);
            if let Some(first) = self.answers.get(&payment.header) {
                assert_eq!(first.text, answer.text, "another answer for the same payment");
                assert_eq!(first.transaction(), answer.transaction());
            }
            self.answers.insert(payment.header, answer);
        }
    }

    /// Presents every payment again until it has its answer: one that the crash kept from being settled is as good as
    /// new. Then counts the money.
    async fn settle_up(&mut self, world: &World, server: &Server) {
        let settled_before: Vec<Option<String>> =
            self.payments.iter().map(|payment| world.settled_by(payment.nonce)).collect();
        let mut open = self.payments.clone();
        let mut rounds = 0;
        while !open.is_empty() {
            let answers = present(world, server, &open).await;
            assert_eq!(answers.len(), open.len(), "the server died:\n{}", server.log());
            for (payment, answer) in &answers {
                // In flight, undecided, or decided as not charged: to be presented again.
                let pending = matches!(
                    (answer.status, answer.body()["error"]["code"].as_str()),
                    (402, _) | (409, Some("payment_in_flight")) | (503, Some("settlement_pending"))
                );
                assert!(
                    answer.status == 200 || pending,
                    "{} {}\n{}",
                    answer.status,
                    answer.text,
                    server.log()
                );
                let settled = settled_before[self.number(payment)].is_some();
                assert!(answer.status != 402 || !settled, "charged, but told not: {}", answer.text);
            }
            self.keep(world, answers);
            open.retain(|payment| !self.answers.contains_key(&payment.header));
            rounds += 1;
            assert!(POLL * rounds < PATIENCE, "still open: {open:?}\n{}", server.log());
            tokio::time::sleep(POLL).await;
        }
        for (payment, before) in self.payments.iter().zip(settled_before) {
            let answer = &self.answers[&payment.header];
            assert!(before.is_none_or(|transaction| transaction == answer.transaction()));
        }
        let price: U256 = self.payments.iter().map(|payment| payment.amount).sum();
        assert_eq!(world.received(), price, "each payment moved its amount exactly once");
    }

    fn number(&self, payment: &Payment) -> usize {
        self.payments.iter().position(|other| other.nonce == payment.nonce).unwrap()
    }
}

/// Nothing is left to decide, and all answers are there.
async fn close(world: &World, server: Server, book: &mut Book) {
    let answers = present(world, &server, &book.payments).await;
    assert!(answers.iter().all(|(_, answer)| answer.status == 200));
    book.keep(world, answers);
    server.stop().await;
    let url = format!("sqlite://{}", world.ledger().display());
    let ledger = SqliteLedger::open(&url, Options::default()).unwrap();
    assert_eq!(ledger.undecided(None, 10).await, Ok(Vec::new()));
    assert_eq!(ledger.recover(0).await, Ok(Recovery::default()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_every_request_of_a_paid_call() {
    let world = World::new(Mining::Auto).await;
    let mut book = Book::default();
    let mut server = world.start().await;
    let mut at = 1;
    loop {
        let mut struck = false;
        for moment in [Moment::Before, Moment::After] {
            let payments = book.sign(&world, &server, 1).await;
            world.wire.arm(at, moment, server.killer());
            let answers = present(&world, &server, &payments).await;
            struck = !world.wire.disarm();
            assert_eq!(struck, answers.is_empty());
            book.keep(&world, answers);
            server.killer().kill();
            server = world.start().await;
            book.settle_up(&world, &server).await;
        }
        if !struck {
            break;
        }
        at += 1;
    }
    // Verification, the upstream, and the settlement are several requests.
    assert!(at > 8, "{at}");
    close(&world, server, &mut book).await;
}
