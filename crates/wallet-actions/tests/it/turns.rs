//! The turns on accounts as one of several processes sees them. A suspended process renews nothing.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use custody::Turns;
use test_support::Fuse;
use tx_sender::{StoreFuture, TurnEnd, TurnFence, TurnStore};

/// How long a turn lasts when it is not renewed.
pub(crate) const LEASE: Duration = Duration::from_secs(10);

/// Makes the turns of a process with this fuse, shared over a store.
pub(crate) fn shared(store: Arc<dyn TurnStore>, fuse: Arc<Fuse>) -> Turns {
    Turns::shared(Arc::new(MortalTurns { store, fuse }), LEASE)
}

struct MortalTurns {
    store: Arc<dyn TurnStore>,
    fuse: Arc<Fuse>,
}

impl TurnStore for MortalTurns {
    fn take_turn(
        &self,
        account: Address,
        work: &str,
        lease: Duration,
    ) -> StoreFuture<'_, Option<TurnFence>> {
        let work = work.to_owned();
        Box::pin(async move {
            self.fuse.alive().await;
            let taken = self.store.take_turn(account, &work, lease).await;
            // The process may be suspended before it gets the answer.
            self.fuse.alive().await;
            taken
        })
    }

    fn renew_turn(&self, turn: TurnFence, lease: Duration) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.renew_turn(turn, lease).await
        })
    }

    fn end_turn(&self, turn: TurnFence, end: TurnEnd) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.fuse.alive().await;
            self.store.end_turn(turn, end).await
        })
    }
}
