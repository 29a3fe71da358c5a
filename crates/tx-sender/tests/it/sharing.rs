//! Several processes that send from one account and share its records: each of them gets its
//! requests sent at any time, and the end of one holds the others up for no longer than its lease.
//!
//! The rules run on records in memory in simulated time, and in real time on the database that
//! `TEST_POSTGRES_URL` names.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, Bytes, U256};
use test_support::{Fuse, MortalNode, MortalRecords};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tx_sender::{
    Closing, MemoryStore, NodeFault, Record, Request, RpcNode, Sender, SignFuture, Store,
    TransactionSigner, Unsigned, Watch,
};

use crate::guards::scripted;
use crate::support::{LANE, World, key, name, submit, transfer};

/// The time between two blocks.
const BLOCK: Duration = Duration::from_millis(100);

/// The lease of a lane, in seconds.
const LEASE: u64 = 2;

/// A process, and its view of the records and the node.
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

    /// Submits the request with this number in a task of its own, which ends with the outcome.
    fn send(&self, sent: &mut JoinSet<Record>, number: u64) {
        let sender = self.sender.clone();
        sent.spawn(async move {
            let watch = sender.submit(&name(number), LANE, transfer(number)).await;
            watch.unwrap().outcome().await.unwrap()
        });
    }
}

/// A world in which everything goes fast, so that real time is short too.
fn world() -> World {
    let mut world = World::new();
    world.lease_seconds = LEASE;
    world.policy.block_time = BLOCK;
    world.policy.poll_interval = BLOCK / 2;
    world.policy.watch_interval = BLOCK * 2;
    world
}

/// Makes blocks until the work is done.
async fn with_blocks<T>(world: &World, work: impl Future<Output = T>) -> T {
    let blocks = async {
        loop {
            sleep(BLOCK).await;
            world.chain.mine();
        }
    };
    tokio::select! {
        done = work => done,
        never = blocks => never,
    }
}

/// Every request has taken effect once, and together they have used the first nonces.
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
    let mut sent = JoinSet::new();
    with_blocks(&world, async {
        for number in 1..=REQUESTS {
            match number % 3 {
                0 => one.send(&mut sent, number),
                1 => two.send(&mut sent, number),
                // The same key at both.
                _ => {
                    one.send(&mut sent, number);
                    two.send(&mut sent, number);
                }
            }
            sleep(BLOCK / 3).await;
        }
        // Each learns what became of its requests, whoever has sent them.
        while let Some(record) = sent.join_next().await {
            assert_eq!(record.unwrap().state.as_str(), "sealed");
        }
    })
    .await;
    each_took_effect_once(&world, &a, REQUESTS).await;
}

/// One process ends at one of its effects; what it has begun is ended by the other one, whose own
/// requests wait for no longer than the lease. Returns whether the process came to that effect.
async fn one_ends(world: World, [a, b]: [Arc<dyn Store>; 2], effects: i64, after: bool) -> bool {
    const REQUESTS: u64 = 6;
    let one = Process::start(&world, &a, Fuse::new(effects, after)).await;
    let two = Process::start(&world, &b, Fuse::eternal()).await;
    let began = Instant::now();
    with_blocks(&world, async {
        let (mut lost, mut sent) = (JoinSet::new(), JoinSet::new());
        for number in 1..=3 {
            one.send(&mut lost, number);
            two.send(&mut sent, number + 3);
            sleep(BLOCK / 3).await;
        }
        while let Some(record) = sent.join_next().await {
            assert_eq!(record.unwrap().state.as_str(), "sealed");
        }
        let took = began.elapsed();
        assert!(took < Duration::from_secs(LEASE) + BLOCK * 50, "{took:?}");
        // Somebody asks for what the ended one was asked for.
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

/// One process is held up after one of its effects, for longer than its lease. When it wakes up, it
/// writes and sends nothing under the old lease.
async fn one_sleeps(world: World, [a, b]: [Arc<dyn Store>; 2], effects: i64) {
    const REQUESTS: u64 = 6;
    let one = Process::start(&world, &a, Fuse::eternal()).await;
    let two = Process::start(&world, &b, Fuse::eternal()).await;
    one.fuse.sleep_after(effects);
    let (mut late, mut sent) = (JoinSet::new(), JoinSet::new());
    with_blocks(&world, async {
        for number in 1..=3 {
            one.send(&mut late, number);
            sleep(BLOCK / 3).await;
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
    // Its own callers hear of the outcomes.
    while let Some(record) = late.join_next().await {
        assert_eq!(record.unwrap().state.as_str(), "sealed");
    }
    sleep(BLOCK * 3).await;
    assert_eq!(b.live(LANE).await.unwrap(), before);
    assert!(world.chain.waiting().is_empty());
    // It goes on under a new lease.
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

/// Two processes in a world with the usual lease.
async fn two(world: &World) -> [Process; 2] {
    [
        Process::start(world, &world.store, Fuse::eternal()).await,
        Process::start(world, &world.store, Fuse::eternal()).await,
    ]
}

/// How long it takes until a new request of this process is at the node.
async fn time_to_send(world: &World, process: &Process, number: u64) -> Duration {
    let (began, before) = (Instant::now(), world.chain.waiting().len());
    process.submit(number).await;
    while world.chain.waiting().len() == before {
        sleep(Duration::from_millis(1)).await;
        assert!(began.elapsed() < Duration::from_secs(60), "never sent");
    }
    began.elapsed()
}

/// The one that works the lane sends for the other one with its next look; a lane that only
/// watches outcomes is taken at once.
#[tokio::test(start_paused = true)]
async fn a_request_waits_for_no_lease_of_another_process() {
    let world = World::new();
    let [one, two] = two(&world).await;
    // It keeps the lane for as long as this one waits for its confirmations.
    let deep = Request {
        confirmations: Some(2),
        ..transfer(1)
    };
    one.sender.submit(&name(1), LANE, deep).await.unwrap();
    sleep(Duration::from_millis(500)).await;
    let look = world.policy.poll_interval + Duration::from_millis(50);
    assert!(time_to_send(&world, &two, 2).await < look);
    assert!(two.sender.status(LANE).elsewhere);
    assert_eq!(two.sender.status(LANE).hold, None);
    assert_eq!(two.sender.status(LANE).depth, 2);

    let mut watch = two.submit(2).await;
    world.chain.mine();
    let mined = Instant::now();
    assert_eq!(watch.outcome().await.unwrap().state.as_str(), "sealed");
    assert!(mined.elapsed() < look * 2, "{:?}", mined.elapsed());
    assert!(two.sender.status(LANE).elsewhere);
    world.blocks(3).await;
    for (process, number) in [(&two, 3), (&one, 4), (&two, 5)] {
        let took = time_to_send(&world, process, number).await;
        assert!(took < Duration::from_millis(40), "{took:?}");
        world.blocks(3).await;
    }
}

/// A process that takes the lane looks only at the blocks that it does not know.
#[tokio::test(start_paused = true)]
async fn a_lane_that_goes_to_and_fro_costs_no_look_at_old_blocks() {
    const HEAD: &str = "eth_getBlockByNumber";
    let world = World::new();
    let processes = two(&world).await;
    let asked = || world.node.asked.lock().unwrap().get(HEAD).copied();
    let mut looks = Vec::new();
    for number in 1..=40 {
        let process = &processes[usize::from(number % 2 == 0)];
        let before = asked().unwrap_or_default();
        process.submit(number).await;
        world.blocks(1).await;
        assert_eq!(world.state(&name(number)).await, "sealed");
        looks.push(asked().unwrap_or_default() - before);
    }
    let most = |looks: &[usize]| looks.iter().copied().max();
    assert!(most(&looks[30..]) <= most(&looks[..10]), "{looks:?}");
}

/// A process that ends in order leaves nobody waiting for the end of its lease.
#[tokio::test(start_paused = true)]
async fn a_closed_sender_gives_its_lane_back() {
    let world = World::new();
    let [one, two] = two(&world).await;
    one.submit(1).await;
    sleep(Duration::from_millis(500)).await;
    one.sender.close().await;
    let took = time_to_send(&world, &two, 2).await;
    assert!(took < Duration::from_millis(40), "{took:?}");
    // What comes too late is recorded, and sent by the other one.
    one.submit(3).await;
    world.blocks(3).await;
    for number in 1..=3 {
        assert_eq!(world.state(&name(number)).await, "sealed");
    }
}

/// A process whose nodes do not answer leaves the lane to one whose nodes do.
#[tokio::test(start_paused = true)]
async fn a_process_without_nodes_makes_way() {
    let world = World::new();
    let cut_off = Arc::new(AtomicBool::new(false));
    let fails = Arc::clone(&cut_off);
    let node = scripted(&world.node, move |_, _| {
        let is_cut_off = fails.load(Ordering::Relaxed);
        is_cut_off.then_some(Err(NodeFault::Unreachable))
    });
    let one = world
        .sender_over(world.store.clone(), vec![node], key())
        .await;
    let two = Process::start(&world, &world.store, Fuse::eternal()).await;
    submit(&one, 1).await;
    sleep(Duration::from_millis(500)).await;
    cut_off.store(true, Ordering::Relaxed);
    submit(&one, 2).await;
    two.submit(3).await;
    world.blocks(4).await;
    for number in 1..=3 {
        assert_eq!(world.state(&name(number)).await, "sealed", "{number}");
    }
}

/// A signer that takes its time.
struct Slow(Arc<dyn TransactionSigner>);

impl TransactionSigner for Slow {
    fn account(&self) -> Address {
        self.0.account()
    }

    fn sign<'a>(&'a self, unsigned: &'a Unsigned) -> SignFuture<'a, Bytes> {
        Box::pin(async move {
            sleep(Duration::from_secs(4)).await;
            self.0.sign(unsigned).await
        })
    }
}

/// The lease is renewed while a signer takes longer than the lease.
#[tokio::test(start_paused = true)]
async fn a_lane_is_kept_during_a_long_turn() {
    let mut world = World::new();
    world.lease_seconds = 2;
    let start = async || {
        let nodes = vec![world.node.node()];
        let signer = Arc::new(Slow(key()));
        world.sender_over(world.store.clone(), nodes, signer).await
    };
    let (one, two) = (start().await, start().await);
    submit(&one, 1).await;
    submit(&two, 2).await;
    world.blocks(12).await;
    for number in 1..=2 {
        let record = world.record(&name(number)).await;
        assert_eq!(
            (record.state.as_str(), record.attempts.len()),
            ("sealed", 1)
        );
    }
}

/// A caller that waits in short pieces hears of an end that another process has written.
#[tokio::test(start_paused = true)]
async fn a_watch_sees_the_store_however_short_it_is_waited_for() {
    let world = World::new();
    let [one, two] = two(&world).await;
    one.fuse.blow();
    let mut watch = two.submit(1).await;
    let withdrawn = world.record(&name(1)).await;
    let withdrawn = withdrawn.close(Closing::Cancelled).unwrap();
    world.store.amend(withdrawn).await.unwrap();
    let began = Instant::now();
    while watch.record().state.as_str() != "abandoned" {
        let _ = timeout(Duration::from_millis(300), watch.changed()).await;
        assert!(began.elapsed() < Duration::from_secs(5), "never seen");
    }
}
