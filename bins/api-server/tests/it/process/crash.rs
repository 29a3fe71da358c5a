//! Kills the server at any moment of a paid call. After a restart on the same ledger every settled
//! payment gets its answer, nothing is charged twice, and nothing is served unpaid.

use std::collections::HashMap;
use std::time::Duration;

use alloy_primitives::U256;
use dev_chain::Mining;
use ledger::{Journal, Options, Recovery, SqliteLedger};
use tokio::task::JoinSet;

use crate::process::buyer::{Answer, Payment};
use crate::process::eventually;
use crate::process::server::{Server, spawn};
use crate::process::tripwire::{At, Moment};
use crate::process::world::{PRICED, World};

/// The payments of a test, and the answers that each got first.
#[derive(Default)]
pub(super) struct Book {
    pub(super) payments: Vec<Payment>,
    answers: HashMap<String, Answer>,
}

/// Presents payments, all at once. Returns the answers; payments whose server died first have none.
pub(super) async fn present(
    world: &World,
    server: &Server,
    payments: &[Payment],
) -> Vec<(Payment, Answer)> {
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
    pub(super) async fn sign(
        &mut self,
        world: &World,
        server: &Server,
        count: usize,
    ) -> Vec<Payment> {
        let mut payments = Vec::new();
        for number in self.payments.len()..self.payments.len() + count {
            let target = PRICED[(number / 3) % 3];
            payments.push(world.buyer.sign(server, target, number % 3).await);
        }
        self.payments.extend(payments.iter().cloned());
        payments
    }

    /// Checks answers, and keeps those that were served.
    pub(super) fn keep(&mut self, world: &World, answers: Vec<(Payment, Answer)>) {
        for (payment, answer) in answers {
            if answer.status != 200 {
                answer.assert_uncharged();
                continue;
            }
            world.assert_paid(&payment, &answer);
            if let Some(first) = self.answers.get(&payment.header) {
                assert_eq!(
                    first.text, answer.text,
                    "another answer for the same payment"
                );
                assert_eq!(first.transaction(), answer.transaction());
            }
            self.answers.insert(payment.header, answer);
        }
    }

    /// Presents every payment again until it has its answer, because a payment that the crash kept
    /// from being settled is still valid. Then checks the sum that was charged.
    pub(super) async fn settle_up(&mut self, world: &World, server: &Server) {
        let settled_before: Vec<Option<String>> = self
            .payments
            .iter()
            .map(|payment| world.settled_by(payment.nonce))
            .collect();
        let mut open = self.payments.clone();
        let outcome = std::fmt::from_fn(|f| write!(f, "all answers\n{}", server.log()));
        eventually(outcome, async || {
            let answers = present(world, server, &open).await;
            assert_eq!(
                answers.len(),
                open.len(),
                "the server died:\n{}",
                server.log()
            );
            for (payment, answer) in &answers {
                // In flight, undecided, or decided as not charged: present it again. A server that
                // has just found its database again may have to take its lease anew.
                let pending = matches!(
                    (answer.status, answer.body()["error"]["code"].as_str()),
                    (402, _)
                        | (409, Some("payment_in_flight"))
                        | (503, Some("settlement_pending" | "ledger_unavailable"))
                );
                assert!(
                    answer.status == 200 || pending,
                    "{} {}\n{}",
                    answer.status,
                    answer.text,
                    server.log()
                );
                let settled = settled_before[self.number(payment)].is_some();
                assert!(
                    answer.status != 402 || !settled,
                    "charged, but told not: {}",
                    answer.text
                );
            }
            self.keep(world, answers);
            open.retain(|payment| !self.answers.contains_key(&payment.header));
            // The server releases an entry whose call has died after a minute, so this repeats.
            open.is_empty().then_some(())
        })
        .await;
        for (payment, before) in self.payments.iter().zip(settled_before) {
            let answer = &self.answers[&payment.header];
            assert!(before.is_none_or(|transaction| transaction == answer.transaction()));
        }
        let price: U256 = self.payments.iter().map(|payment| payment.amount).sum();
        assert_eq!(
            world.received(),
            price,
            "each payment moved its amount exactly once"
        );
    }

    fn number(&self, payment: &Payment) -> usize {
        self.payments
            .iter()
            .position(|other| other.nonce == payment.nonce)
            .unwrap()
    }
}

/// Checks that nothing is left to decide and that every payment has its answer.
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
async fn a_crash_at_every_request_of_a_paid_call_loses_nothing() {
    let names = [
        "eth_call",
        "/web3.okx.com/api/v6/dex/market/price",
        "eth_getTransactionCount",
        "eth_sendRawTransaction",
        "eth_getTransactionReceipt",
    ];
    strike_everywhere(World::new(Mining::Auto).await, &names).await;
}

/// Only the facilitator and the chain know the settlements that the facilitator made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_at_every_request_behind_a_facilitator_loses_nothing() {
    let names = [
        "eth_call",
        "/web3.okx.com/api/v6/dex/market/price",
        "facilitator/verify",
        "facilitator/settle",
    ];
    strike_everywhere(World::behind_a_facilitator().await, &names).await;
}

/// Kills the server before and after each of its requests, until a paid call makes no further one.
/// Concurrent requests come in any order, so their numbers are not certain. The requests in `names`
/// are therefore killed by name as well.
async fn strike_everywhere(world: World, names: &[&'static str]) {
    let mut book = Book::default();
    let mut server = world.start().await;
    for at in 1.. {
        let mut struck = false;
        for moment in [Moment::Before, Moment::After] {
            (server, struck) = strike(&world, server, &mut book, At::Number(at), moment).await;
        }
        if !struck {
            break;
        }
    }
    for &name in names {
        for moment in [Moment::Before, Moment::After] {
            let struck;
            (server, struck) = strike(&world, server, &mut book, At::Name(name), moment).await;
            assert!(struck, "no crash at {name}");
        }
    }
    close(&world, server, &mut book).await;
}

/// Pays on a server that may die during the call. Returns a server that has settled everything, and
/// whether the first one died.
async fn strike(
    world: &World,
    server: Server,
    book: &mut Book,
    at: At,
    moment: Moment,
) -> (Server, bool) {
    let payments = book.sign(world, &server, 1).await;
    world.wire.arm(at, moment, server.killer());
    let answers = present(world, &server, &payments).await;
    // A request in the background may strike after the answer.
    let struck = !world.wire.disarm() && answers.is_empty();
    assert!(struck || !answers.is_empty());
    book.keep(world, answers);
    server.killer().kill();
    let server = world.start().await;
    book.settle_up(world, &server).await;
    // A new server repeats the requests that servers make once.
    server.stop().await;
    (world.start().await, struck)
}

/// Signs once more for a request until there is an answer, which an earlier payment has bought.
pub(super) async fn repeat(world: &World, server: &Server, first: &Payment) {
    let second = world.buyer.sign(server, &first.target, 0).await;
    let second = second.unidentified();
    let outcome = std::fmt::from_fn(|f| write!(f, "the first answer\n{}", server.log()));
    let answer = eventually(outcome, async || {
        let answer = world.buyer.present(server, &second).await;
        let code = answer.body()["error"]["code"].clone();
        match (answer.status, code.as_str()) {
            (200, _) => Some(answer),
            (409, Some("purchase_undecided")) | (503, Some("ledger_unavailable")) => None,
            _ => panic!("{} {}\n{}", answer.status, answer.text, server.log()),
        }
    })
    .await;
    assert_eq!(answer.headers["purchase-repeated"], "1");
    assert!(world.is_settled(first) && !world.is_settled(&second));
    assert_eq!(world.received(), first.amount);
}

/// The server dies after the settlement and before the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signature_after_a_crash_is_not_a_second_charge() {
    for (world, name) in [
        (World::new(Mining::Auto).await, "eth_getTransactionReceipt"),
        (World::behind_a_facilitator().await, "facilitator/settle"),
    ] {
        let server = world.start().await;
        let first = world.buyer.sign(&server, PRICED[0], 0).await.unidentified();
        world
            .wire
            .arm(At::Name(name), Moment::After, server.killer());
        let answers = present(&world, &server, std::slice::from_ref(&first)).await;
        assert!(answers.is_empty(), "no crash at {name}");
        world.wire.disarm();
        server.killer().kill();
        let server = world.start().await;
        repeat(&world, &server, &first).await;
        server.stop().await;
    }
}

/// The fate of the transactions that wait for a block when the server dies.
#[derive(Debug, Clone, Copy)]
enum Fate {
    MinedBeforeTheRestart,
    MinedAfterTheRestart,
    AllForgotten,
    FirstForgotten,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_while_transactions_wait_for_a_block_loses_nothing() {
    let world = World::new(Mining::Manual).await;
    let mut book = Book::default();
    let mut server = world.start().await;
    for fate in [
        Fate::MinedBeforeTheRestart,
        Fate::MinedAfterTheRestart,
        Fate::AllForgotten,
        Fate::FirstForgotten,
    ] {
        let payments = book.sign(&world, &server, 3).await;
        let (answers, ()) = tokio::join!(present(&world, &server, &payments), async {
            eventually("three transactions", async || {
                (world.chain.waiting().len() == 3).then_some(())
            })
            .await;
            server.killer().kill();
        });
        assert!(
            answers.is_empty(),
            "served before it was settled: {answers:?}"
        );
        let waiting = world.chain.waiting();
        let forgotten = match fate {
            Fate::MinedBeforeTheRestart => {
                world.chain.mine();
                0
            }
            Fate::MinedAfterTheRestart => 0,
            Fate::AllForgotten => 3,
            Fate::FirstForgotten => 1,
        };
        assert!(
            waiting
                .into_iter()
                .take(forgotten)
                .all(|hash| world.chain.evict(hash))
        );
        server = world.start().await;
        tokio::select! {
            () = book.settle_up(&world, &server) => {}
            () = make_blocks(&world) => {}
        }
    }
    tokio::select! {
        () = close(&world, server, &mut book) => {}
        () = make_blocks(&world) => {}
    }
}

/// The time between two blocks.
const BLOCK: Duration = Duration::from_millis(10);

pub(super) async fn make_blocks(world: &World) {
    // Real time: the server is a process.
    let mut blocks = tokio::time::interval(BLOCK);
    loop {
        blocks.tick().await;
        world.chain.mine();
    }
}

/// The random numbers of one round (splitmix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn moment(&mut self) -> Moment {
        match self.below(4) {
            0 => Moment::Before,
            1 => Moment::After,
            // The server writes its journal between its requests.
            _ => Moment::Later(Duration::from_micros(self.below(8_000))),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crashes_at_random_moments_lose_nothing() {
    let world = World::new(Mining::Auto).await;
    let mut book = Book::default();
    let mut server = world.start().await;
    for seed in 1..=16 {
        let mut random = Random(seed);
        let payments = book.sign(&world, &server, 4).await;
        world.wire.arm(
            At::Number(1 + random.below(72)),
            random.moment(),
            server.killer(),
        );
        let answers = present(&world, &server, &payments).await;
        world.wire.disarm();
        book.keep(&world, answers);
        server.killer().kill();
        if random.below(2) == 0 {
            // The next server dies during its recovery, or soon after it.
            server = spawn(&world.config(""));
            world.wire.arm(
                At::Number(1 + random.below(24)),
                random.moment(),
                server.killer(),
            );
            if server.listens().await {
                let answers = present(&world, &server, &book.payments).await;
                book.keep(&world, answers);
            }
            world.wire.disarm();
            server.killer().kill();
        }
        server = world.start().await;
        book.settle_up(&world, &server).await;
    }
    close(&world, server, &mut book).await;
}
