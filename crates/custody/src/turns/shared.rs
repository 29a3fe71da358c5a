//! A turn in a store that several processes share: a task renews it while it is held.
//!
//! The store judges the time. A process that is suspended for longer than the lease loses the turn
//! without noticing it at once: the fence of its writes tells it.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tx_sender::{TurnEnd, TurnFence, TurnStore};

use super::Place;

/// How many times a lease is renewed within its length. Two renewals may fail before it is over.
const BEATS_OF_A_LEASE: u32 = 3;

/// The longest pause between two attempts to take a turn, in milliseconds; the shortest is half.
const LONGEST_PAUSE: u64 = 500;

/// The store, and the length of a lease.
pub(super) struct Shared {
    pub(super) store: Arc<dyn TurnStore>,
    pub(super) lease: Duration,
}

/// A turn that is held. A task renews it, and gives it back at its end.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) fence: TurnFence,
    lost: watch::Receiver<bool>,
    /// Tells the task how the turn ends. Dropping it interrupts the work.
    end: oneshot::Sender<TurnEnd>,
    task: JoinHandle<()>,
}

impl Shared {
    /// Takes the turn, if it is free for this work. The place in the queue is given up with it.
    pub(super) async fn take(&self, account: Address, work: &str, place: Place) -> Option<Held> {
        let taken = self.store.take_turn(account, work, self.lease).await;
        let fence = match taken {
            Ok(taken) => taken?,
            Err(error) => {
                tracing::warn!(%account, code = error.code(), "the turn of an account cannot be taken now");
                return None;
            }
        };
        let (lose, lost) = watch::channel(false);
        let (end, ended) = oneshot::channel();
        let (store, lease) = (Arc::clone(&self.store), self.lease);
        let task = tokio::spawn(async move {
            let end = keep(store.as_ref(), fence, lease, &lose, ended).await;
            // Without an answer from the store, the lease expires.
            if let Err(error) = store.end_turn(fence, end).await {
                tracing::debug!(%account, code = error.code(), "a turn was not given back");
            }
            drop(place);
        });
        Some(Held {
            fence,
            lost,
            end,
            task,
        })
    }
}

/// Renews the turn until its end, or until it is lost. Returns how it ends.
async fn keep(
    store: &dyn TurnStore,
    fence: TurnFence,
    lease: Duration,
    lose: &watch::Sender<bool>,
    mut ended: oneshot::Receiver<TurnEnd>,
) -> TurnEnd {
    let every = lease / BEATS_OF_A_LEASE;
    loop {
        let renewed = tokio::select! {
            end = &mut ended => return end.unwrap_or(TurnEnd::Interrupted),
            renewed = async {
                tokio::time::sleep(every).await;
                store.renew_turn(fence, lease).await
            } => renewed,
        };
        match renewed {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!(account = %fence.account, "the turn of an account was lost: its lease was not renewed in time");
                lose.send_replace(true);
                return ended.await.unwrap_or(TurnEnd::Interrupted);
            }
            Err(error) => {
                tracing::warn!(account = %fence.account, code = error.code(), "the turn of an account cannot be renewed now");
            }
        }
    }
}

impl Held {
    /// Returns when the turn was lost.
    pub(super) async fn lost(&self) {
        let mut lost = self.lost.clone();
        if lost.wait_for(|lost| *lost).await.is_err() {
            // The task ended with the runtime, which does not mean that the turn was lost.
            std::future::pending::<()>().await;
        }
    }

    /// Ends the turn, and waits until the store has recorded it.
    pub(super) async fn end(self, end: TurnEnd) {
        // The task ends by itself when it is gone already.
        let _ = self.end.send(end);
        let _ = self.task.await;
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}

/// Waits before the next attempt. The pause is random, so that processes do not keep meeting.
pub(super) async fn pause() {
    let random = RandomState::new().hash_one(LONGEST_PAUSE);
    let half = LONGEST_PAUSE / 2;
    tokio::time::sleep(Duration::from_millis(half + random % half)).await;
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::time::{Instant, sleep, timeout};
    use tx_sender::{MemoryStore, StoreError, StoreFuture};

    use super::super::{TurnLost, Turns};
    use super::*;

    const ACCOUNT: Address = Address::repeat_byte(1);
    const LEASE: Duration = Duration::from_secs(9);

    fn two() -> [Turns; 2] {
        let store: Arc<dyn TurnStore> = Arc::new(MemoryStore::default());
        [&store, &store].map(|store| Turns::shared(Arc::clone(store), LEASE))
    }

    /// Whether the work gets the turn within this time.
    async fn gets(turns: &Turns, work: &str, within: Duration) -> bool {
        timeout(within, turns.take(ACCOUNT, work)).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn one_process_holds_a_turn_for_as_long_as_it_works() {
        let [one, two] = two();
        let turn = one.take(ACCOUNT, "a").await;
        assert!(turn.fence().is_some());
        assert!(!gets(&two, "a", LEASE * 5).await);
        assert!(!gets(&one, "b", LEASE).await);
        turn.end().await;
        two.take(ACCOUNT, "b").await.end().await;
        assert!(gets(&one, "c", Duration::ZERO).await);
    }

    #[tokio::test(start_paused = true)]
    async fn interrupted_work_comes_first_for_the_length_of_a_lease() {
        let [one, two] = two();
        drop(one.take(ACCOUNT, "a").await);
        assert!(!gets(&one, "b", LEASE / 2).await);
        // It is interrupted again.
        assert!(gets(&two, "a", LEASE / 2).await);
        let dropped = Instant::now();
        two.take(ACCOUNT, "b").await.end().await;
        assert!(dropped.elapsed() >= LEASE, "{:?}", dropped.elapsed());
    }

    /// The store of a process that a test can suspend: it then renews nothing.
    struct OfSleeper(Arc<MemoryStore>, Arc<AtomicBool>);

    impl TurnStore for OfSleeper {
        fn take_turn(
            &self,
            account: Address,
            work: &str,
            lease: Duration,
        ) -> StoreFuture<'_, Option<TurnFence>> {
            self.0.take_turn(account, work, lease)
        }

        fn renew_turn(&self, turn: TurnFence, lease: Duration) -> StoreFuture<'_, bool> {
            Box::pin(async move {
                while self.1.load(Ordering::SeqCst) {
                    sleep(Duration::from_millis(50)).await;
                }
                self.0.renew_turn(turn, lease).await
            })
        }

        fn end_turn(&self, turn: TurnFence, end: TurnEnd) -> StoreFuture<'_, ()> {
            self.0.end_turn(turn, end)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_suspended_process_loses_its_turn_and_its_work_stops() {
        let (store, asleep) = (
            Arc::new(MemoryStore::default()),
            Arc::new(AtomicBool::new(false)),
        );
        let sleeper = OfSleeper(Arc::clone(&store), Arc::clone(&asleep));
        let one = Turns::shared(Arc::new(sleeper), LEASE);
        let two = Turns::shared(store, LEASE);
        let turn = one.take(ACCOUNT, "a").await;
        asleep.store(true, Ordering::SeqCst);
        let began = Instant::now();
        let next = two.take(ACCOUNT, "b").await;
        // The wait is for the lease, and then for the time in which the same work would come first.
        assert!(began.elapsed() >= LEASE * 2, "{:?}", began.elapsed());
        assert!(next.fence().unwrap().token > turn.fence().unwrap().token);
        asleep.store(false, Ordering::SeqCst);
        let lost = turn.run(std::future::pending::<()>()).await;
        assert_eq!(lost, Err(TurnLost { account: ACCOUNT }));
        // The end of the lost turn does not affect the next one.
        turn.end().await;
        assert!(!gets(&one, "a", LEASE).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_does_not_answer_is_asked_again() {
        struct Down(AtomicBool, MemoryStore);
        impl TurnStore for Down {
            fn take_turn(
                &self,
                account: Address,
                work: &str,
                lease: Duration,
            ) -> StoreFuture<'_, Option<TurnFence>> {
                match self.0.swap(false, Ordering::SeqCst) {
                    true => Box::pin(async { Err(StoreError::Unavailable { code: "down" }) }),
                    false => self.1.take_turn(account, work, lease),
                }
            }

            fn renew_turn(&self, _: TurnFence, _: Duration) -> StoreFuture<'_, bool> {
                Box::pin(async { Err(StoreError::Unavailable { code: "down" }) })
            }

            fn end_turn(&self, turn: TurnFence, end: TurnEnd) -> StoreFuture<'_, ()> {
                self.1.end_turn(turn, end)
            }
        }
        let turns = Turns::shared(Arc::new(Down(true.into(), MemoryStore::default())), LEASE);
        let turn = turns.take(ACCOUNT, "a").await;
        // A renewal without an answer says nothing about the turn.
        turn.run(sleep(LEASE * 2)).await.unwrap();
        turn.end().await;
    }
}
