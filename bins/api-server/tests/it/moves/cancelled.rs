//! Tests of moves that a caller stops, and of wallets that are busy with other work.

use dev_chain::xlayer::{A_USDG, USDG};
use watch_server::{MoveState, Mover as _, Stop};
use yield_watch::{MoveKey, MoveOutcome};

use crate::moves::stage::{LENT, THOUSAND, World, mandate, moved};

fn stopped() -> MoveOutcome {
    MoveOutcome::Stopped {
        reason: "cancelled".to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_was_never_proposed_is_stopped_for_ever() {
    let world = World::with(THOUSAND).await;
    let mandate = mandate("1000");
    world.yields.set(LENT, "4");
    let key = MoveKey::new(&mandate.id, 1);
    {
        let process = world.process();
        assert_eq!(process.mover.state(&key).await, Ok(None));
        assert_eq!(process.mover.cancel(&key).await, Ok(Stop::Stopped));
        process.actions.close().await;
    }
    let process = world.process();
    let asked = world.proposal(&process, &mandate, 1).await.unwrap();
    assert_eq!(asked.key, key);
    assert_eq!(process.run(&mandate, &asked).await, stopped());
    assert_eq!(process.mover.cancel(&key).await, Ok(Stop::Stopped));
    assert_eq!((world.balance(USDG), world.sent()), (THOUSAND, 0));
    // A different key is a different move. An executed move cannot be stopped.
    let asked = world.proposal(&process, &mandate, 3).await.unwrap();
    let outcome = process.run(&mandate, &asked).await;
    moved(&outcome);
    for _ in 0..2 {
        assert_eq!(process.mover.cancel(&asked.key).await, Ok(Stop::TooLate));
    }
    assert_eq!(
        process.mover.state(&asked.key).await,
        Ok(Some(MoveState::Ended(outcome)))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_is_not_signed_is_stopped_and_a_busy_wallet_begins_none() {
    let world = World::with(THOUSAND).await;
    let process = world.process();
    let mandate = mandate("1000");
    world.yields.set(LENT, "4");
    let asked = world.proposal(&process, &mandate, 1).await.unwrap();
    let another = world.proposal(&process, &mandate, 3).await.unwrap();
    // Another caller has the wallet's turn, so nothing is signed meanwhile.
    let turn = process.turns.take(world.wallet, "other").await;
    let begun = process.mover.propose(&mandate, &asked).await;
    assert_eq!(begun, Ok(MoveState::UnderWay));
    let state = process.mover.state(&asked.key).await;
    assert_eq!(state, Ok(Some(MoveState::UnderWay)));
    // A wallet has one move at a time: another one may begin later.
    let busy = process.mover.propose(&mandate, &another).await.unwrap_err();
    assert_eq!(busy.reason, "wallet_busy");
    let busy = process.mover.held(&mandate, &world.markets()).await;
    assert_eq!(busy.unwrap_err().reason, "wallet_busy");
    assert_eq!(process.mover.state(&another.key).await, Ok(None));
    for _ in 0..2 {
        assert_eq!(process.mover.cancel(&asked.key).await, Ok(Stop::Stopped));
    }
    drop(turn);
    assert_eq!(process.end(&asked.key).await, stopped());
    let again = process.mover.propose(&mandate, &asked).await;
    assert_eq!(again, Ok(MoveState::Ended(stopped())));
    assert_eq!((world.balance(USDG), world.sent()), (THOUSAND, 0));
    // The wallet is free for the other move.
    moved(&process.run(&mandate, &another).await);
    assert!(world.balance(A_USDG).abs_diff(THOUSAND) <= 1);
}
