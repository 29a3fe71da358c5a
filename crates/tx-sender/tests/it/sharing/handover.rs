//! Tests of handovers of a lane between processes, in simulated time: how long a request waits, and
//! how a process can leave it to the other one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, Bytes};
use test_support::Fuse;
use tokio::time::{Instant, sleep, timeout};
use tx_sender::{Closing, NodeFault, Request, SignFuture, TransactionSigner, Unsigned};

use super::Process;
use crate::guards::scripted;
use crate::support::{LANE, World, key, name, submit, transfer};

/// Starts two processes in a world with the usual lease.
async fn two(world: &World) -> [Process; 2] {
    [
        Process::start(world, &world.store, Fuse::eternal()).await,
        Process::start(world, &world.store, Fuse::eternal()).await,
    ]
}

/// The process that works on the lane sends for the other one at its next check. A lane that only
/// watches outcomes is taken at once.
#[tokio::test(start_paused = true)]
async fn a_request_waits_for_no_lease_of_another_process() {
    let world = World::new();
    let [one, two] = two(&world).await;
    // The process keeps the lane while the other one waits for its confirmations.
    let deep = Request {
        confirmations: Some(2),
        ..transfer(1)
    };
    one.sender.submit(&name(1), LANE, deep).await.unwrap();
    world.comes_to(&name(1), "broadcast").await;
    let look = world.policy.poll_interval + Duration::from_millis(50);
    assert!(world.time_to_send(&two.sender, 2).await < look);
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
        let took = world.time_to_send(&process.sender, number).await;
        assert!(took < Duration::from_millis(40), "{took:?}");
        world.blocks(3).await;
    }
}

/// A process that takes the lane checks only the blocks that it does not know.
#[tokio::test(start_paused = true)]
async fn a_lane_that_changes_hands_costs_no_check_of_old_blocks() {
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

/// A process that ends in order releases its lease, so the other one need not wait until the lease
/// ends.
#[tokio::test(start_paused = true)]
async fn a_closed_sender_gives_its_lane_back() {
    let world = World::new();
    let [one, two] = two(&world).await;
    one.submit(1).await;
    world.comes_to(&name(1), "broadcast").await;
    one.sender.close().await;
    let took = world.time_to_send(&two.sender, 2).await;
    assert!(took < Duration::from_millis(40), "{took:?}");
    // A later request is recorded, and the other process sends it.
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
    world.comes_to(&name(1), "broadcast").await;
    cut_off.store(true, Ordering::Relaxed);
    submit(&one, 2).await;
    two.submit(3).await;
    world.blocks(4).await;
    for number in 1..=3 {
        assert_eq!(world.state(&name(number)).await, "sealed", "{number}");
    }
}

/// How long a [`Slow`] signer takes.
const SIGNING: Duration = Duration::from_secs(4);

/// A signer that takes longer than the lease.
struct Slow(Arc<dyn TransactionSigner>);

impl TransactionSigner for Slow {
    fn account(&self) -> Address {
        self.0.account()
    }

    fn sign<'a>(&'a self, unsigned: &'a Unsigned) -> SignFuture<'a, Bytes> {
        Box::pin(async move {
            sleep(SIGNING).await;
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

/// A caller that waits again and again for a short time learns of an outcome that another process
/// has written.
#[tokio::test(start_paused = true)]
async fn a_watch_reads_the_store_however_short_each_wait_is() {
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
