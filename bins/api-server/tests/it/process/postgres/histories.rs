//! Tests with seeded histories. In each, callers send payments to one of two real servers on one
//! database, or to both, and one fault happens meanwhile. Afterwards every payment has its answer
//! and moved its amount once.
//!
//! `SERVER_HISTORIES` and `SERVER_FIRST_SEED` set the number of histories and the first seed.

use std::time::Duration;

use test_support::process::Signal;

use super::{Database, both_answer, start, world};
use crate::process::crash::{Book, Random, present};
use crate::process::server::Server;
use crate::process::tripwire::{At, Moment};
use crate::process::world::World;

/// Longer than the lease of the servers.
const LONG: Duration = Duration::from_secs(4);

/// The fault of a history.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// The first server dies at a request of either server.
    Kill(At, Moment),
    /// The first server is held up after the first time, for the second: a moment, or longer than
    /// its lease.
    HoldUp(Duration, Duration),
    /// The connection breaks with the answer to a statement, after this many other statements.
    Cut(i64),
    /// The database cannot be reached, from the first time on, for the length of the second.
    Away(Duration, Duration),
    /// The first server is stopped after this time, and another takes its place.
    Restart(Duration),
}

impl Fault {
    fn draw(random: &mut Random) -> Self {
        let mut soon = || Duration::from_micros(random.below(30_000));
        let (begin, moment) = (soon(), soon());
        match random.below(8) {
            0 | 1 => Self::Kill(
                At::Number(1 + random.below(40)),
                match random.below(3) {
                    0 => Moment::Before,
                    1 => Moment::After,
                    _ => Moment::Later(moment),
                },
            ),
            2 => Self::HoldUp(begin, LONG),
            3 => Self::HoldUp(begin, moment),
            4 | 5 => Self::Cut(i64::try_from(random.below(40)).unwrap()),
            6 => Self::Away(begin, Duration::from_millis(random.below(1_500))),
            _ => Self::Restart(begin),
        }
    }
}

/// Two servers. The next fault hits the first one.
struct Pair {
    world: World,
    database: Database,
    victim: Server,
    other: Server,
    book: Book,
}

impl Pair {
    #[expect(
        clippy::print_stdout,
        reason = "a failed test shows what it has printed: the seed and its fault"
    )]
    async fn history(mut self, seed: u64) -> Self {
        let mut random = Random(seed);
        let fault = Fault::draw(&mut random);
        println!("seed {seed}: {fault:?}");
        if random.below(2) == 0 {
            std::mem::swap(&mut self.victim, &mut self.other);
        }
        let payments = self.book.sign(&self.world, &self.other, 4).await;
        // Each payment goes to one of the servers, to both, or twice to one.
        let mut pick = |server: u64| {
            let drawn = payments.iter().filter(|_| random.below(3) != server);
            drawn.cloned().collect::<Vec<_>>()
        };
        let (at_victim, at_other, again) = (pick(0), pick(1), pick(2));
        let (world, victim, other) = (&self.world, &self.victim, &self.other);
        let calls = async {
            let calls = tokio::join!(
                present(world, victim, &at_victim),
                present(world, other, &at_other),
                present(world, victim, &again),
            );
            [calls.0, calls.1, calls.2].concat()
        };
        let (answers, ()) = tokio::join!(calls, self.strike(fault));
        self.world.wire.disarm();
        self.database.proxy.cut_after(-1);
        self.book.keep(&self.world, answers);
        if matches!(fault, Fault::Kill(..)) {
            // The server may still run, because it made fewer requests than the fault counts.
            self.victim.killer().kill();
        }
        let gone = matches!(fault, Fault::Kill(..) | Fault::Restart(_));
        self.book.settle_up(&self.world, &self.other).await;
        if gone {
            self.victim = start(&self.world).await;
        }
        let servers = [&self.victim, &self.other];
        both_answer(&self.world, servers, &mut self.book).await;
        self
    }

    /// Causes a fault. The pauses are real, because the servers are processes.
    async fn strike(&self, fault: Fault) {
        match fault {
            Fault::Kill(at, moment) => self.world.wire.arm(at, moment, self.victim.killer()),
            Fault::HoldUp(after, length) => {
                tokio::time::sleep(after).await;
                self.victim.signal(Signal::STOP);
                tokio::time::sleep(length).await;
                self.victim.signal(Signal::CONT);
            }
            Fault::Cut(answers) => self.database.proxy.cut_after(answers),
            Fault::Away(after, length) => {
                tokio::time::sleep(after).await;
                self.database.proxy.set_reachable(false);
                tokio::time::sleep(length).await;
                self.database.proxy.set_reachable(true);
            }
            Fault::Restart(after) => {
                tokio::time::sleep(after).await;
                self.victim.terminate();
            }
        }
    }
}

fn number(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(default, |text| text.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_history_breaks_a_promise() {
    let first = number("SERVER_FIRST_SEED", 1);
    let seeds: Vec<u64> = (first..first + number("SERVER_HISTORIES", 6)).collect();
    // Every payment is presented again after each history, so a world has few of them.
    for seeds in seeds.chunks(10) {
        let Some((database, world)) = world(World::behind_a_facilitator().await).await else {
            return;
        };
        let (victim, other) = (start(&world).await, start(&world).await);
        let mut pair = Pair {
            world,
            database,
            victim,
            other,
            book: Book::default(),
        };
        for seed in seeds {
            pair = pair.history(*seed).await;
        }
    }
}
