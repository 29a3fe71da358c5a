//! Tests of a database that ends while two servers sell: a replica takes over, or the database
//! starts again. The tests pass without effect when `TEST_POSTGRES_URL` is not set or the programs
//! of PostgreSQL are not installed.

use alloy_primitives::U256;
use storage::postgres::{Postgres, PostgresError, PostgresOptions};
use test_support::TcpProxy;
use test_support::postgres::Cluster;

use crate::process::buyer::{Answer, Payment};
use crate::process::crash::{Book, present};
use crate::process::eventually;
use crate::process::postgres::both_answer;
use crate::process::server::{Server, start_server};
use crate::process::world::World;

/// The lease is longer than a test, so only the promotion of the replica can end it.
const LEASE: &str = "storage.lease_seconds = 600\n";

async fn start(world: &World) -> Server {
    start_server(&world.config(LEASE), &[]).await
}

/// A primary and its replica, and the proxy that leads the servers to the one in use.
struct Pair {
    primary: Cluster,
    standby: Cluster,
    proxy: TcpProxy,
    world: World,
}

impl Pair {
    async fn start() -> Option<Self> {
        std::env::var_os("TEST_POSTGRES_URL")?;
        if !Cluster::is_installed() {
            return None;
        }
        let primary = Cluster::start().unwrap();
        let standby = Cluster::standby_of(&primary).unwrap();
        let proxy = TcpProxy::before(primary.address()).await.unwrap();
        let mut world = World::behind_a_facilitator().await;
        world.database = Some(format!("postgres://svc@{}/postgres", proxy.address()));
        Some(Self {
            primary,
            standby,
            proxy,
            world,
        })
    }

    /// Runs a query on the primary. Returns whether its first value is true.
    async fn ask(&self, sql: &str) -> bool {
        let url = self.primary.url().parse().unwrap();
        let primary = Postgres::new(url, PostgresOptions::default()).unwrap();
        let row = primary.query_opt("ask", sql, &[]).await.unwrap();
        row.is_some_and(|row| row.get::<_, Option<bool>>(0) == Some(true))
    }

    async fn wait_until(&self, what: &str, sql: &str) {
        eventually(what, async || self.ask(sql).await.then_some(())).await;
    }

    async fn is_replicated(&self) {
        let sql = "SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication";
        self.wait_until("the replica has everything", sql).await;
    }
}

/// Presents payments until each is served or refused for good.
async fn ended(world: &World, server: &Server, payments: &[Payment]) -> Vec<(Payment, Answer)> {
    let mut open = payments.to_vec();
    let mut ended = Vec::new();
    eventually("an end of every payment", async || {
        for (payment, answer) in present(world, server, &open).await {
            let reason = answer.body()["error"]["reason"].clone();
            if answer.status == 200 || reason == "no_answer" {
                open.retain(|other| other.nonce != payment.nonce);
                ended.push((payment, answer));
            } else {
                answer.assert_uncharged();
                let may_pass = [409, 503].contains(&answer.status);
                assert!(may_pass, "{} {}", answer.status, answer.text);
            }
        }
        open.is_empty().then_some(())
    })
    .await;
    ended
}

/// The failover loses the newest payments. They are neither charged again nor answered, and the
/// servers report them. Everything else continues.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_that_a_replica_lost_are_charged_once_and_reported() {
    let Some(pair) = Pair::start().await else {
        return;
    };
    let (a, b) = (start(&pair.world).await, start(&pair.world).await);
    let mut book = Book::default();
    let kept = book.sign(&pair.world, &a, 3).await;
    book.keep(&pair.world, ended(&pair.world, &a, &kept).await);
    pair.is_replicated().await;

    let Pair {
        mut primary,
        mut standby,
        proxy,
        world,
    } = pair;
    standby.stop_immediately().unwrap();
    let lost = book.sign(&world, &b, 3).await;
    let sold = ended(&world, &b, &lost).await;
    assert!(sold.iter().all(|(_, answer)| answer.status == 200));
    // A further call is in progress when the primary ends.
    let flying = book.sign(&world, &a, 1).await;
    world.upstream.close();
    let take_over = async {
        world.upstream.holds(1).await;
        primary.stop_immediately().unwrap();
        standby.resume().unwrap();
        proxy.lead_to(standby.address());
        // A replica takes no writes before its promotion.
        for server in [&a, &b] {
            for (_, answer) in present(&world, server, &kept).await {
                assert_eq!(answer.status, 503, "{}", answer.text);
                assert_eq!(answer.error("code"), "ledger_unavailable");
                assert_eq!(answer.error("retryable"), true);
                answer.assert_uncharged();
            }
        }
        standby.promote().unwrap();
        world.upstream.open();
    };
    let (flown, ()) = tokio::join!(present(&world, &a, &flying), take_over);
    for (payment, answer) in &flown {
        assert_eq!(answer.status, 503, "{}", answer.text);
        answer.assert_uncharged();
        assert!(!world.is_settled(payment));
    }

    // Payments with an entry are answered as before, by both servers. Payments without one are
    // never charged again.
    for server in [&a, &b] {
        book.keep(&world, ended(&world, server, &kept).await);
        book.keep(&world, ended(&world, server, &flying).await);
        for (payment, answer) in ended(&world, server, &lost).await {
            assert_eq!(answer.status, 409, "{}", answer.text);
            assert_eq!(answer.error("code"), "payment_bound_elsewhere");
            let settled = world.settled_by(payment.nonce).unwrap();
            assert_eq!(answer.error("transaction"), settled.as_str());
            assert_eq!(answer.error("next")["action"], "look_up");
            answer.assert_uncharged();
        }
        let metrics = world.buyer.get(server, "/metrics").await.text;
        let seen = "svc_payments_without_record_total 3";
        assert!(metrics.lines().any(|line| line == seen), "{metrics}");
        let log = server.log();
        assert!(log.contains("that the ledger does not"), "{log}");
        assert!(log.contains("goes on under a new number"), "{log}");
    }
    // Both servers continue to sell.
    let new = book.sign(&world, &a, 4).await;
    book.keep(&world, ended(&world, &a, &new[..2]).await);
    book.keep(&world, ended(&world, &b, &new[2..]).await);
    for server in [&a, &b] {
        book.keep(&world, ended(&world, server, &new).await);
    }
    let price: U256 = book.payments.iter().map(|payment| payment.amount).sum();
    assert_eq!(
        world.received(),
        price,
        "each payment moved its amount once"
    );
    a.stop().await;
    b.stop().await;
}

/// A primary that waits for its replica loses no commit when it dies.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_synchronous_replica_has_everything() {
    let Some(pair) = Pair::start().await else {
        return;
    };
    let names = "ALTER SYSTEM SET synchronous_standby_names = '*'";
    pair.ask(names).await;
    pair.ask("SELECT pg_reload_conf()").await;
    let sql = "SELECT sync_state = 'sync' FROM pg_stat_replication";
    pair.wait_until("the primary waits for its replica", sql)
        .await;
    // With `local`, a commit waits only for the primary's disk, and could be lost with it.
    let local = format!(
        "{}?options=-csynchronous_commit%3Dlocal",
        pair.primary.url()
    );
    let local = Postgres::new(local.parse().unwrap(), PostgresOptions::default()).unwrap();
    let refused = PostgresError::NotDurable {
        setting: "synchronous_commit",
        observed: "local".to_owned(),
    };
    assert_eq!(local.check_durability().await, Err(refused));

    let Pair {
        mut primary,
        standby,
        proxy,
        world,
    } = pair;
    let (a, b) = (start(&world).await, start(&world).await);
    let mut book = Book::default();
    let payments = book.sign(&world, &a, 6).await;
    let fail = async {
        // The first answers have arrived, the last ones have not.
        eventually("a payment", async || {
            let mut payments = payments.iter();
            payments
                .any(|payment| world.is_settled(payment))
                .then_some(())
        })
        .await;
        primary.stop_immediately().unwrap();
        standby.promote().unwrap();
        proxy.lead_to(standby.address());
    };
    let (at_a, at_b, ()) = tokio::join!(
        present(&world, &a, &payments[..3]),
        present(&world, &b, &payments[3..]),
        fail,
    );
    book.keep(&world, [at_a, at_b].concat());
    // A server that sells a new payment has a new lease.
    let new = book.sign(&world, &a, 2).await;
    for server in [&a, &b] {
        book.keep(&world, ended(&world, server, &new).await);
    }
    both_answer(&world, [&a, &b], &mut book).await;
}

/// The database is killed and started again while both servers sell. It has lost nothing, so the
/// servers keep their leases.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_database_loses_no_payment() {
    let Some(pair) = Pair::start().await else {
        return;
    };
    let Pair {
        mut primary,
        standby: _standby,
        proxy: _proxy,
        world,
    } = pair;
    let (a, b) = (start(&world).await, start(&world).await);
    let mut book = Book::default();
    for moment in ["the claims", "the work", "the settlements"] {
        let payments = book.sign(&world, &a, 6).await;
        let restart = async {
            match moment {
                "the work" => {
                    world.upstream.close();
                    world.upstream.holds(1).await;
                }
                "the settlements" => {
                    eventually("a payment", async || {
                        let mut payments = payments.iter();
                        let settled = payments.any(|payment| world.is_settled(payment));
                        settled.then_some(())
                    })
                    .await;
                }
                _ => {}
            }
            primary.stop_immediately().unwrap();
            primary.resume().unwrap();
            world.upstream.open();
        };
        let (at_a, at_b, ()) = tokio::join!(
            present(&world, &a, &payments[..3]),
            present(&world, &b, &payments[3..]),
            restart,
        );
        let answers = [at_a, at_b].concat();
        assert_eq!(answers.len(), payments.len(), "{moment}");
        book.keep(&world, answers);
        both_answer(&world, [&a, &b], &mut book).await;
    }
    for server in [&a, &b] {
        let log = server.log();
        assert!(!log.contains("goes on under a new number"), "{log}");
    }
}
