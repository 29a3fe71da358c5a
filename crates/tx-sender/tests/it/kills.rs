//! Tests with a process that ends before or after any of its writes and sends, and a next process
//! that finds its records.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::U256;
use test_support::{Fuse, MortalNode, pass};
use tx_sender::{Fence, Lane, Record, RpcNode, Sender, Store, StoreFuture, Takeover};

use crate::support::{World, at_once, key, name, recipient, submit};

/// The records as one process uses them. Its fuse can end the process at each write.
pub(crate) struct Mortal {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) fuse: Arc<Fuse>,
}

impl Store for Mortal {
    fn acquire(
        &self,
        lane: Lane,
        holder: &str,
        now: u64,
        seconds: u64,
        takeover: Takeover,
    ) -> StoreFuture<'_, Option<Fence>> {
        let holder = holder.to_owned();
        Box::pin(async move {
            let take = async { at_once(self.store.acquire(lane, &holder, now, seconds, takeover)) };
            self.fuse.guard(take).await
        })
    }

    fn give_back(&self, fence: Fence, holder: &str) -> StoreFuture<'_, ()> {
        let holder = holder.to_owned();
        Box::pin(async move {
            let give = async { at_once(self.store.give_back(fence, &holder)) };
            self.fuse.guard(give).await
        })
    }

    fn insert(&self, record: Record) -> StoreFuture<'_, Record> {
        Box::pin(async move {
            let insert = async { at_once(self.store.insert(record)) };
            self.fuse.guard(insert).await
        })
    }

    fn get(&self, key: &str) -> StoreFuture<'_, Option<Record>> {
        let answer = at_once(self.store.get(key));
        Box::pin(std::future::ready(answer))
    }

    fn live(&self, lane: Lane) -> StoreFuture<'_, Vec<Record>> {
        Box::pin(async move {
            self.fuse.alive().await;
            at_once(self.store.live(lane))
        })
    }

    fn lanes(&self) -> StoreFuture<'_, Vec<Lane>> {
        let answer = at_once(self.store.lanes());
        Box::pin(std::future::ready(answer))
    }

    fn write(&self, fence: Fence, records: Vec<Record>) -> StoreFuture<'_, Vec<Record>> {
        Box::pin(async move {
            let write = async { at_once(self.store.write(fence, records)) };
            self.fuse.guard(write).await
        })
    }

    fn amend(&self, record: Record) -> StoreFuture<'_, Record> {
        Box::pin(async move {
            let amend = async { at_once(self.store.amend(record)) };
            self.fuse.guard(amend).await
        })
    }

    fn prune(&self, submitted_before: u64) -> StoreFuture<'_, u64> {
        let answer = at_once(self.store.prune(submitted_before));
        Box::pin(std::future::ready(answer))
    }
}

/// Starts a process with this fuse.
pub(crate) async fn process(world: &World, fuse: &Arc<Fuse>) -> Sender {
    let store = Mortal {
        store: world.open_store(),
        fuse: Arc::clone(fuse),
    };
    let node = MortalNode {
        node: Arc::new(world.node.clone()),
        fuse: Arc::clone(fuse),
    };
    let node = Arc::new(RpcNode::new(Arc::new(node)));
    world.sender_over(Arc::new(store), vec![node], key()).await
}

const KEYS: u64 = 3;

/// Submits all keys, and cancels the last one while blocks come. Returns whether the process
/// survived to the end.
async fn live(world: &World, fuse: &Arc<Fuse>) -> bool {
    let sender = process(world, fuse).await;
    let work = async {
        for number in 1..=KEYS {
            submit(&sender, number).await;
        }
        world.until_waiting(KEYS.try_into().unwrap()).await;
        // The request may have an outcome already. It is then too late to cancel it.
        let _ = sender.cancel(&name(KEYS)).await;
        world.blocks(4).await;
    };
    tokio::select! {
        () = work => true,
        () = fuse.died.notified() => false,
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_may_end_before_or_after_every_effect() {
    ends_everywhere(World::new).await;
}

/// Each process opens the file itself.
#[tokio::test(start_paused = true)]
async fn a_process_may_end_before_or_after_every_effect_on_a_file() {
    ends_everywhere(World::with_file).await;
}

async fn ends_everywhere(world: fn() -> World) {
    let mut effects = 0;
    loop {
        let mut ended = true;
        for after in [false, true] {
            let world = world();
            ended &= live(&world, &Fuse::new(effects, after)).await;
            // The chain makes blocks while no process works on the lane. After the lease another
            // process works on it.
            world.chain.mine();
            pass(Duration::from_secs(40)).await;
            let next = process(&world, &Fuse::new(i64::MAX, false)).await;
            for number in 1..=KEYS {
                submit(&next, number).await;
            }
            world.blocks(12).await;
            for number in 1..=KEYS {
                let state = world.state(&name(number)).await;
                let effect = u64::from(state == "sealed");
                assert_eq!(
                    world.effect(number),
                    U256::from(effect),
                    "{effects} {after}"
                );
                let expected: &[_] = if number == KEYS {
                    &["sealed", "abandoned"]
                } else {
                    &["sealed"]
                };
                assert!(expected.contains(&state), "{effects} {after}: {state}");
                let carried = world.chain.transactions();
                let carried = carried
                    .iter()
                    .filter(|sent| sent.to == Some(recipient(number)));
                assert!(carried.count() <= 1, "{effects} {after}");
            }
            assert_eq!(world.hold(&next), None, "{effects} {after}");
        }
        if ended {
            break;
        }
        effects += 1;
    }
    // Fewer effects would mean that the fuse does not see the work.
    assert!(effects > 10, "{effects}");
}
