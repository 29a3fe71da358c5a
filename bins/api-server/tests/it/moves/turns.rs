//! A test of a wallet's turn that is lost while its move is prepared.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use api_server::{TokenPrices, WalletMover};
use custody::Turns;
use readings::Decimal;
use tx_sender::{MemoryStore, StoreFuture, TurnEnd, TurnFence, TurnStore};
use wallet_actions::PortFuture;
use watch_server::{Mover as _, Yields};

use crate::moves::stage::{LENT, THOUSAND, World, mandate, moved};

/// A database that grants turns and does not renew them. A replica that takes over may have lost
/// them.
struct Forgetful(MemoryStore);

impl TurnStore for Forgetful {
    fn take_turn(
        &self,
        account: Address,
        work: &str,
        lease: Duration,
    ) -> StoreFuture<'_, Option<TurnFence>> {
        self.0.take_turn(account, work, lease)
    }

    fn renew_turn(&self, _: TurnFence, _: Duration) -> StoreFuture<'_, bool> {
        Box::pin(async { Ok(false) })
    }

    fn end_turn(&self, turn: TurnFence, end: TurnEnd) -> StoreFuture<'_, ()> {
        self.0.end_turn(turn, end)
    }
}

/// A source of prices that never answers, so that the move stays in preparation.
struct Silent;

impl TokenPrices for Silent {
    fn usd(&self, _: u64, _: Address) -> PortFuture<'_, Option<Decimal>> {
        Box::pin(std::future::pending())
    }

    fn gas_usd(&self, _: u64, _: u64) -> PortFuture<'_, Option<Decimal>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_whose_turn_is_lost_has_not_begun() {
    let world = World::with(THOUSAND).await;
    let mandate = mandate("1000");
    world.yields.set(LENT, "4");
    let process = world.process();
    let asked = world.proposal(&process, &mandate, 1).await.unwrap();
    let store = Arc::new(Forgetful(MemoryStore::default()));
    let yields: Arc<dyn Yields> = world.yields.clone();
    let mover = WalletMover::new(
        process.actions.clone(),
        Arc::downgrade(&yields),
        Arc::new(Silent),
        Turns::shared(store, Duration::from_millis(30)),
    );
    let lost = mover.propose(&mandate, &asked).await.unwrap_err();
    assert_eq!(lost.reason, "turn_lost");
    assert_eq!(mover.state(&asked.key).await, Ok(None));
    // A later look at the mandate begins it.
    moved(&process.run(&mandate, &asked).await);
}
