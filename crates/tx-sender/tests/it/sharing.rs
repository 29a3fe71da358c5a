//! Tests with several processes that send from one account and share its records. The requests of
//! each process are sent at any time. When one process ends, the others are delayed by no more than
//! its lease.
//!
//! The tests run on records in memory in simulated time, and in real time on the database that
//! `TEST_POSTGRES_URL` names.

mod handover;

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::U256;
use test_support::{Fuse, MortalNode, MortalRecords};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, interval, sleep, timeout};
use tx_sender::{MemoryStore, Record, RpcNode, Sender, Store, Watch};

use crate::support::{LANE, World, key, name, transfer};

/// The time between two blocks.
const BLOCK: Duration = Duration::from_millis(100);

/// The lease of a lane, in seconds.
const LEASE: u64 = 2;

/// A process with its view of the records and the node.
struct Process {
    sender: Sender,
    fuse: Arc<Fuse>,
}

impl Process {
    async fn start(world: &World, store: &Arc<dyn Store>, fuse: Arc<Fuse>) -> Self {
        let records = MortalRecords {
            store: Arc::clone(store),
            fuse: Arc::clone(&fuse),
        };
        let node = MortalNode {
            node: Arc::new(world.node.clone()),
            fuse: Arc::clone(&fuse),
        };
        let node = Arc::new(RpcNode::new(Arc::new(node)));
        let sender = world
            .sender_over(Arc::new(records), vec![node], key())
            .await;
        Self { sender, fuse }
    }

    async fn submit(&self, number: u64) -> Watch {
        let name = name(number);
        let watch = self.sender.submit(&name, LANE, transfer(number)).await;
        watch.unwrap()
    }

    /// Submits the request with this number in a task of its own. The task ends with the outcome.
    fn send(&self, sent: &mut JoinSet<Record>, number: u64) {
        let sender = self.sender.clone();
        sent.spawn(async move {
            let watch = sender.submit(&name(number), LANE, transfer(number)).await;
            watch.unwrap().outcome().await.unwrap()
        });
    }
}

/// Makes a world in which everything is fast, so that the tests in real time are short too.
fn world() -> World {
    let mut world = World::new();
    world.lease_seconds = LEASE;
    world.policy.block_time = BLOCK;
    world.policy.poll_interval = BLOCK / 2;
    world.policy.watch_interval = BLOCK * 2;
    world
}

/// Returns the pace of the requests: several come for each block.
fn arrivals() -> Interval {
    interval(BLOCK / 3)
}

/// Makes blocks until the work is done.
async fn with_blocks<T>(world: &World, work: impl Future<Output = T>) -> T {
    let blocks = async {
        let mut blocks = interval(BLOCK);
        loop {
            blocks.tick().await;
            world.chain.mine();
        }
    };
    tokio::select! {
        done = work => done,
        never = blocks => never,
    }
}

/// Checks that every request has taken effect once, and that together they have used the first
/// nonces.
async fn each_took_effect_once(world: &World, store: &Arc<dyn Store>, requests: u64) {
    let mut nonces = Vec::new();
    for number in 1..=requests {
        let record = store.get(&name(number)).await.unwrap().unwrap();
        assert_eq!(record.state.as_str(), "sealed", "{record:?}");
        assert_eq!(world.effect(number), U256::from(1), "{record:?}");
        nonces.extend(record.nonce);
    }
    nonces.sort_unstable();
    assert_eq!(nonces, (0..requests).collect::<Vec<_>>());
    assert_eq!(
        u64::try_from(world.chain.transactions().len()).unwrap(),
        requests
    );
}

async fn both_send_at_once(world: World, [a, b]: [Arc<dyn Store>; 2]) {
    const REQUESTS: u64 = 24;
    let one = Process::start(&world, &a, Fuse::eternal()).await;
    let two = Process::start(&world, &b, Fuse::eternal()).await;
    let (mut sent, mut arrivals) = (JoinSet::new(), arrivals());
    with_blocks(&world, async {
        for number in 1..=REQUESTS {
            arrivals.tick().await;
            match number % 3 {
                0 => one.send(&mut sent, number),
                1 => two.send(&mut sent, number),
                // Both processes get the same key.
                _ => {
                    one.send(&mut sent, number);
                    two.send(&mut sent, number);
                }
            }
        }
        // Each process learns the outcomes of its requests, whichever process has sent them.
        while let Some(record) = sent.join_next().await {
            assert_eq!(record.unwrap().state.as_str(), "sealed");
        }
    })
    .await;
    each_took_effect_once(&world, &a, REQUESTS).await;
}

/// Ends one process at one of its effects. The other process finishes the work, and its own
/// requests wait for no longer than the lease. Returns whether the process reached that effect.
async fn one_ends(world: World, [a, b]: [Arc<dyn Store>; 2], effects: i64, after: bool) -> bool {
    const REQUESTS: u64 = 6;
    let one = Process::start(&world, &a, Fuse::new(effects, after)).await;
    let two = Process::start(&world, &b, Fuse::eternal()).await;
    let began = Instant::now();
    with_blocks(&world, async {
        let (mut lost, mut sent, mut arrivals) = (JoinSet::new(), JoinSet::new(), arrivals());
        for number in 1..=3 {
            arrivals.tick().await;
            one.send(&mut lost, number);
            two.send(&mut sent, number + 3);
        }
        while let Some(record) = sent.join_next().await {
            assert_eq!(record.unwrap().state.as_str(), "sealed");
        }
        let took = began.elapsed();
        assert!(took < Duration::from_secs(LEASE) + BLOCK * 300, "{took:?}");
        // The other process submits the requests of the ended one again.
        for number in 1..=REQUESTS {
            two.send(&mut sent, number);
        }
        while let Some(record) = sent.join_next().await {
            assert_eq!(record.unwrap().state.as_str(), "sealed");
        }
    })
    .await;
    each_took_effect_once(&world, &b, REQUESTS).await;
    one.fuse.is_dead()
}

/// Pauses one process after one of its effects, for longer than its lease. When it continues, it
/// writes and sends nothing under the old lease.
async fn one_sleeps(world: World, [a, b]: [Arc<dyn Store>; 2], effects: i64) {
    const REQUESTS: u64 = 6;
    let one = Process::start(&world, &a, Fuse::eternal()).await;
    let two = Process::start(&world, &b, Fuse::eternal()).await;
    one.fuse.sleep_after(effects);
    let (mut late, mut sent, mut arrivals) = (JoinSet::new(), JoinSet::new(), arrivals());
    with_blocks(&world, async {
        for number in 1..=3 {
            arrivals.tick().await;
            one.send(&mut late, number);
        }
        let asleep = one.fuse.fell_asleep.notified();
        let _ = timeout(BLOCK * 10, asleep).await;
        for number in 1..=REQUESTS {
            two.send(&mut sent, number);
        }
        while let Some(record) = sent.join_next().await {
            assert_eq!(record.unwrap().state.as_str(), "sealed");
        }
    })
    .await;
    each_took_effect_once(&world, &b, REQUESTS).await;
    assert!(one.fuse.is_asleep());
    let before = b.live(LANE).await.unwrap();
    one.fuse.wake();
    // The callers of the paused process learn the outcomes.
    while let Some(record) = late.join_next().await {
        assert_eq!(record.unwrap().state.as_str(), "sealed");
    }
    // On a database this waits in real time, because nothing shows that the process will write
    // nothing more.
    sleep(BLOCK * 3).await;
    assert_eq!(b.live(LANE).await.unwrap(), before);
    assert!(world.chain.waiting().is_empty());
    // The process continues under a new lease.
    with_blocks(&world, async {
        one.send(&mut sent, REQUESTS + 1);
        two.send(&mut sent, REQUESTS + 2);
        while let Some(record) = sent.join_next().await {
            assert_eq!(record.unwrap().state.as_str(), "sealed");
        }
    })
    .await;
    each_took_effect_once(&world, &b, REQUESTS + 2).await;
}

mod in_memory {
    use super::*;

    fn stores() -> [Arc<dyn Store>; 2] {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        [Arc::clone(&store), store]
    }

    #[tokio::test(start_paused = true)]
    async fn both_send_at_once() {
        super::both_send_at_once(world(), stores()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn one_ends_at_any_effect_and_the_other_goes_on() {
        let mut effects = 0;
        while one_ends(world(), stores(), effects, false).await {
            assert!(one_ends(world(), stores(), effects, true).await);
            effects += 1;
        }
        assert!(effects > 12, "{effects}");
    }

    #[tokio::test(start_paused = true)]
    async fn one_sleeps_after_any_effect_and_the_other_goes_on() {
        for effects in 1..24 {
            one_sleeps(world(), stores(), effects).await;
        }
    }
}

mod in_postgres {
    use super::*;
    use crate::store::in_postgres::stores;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn both_send_at_once() {
        if let Some((_schema, stores)) = stores().await {
            super::both_send_at_once(world(), stores).await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_ends_and_the_other_goes_on() {
        for (effects, after) in [(2, false), (4, true), (6, false)] {
            if let Some((_schema, stores)) = stores().await {
                one_ends(world(), stores, effects, after).await;
            }
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn one_sleeps_and_the_other_goes_on() {
        for effects in [3, 5] {
            if let Some((_schema, stores)) = stores().await {
                one_sleeps(world(), stores, effects).await;
            }
        }
    }
}
