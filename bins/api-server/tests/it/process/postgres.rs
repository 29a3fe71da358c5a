//! Tests of two servers on one PostgreSQL database, which are killed, held up or cut off. The tests
//! pass without effect when there is no database.
//!
//! Each test ends with the same check: every payment has one answer, which both servers give, and
//! moved its amount once.

mod cut_off;
mod histories;

use dev_chain::Mining;
use test_support::TcpProxy;
use test_support::postgres::Schema;
use test_support::process::Signal;

use crate::process::crash::{Book, Random, make_blocks, present, repeat};
use crate::process::eventually;
use crate::process::server::{Server, run, start_server};
use crate::process::tripwire::{At, Moment};
use crate::process::world::{PRICED, World};

/// The shortest allowed lease.
pub(crate) const LEASE: &str = "storage.lease_seconds = 3\n";

/// The proxy between the servers and the database, and their schema.
pub(crate) struct Database {
    proxy: TcpProxy,
    schema: Schema,
}

/// Puts a world on an empty schema of the database, behind a proxy.
pub(crate) async fn world(mut world: World) -> Option<(Database, World)> {
    let schema = Schema::new()?;
    let proxy = TcpProxy::before(schema.server()).await.unwrap();
    world.database = Some(schema.url_through(proxy.address()));
    let database = Database { proxy, schema };
    Some((database, world))
}

async fn start(world: &World) -> Server {
    start_server(&world.config(LEASE), &[]).await
}

/// Presents every payment again to both servers: each gives the bought answer.
pub(crate) async fn both_answer(world: &World, servers: [&Server; 2], book: &mut Book) {
    for server in servers {
        book.settle_up(world, server).await;
    }
}

/// Asserts that the first server, which had lost its lease, sells again under a new one.
async fn sells_again(world: &World, servers: [&Server; 2], book: &mut Book) {
    let payments = book.sign(world, servers[0], 2).await;
    let answers = present(world, servers[0], &payments).await;
    book.keep(world, answers);
    both_answer(world, servers, book).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_sent_to_both_at_once_is_charged_once() {
    if let Some((_proxy, world)) = world(World::behind_a_facilitator().await).await {
        at_both_at_once(world).await;
    }
}

/// Both servers settle on the chain from one account.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_sent_to_both_at_once_is_charged_once_on_the_chain() {
    if let Some((_proxy, world)) = world(World::new(Mining::Auto).await).await {
        at_both_at_once(world).await;
    }
}

async fn at_both_at_once(world: World) {
    let (a, b) = (start(&world).await, start(&world).await);
    let mut book = Book::default();
    for _ in 0..4 {
        let payments = book.sign(&world, &a, 6).await;
        let (at_a, at_b, again) = tokio::join!(
            present(&world, &a, &payments),
            present(&world, &b, &payments),
            present(&world, &b, &payments),
        );
        let answered = [at_a, at_b, again].concat();
        assert!(answered.iter().any(|(_, answer)| answer.status == 200));
        book.keep(&world, answered);
        both_answer(&world, [&a, &b], &mut book).await;
    }
    a.stop().await;
    b.stop().await;
}

/// Both servers settle from one account. While transactions wait for a block, one server sends for
/// both, and neither refuses a call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_sell_at_any_time_with_one_gas_account() {
    let Some((_proxy, world)) = world(World::new(Mining::Manual).await).await else {
        return;
    };
    let (a, b) = (start(&world).await, start(&world).await);
    let mut book = Book::default();
    for _ in 0..4 {
        let payments = book.sign(&world, &a, 8).await;
        let calls = async {
            tokio::join!(
                present(&world, &a, &payments[..4]),
                present(&world, &b, &payments[4..]),
            )
        };
        let (at_a, at_b) = tokio::select! {
            answers = calls => answers,
            () = make_blocks(&world) => panic!("no more blocks"),
        };
        let answers = [at_a, at_b].concat();
        assert_eq!(answers.len(), payments.len());
        for (_, answer) in &answers {
            assert_eq!(answer.status, 200, "{}\n{}", answer.text, b.log());
        }
        book.keep(&world, answers);
    }
    both_answer(&world, [&a, &b], &mut book).await;
    a.stop().await;
    b.stop().await;
}

/// Kills one of two servers. When its lease has ended, the other one completes its calls without a
/// restart.
async fn kills(world: World, seeds: std::ops::Range<u64>) {
    let mut book = Book::default();
    let (mut a, mut b) = (start(&world).await, start(&world).await);
    for seed in seeds {
        let mut random = Random(seed);
        let payments = book.sign(&world, &a, 4).await;
        let at = At::Number(1 + random.below(40));
        world.wire.arm(at, Moment::After, a.killer());
        let (at_a, at_b) = tokio::join!(
            present(&world, &a, &payments[..3]),
            present(&world, &b, &payments[1..]),
        );
        world.wire.disarm();
        book.keep(&world, [at_a, at_b].concat());
        a.killer().kill();
        book.settle_up(&world, &b).await;
        a = start(&world).await;
        std::mem::swap(&mut a, &mut b);
    }
    both_answer(&world, [&a, &b], &mut book).await;
}

/// One of two servers dies after the settlement and before the answer, and the client signs again
/// for the other one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signature_at_the_other_server_is_not_a_second_charge() {
    let Some((_proxy, world)) = world(World::behind_a_facilitator().await).await else {
        return;
    };
    let (a, b) = (start(&world).await, start(&world).await);
    let first = world.buyer.sign(&a, PRICED[0], 0).await.unidentified();
    let settled = At::Name("facilitator/settle");
    world.wire.arm(settled, Moment::After, a.killer());
    let answers = present(&world, &a, std::slice::from_ref(&first)).await;
    assert!(answers.is_empty(), "no crash at the settlement");
    world.wire.disarm();
    a.killer().kill();
    repeat(&world, &b, &first).await;
    b.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_server_completes_the_calls_of_a_killed_one() {
    if let Some((_database, world)) = world(World::behind_a_facilitator().await).await {
        kills(world, 1..5).await;
    }
}

/// Both servers settle on the chain from one account. The other server takes over the dead one's
/// place in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_server_completes_the_calls_of_a_killed_one_on_the_chain() {
    if let Some((_proxy, world)) = world(World::new(Mining::Auto).await).await {
        kills(world, 11..15).await;
    }
}

/// Transactions of both servers wait for a block when one server is killed or held up: the one that
/// sends for both, or the other one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_of_both_outlive_either() {
    let Some((_proxy, world)) = world(World::new(Mining::Manual).await).await else {
        return;
    };
    let mut book = Book::default();
    let (mut a, mut b) = (start(&world).await, start(&world).await);
    let waiting = async |count| {
        eventually("transactions that wait for a block", async || {
            (world.chain.waiting().len() == count).then_some(())
        })
        .await;
    };
    for (is_first, how) in [
        (true, Signal::KILL),
        (false, Signal::KILL),
        (true, Signal::STOP),
        (false, Signal::STOP),
    ] {
        let payments = book.sign(&world, &a, 4).await;
        let (victim, other) = if is_first { (&a, &b) } else { (&b, &a) };
        // The server that gets the first call sends for both.
        let at_a = present(&world, &a, &payments[..2]);
        let at_b = async {
            waiting(2).await;
            present(&world, &b, &payments[2..]).await
        };
        let trouble = async {
            waiting(4).await;
            victim.signal(how);
            let mut rest = std::mem::take(&mut book);
            tokio::select! {
                () = rest.settle_up(&world, other) => {}
                () = make_blocks(&world) => {}
            }
            if how == Signal::STOP {
                victim.signal(Signal::CONT);
            }
            rest
        };
        let (at_a, at_b, rest) = tokio::join!(at_a, at_b, trouble);
        book = rest;
        // The callers of a held-up server learn that they were not charged, or get the bought
        // answer.
        for (_, answer) in at_a.iter().chain(&at_b) {
            let expected = [200, 402, 409, 503];
            assert!(expected.contains(&answer.status), "{}", answer.text);
        }
        book.keep(&world, [at_a, at_b].concat());
        if how == Signal::KILL {
            victim.killer().kill();
            let restarted = start(&world).await;
            *(if is_first { &mut a } else { &mut b }) = restarted;
        }
    }
    both_answer(&world, [&a, &b], &mut book).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_held_up_for_longer_than_its_lease_writes_nothing() {
    let Some((_database, world)) = world(World::behind_a_facilitator().await).await else {
        return;
    };
    let (a, b) = (start(&world).await, start(&world).await);
    let mut book = Book::default();
    let payments = book.sign(&world, &a, 3).await;
    // Their work waits for an answer of the upstream, so all calls are in flight when the server
    // stops.
    world.upstream.close();
    let late = {
        let calls = present(&world, &a, &payments);
        let held_up = async {
            world.upstream.holds(1).await;
            a.signal(Signal::STOP);
            world.upstream.open();
            // The other server takes the payments over, and they get paid.
            book.settle_up(&world, &b).await;
            a.signal(Signal::CONT);
        };
        tokio::join!(calls, held_up).0
    };
    // The held-up server has charged nothing. Its callers learn that, or get the bought answer.
    for (_, answer) in &late {
        assert!(
            [200, 402, 409, 503].contains(&answer.status),
            "{}",
            answer.text
        );
    }
    book.keep(&world, late);
    both_answer(&world, [&a, &b], &mut book).await;
    sells_again(&world, [&a, &b], &mut book).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_database_no_call_begins_and_afterwards_all_continue() {
    let Some((database, world)) = world(World::behind_a_facilitator().await).await else {
        return;
    };
    let (a, b) = (start(&world).await, start(&world).await);
    let mut book = Book::default();
    let payments = book.sign(&world, &a, 2).await;
    database.proxy.set_reachable(false);
    let mut away = Vec::new();
    for server in [&a, &b] {
        let answers = present(&world, server, &payments).await;
        assert_eq!(answers.len(), payments.len());
        away.extend(answers);
        eventually("the server says that it is not ready", async || {
            let answer = world.buyer.get(server, "/readyz").await;
            (answer.status == 503).then_some(())
        })
        .await;
    }
    for (payment, answer) in &away {
        assert_eq!(answer.status, 503, "{}", answer.text);
        let error = &answer.body()["error"];
        assert_eq!(error["code"], "ledger_unavailable", "{}", answer.text);
        assert_eq!(error["retryable"], true);
        answer.assert_uncharged();
        assert!(!world.is_settled(payment));
    }
    database.proxy.set_reachable(true);
    both_answer(&world, [&a, &b], &mut book).await;
    for server in [&a, &b] {
        eventually("the server is ready again", async || {
            let answer = world.buyer.get(server, "/readyz").await;
            (answer.status == 200).then_some(())
        })
        .await;
    }
}

/// Connections to the database break at any moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_connections_lose_no_payment() {
    let Some((database, world)) = world(World::behind_a_facilitator().await).await else {
        return;
    };
    let (a, b) = (start(&world).await, start(&world).await);
    let mut book = Book::default();
    for seed in 21..29 {
        let mut random = Random(seed);
        let payments = book.sign(&world, &a, 4).await;
        database
            .proxy
            .cut_after(i64::try_from(random.below(30)).unwrap());
        let (at_a, at_b) = tokio::join!(
            present(&world, &a, &payments),
            present(&world, &b, &payments),
        );
        database.proxy.cut_after(-1);
        book.keep(&world, [at_a, at_b].concat());
        both_answer(&world, [&a, &b], &mut book).await;
    }
}

/// The servers are restarted one after the other while callers pay at both. Each caller gets its
/// answer, or the advice to send the same payment again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_loses_no_call() {
    if let Some((_proxy, world)) = world(World::behind_a_facilitator().await).await {
        rolling_restart(world).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_loses_no_call_on_the_chain() {
    if let Some((_proxy, world)) = world(World::new(Mining::Auto).await).await {
        rolling_restart(world).await;
    }
}

async fn rolling_restart(world: World) {
    let start = async || {
        let config = format!("{LEASE}server.drain_seconds = 4\n");
        start_server(&world.config(&config), &[]).await
    };
    let (mut a, mut b) = (start().await, start().await);
    let mut book = Book::default();
    for _ in 0..2 {
        let payments = book.sign(&world, &a, 16).await;
        let (at_a, at_b, late) = tokio::join!(
            present(&world, &a, &payments[..4]),
            present(&world, &b, &payments[4..8]),
            async {
                a.terminate();
                eventually("the server says that it drains", async || {
                    let answer = world.buyer.get(&a, "/readyz").await;
                    (answer.status == 503).then_some(())
                })
                .await;
                // A proxy that has not asked yet sends further calls.
                present(&world, &a, &payments[8..12]).await
            },
        );
        let restart = async {
            a.ended().await.ok();
            start().await
        };
        let (restarted, rest) = tokio::join!(restart, present(&world, &b, &payments[12..]));
        let answers = [at_a, at_b, late, rest].concat();
        assert_eq!(answers.len(), payments.len(), "every caller is answered");
        for (_, answer) in &answers {
            if answer.status != 200 {
                assert_eq!(answer.status, 503, "{}", answer.text);
                assert_eq!(answer.error("retryable"), true, "{}", answer.text);
                let next = answer.error("next");
                assert_eq!(next["action"], "send_same_again", "{}", answer.text);
            }
        }
        book.keep(&world, answers);
        (a, b) = (b, restarted);
        both_answer(&world, [&a, &b], &mut book).await;
    }
}

#[test]
fn an_unusable_database_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.toml");
    for (storage, says) in [
        (
            "url = \"postgres://svc:secret@host\"",
            "it names no database",
        ),
        (
            "url = \"mysql://svc:secret@host/db\"",
            "or postgres:// and a database",
        ),
        (
            "lease_seconds = 2",
            "storage.lease_seconds: expected at least 3",
        ),
        (
            "connections = 1",
            "storage.connections: expected at least 2",
        ),
    ] {
        let payee = crate::process::world::PAYEE;
        let file = format!("[payment]\npay_to = \"{payee}\"\n[storage]\n{storage}\n");
        std::fs::write(&path, file).unwrap();
        let output = run(&["check-config", "--config", path.to_str().unwrap()], &[]);
        output.error(2, &[says]);
        assert!(!output.stderr.contains("secret"), "{output:?}");
    }
}

/// An unreachable database ends the start, with its name and without its password.
#[test]
fn a_database_that_is_not_there_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.toml");
    let payee = crate::process::world::PAYEE;
    let file = format!(
        "[payment]\npay_to = \"{payee}\"\n[settlement]\nmode = \"facilitator\"\n\
         facilitator_url = \"http://127.0.0.1:9\"\n\
         [storage]\nurl = \"postgres://svc:secret@127.0.0.1:9/payments\"\n"
    );
    std::fs::write(&path, file).unwrap();
    let output = run(&["serve", "--config", path.to_str().unwrap()], &[]);
    output.error(2, &["storage.url: ", "not available"]);
    assert!(!output.stderr.contains("secret"), "{output:?}");
}
