//! Tests of processes that end during a move, and of moves whose second half cannot continue.

use dev_chain::abi::TokenVault;
use dev_chain::xlayer::{A_USDG, STATA_USDG, USDG};
use test_support::eventually;
use watch_server::{MoveState, Mover as _, Stop};
use yield_watch::{Mandate, MoveOutcome, Position, Proposal};

use crate::moves::stage::{LENT, Process, THOUSAND, VAULT, World, mandate, moved};

/// Makes a wallet with everything in the market, and the move into the vault, which is better now.
async fn invested(world: &World, mandate: &Mandate) -> (Process, Proposal) {
    let process = world.process();
    world.yields.set(LENT, "4");
    let asked = world.proposal(&process, mandate, 1).await.unwrap();
    moved(&process.run(mandate, &asked).await);
    world.yields.set(VAULT, "6");
    let asked = world.proposal(&process, mandate, 3).await.unwrap();
    (process, asked)
}

/// Waits until the money has left the market and the first half has ended.
pub(crate) async fn first_half(world: &World, process: &Process) {
    let left = async || (world.balance(USDG) > 0 && world.balance(A_USDG) <= 1).then_some(());
    eventually("the money leaves the market", left).await;
    let owner = crate::moves::stage::OWNER;
    let over = async || {
        process
            .actions
            .busy(owner)
            .await
            .unwrap()
            .is_none()
            .then_some(())
    };
    eventually("the half is over", over).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_restarts_cut_off_is_made_once() {
    let world = World::with(THOUSAND).await;
    let mandate = mandate("100000");
    let (process, asked) = invested(&world, &mandate).await;
    let before = world.sent();
    {
        // The first process ends before it signs anything.
        let turn = process.turns.take(world.wallet, "other").await;
        let begun = process.mover.propose(&mandate, &asked).await;
        assert_eq!(begun, Ok(MoveState::UnderWay));
        drop(process);
        drop(turn);
    }
    assert_eq!(world.sent(), before);
    let process = world.process();
    first_half(&world, &process).await;
    // Between the halves the wallet begins no other move, and the money on its way does not count
    // as idle.
    let held = process.mover.held(&mandate, &world.markets()).await;
    assert_eq!(held.unwrap_err().reason, "wallet_busy");
    let another = Proposal {
        key: yield_watch::MoveKey::new("cd", 9),
        from: None,
        ..asked.clone()
    };
    let busy = process.mover.propose(&mandate, &another).await.unwrap_err();
    assert_eq!(busy.reason, "wallet_busy");
    drop(process);
    let process = world.process();
    // A new process begins the second half when it is asked for the state of the move's key.
    assert_eq!(
        process.mover.state(&asked.key).await,
        Ok(Some(MoveState::UnderWay))
    );
    drop(process);
    let process = world.process();
    let outcome = process.end(&asked.key).await;
    let (tx_hash, usd) = moved(&outcome);
    assert_eq!(usd.split('.').next(), Some("1000"), "{usd}");
    assert!(!tx_hash.is_zero());
    // One withdrawal, one approval, one deposit.
    assert_eq!(world.sent() - before, 3);
    assert!(world.in_vault().abs_diff(THOUSAND) <= 50);
    assert_eq!((world.balance(A_USDG), world.balance(USDG)), (0, 0));
    drop(process);
    let process = world.process();
    let again = process.mover.propose(&mandate, &asked).await;
    assert_eq!(again, Ok(MoveState::Ended(outcome)));
    assert_eq!(process.mover.cancel(&asked.key).await, Ok(Stop::TooLate));
    assert_eq!(world.sent() - before, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn money_whose_second_half_cannot_go_on_stays_idle() {
    let world = World::with(THOUSAND).await;
    let mandate = mandate("100000");
    let (process, asked) = invested(&world, &mandate).await;
    let begun = process.mover.propose(&mandate, &asked).await;
    assert_eq!(begun, Ok(MoveState::UnderWay));
    first_half(&world, &process).await;
    world.act(STATA_USDG, &TokenVault::setPausedCall { on: true });
    let failed = process.end(&asked.key).await;
    let MoveOutcome::Failed {
        reason, tx_hash, ..
    } = &failed
    else {
        panic!("{failed:?}");
    };
    assert_eq!(reason, "product_paused");
    assert!(tx_hash.is_some());
    // The refusal is final, so the next check sees the money as idle.
    world.act(STATA_USDG, &TokenVault::setPausedCall { on: false });
    drop(process);
    let process = world.process();
    let again = process.mover.state(&asked.key).await;
    assert_eq!(again, Ok(Some(MoveState::Ended(failed))));
    let holdings = world.held(&process, &mandate).await;
    assert!(matches!(holdings.position, Position::Idle { .. }));
    assert!(world.balance(USDG).abs_diff(THOUSAND) <= 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_second_half_is_begun_after_the_time_of_the_move() {
    let world = World::with(THOUSAND).await;
    let mandate = mandate("100000");
    let (process, asked) = invested(&world, &mandate).await;
    process.mover.propose(&mandate, &asked).await.unwrap();
    first_half(&world, &process).await;
    let sent = world.sent();
    world.pass(crate::moves::stage::FRESH);
    let failed = process.end(&asked.key).await;
    assert!(
        matches!(&failed, MoveOutcome::Failed { reason, .. } if reason == "deadline_passed"),
        "{failed:?}"
    );
    assert_eq!(world.sent(), sent);
    // The wallet is free for the next move.
    assert!(world.proposal(&process, &mandate, 5).await.is_some());
}
