//! Tests of halves of moves that ended before anything was signed. Nothing begins them later, not
//! even a call that was suspended.

use alloy_primitives::B256;
use dev_chain::xlayer::USDG;
use test_support::eventually;
use wallet_actions::{Action, Order, Refused, WithdrawOrder};
use watch_server::{MoveState, Mover as _};
use yield_watch::MoveOutcome;

use crate::moves::stage::{FRESH, LENT, OWNER, Process, THOUSAND, VAULT, World, mandate, moved};

const LATE: &str = "deadline_passed";

/// Returns the payment of the only intent that ended without effect.
async fn without_effect(process: &Process) -> B256 {
    let intents = process.actions.of_owner(OWNER, 0, 10).await.unwrap();
    let mut ended = intents.iter().filter(|intent| intent.came_to_nothing());
    let (Some(intent), None) = (ended.next(), ended.next()) else {
        panic!("not one intent without effect: {intents:?}");
    };
    intent.payment
}

/// Begins an action under a payment, as a suspended call does when it continues late.
async fn begin(process: &Process, payment: B256) -> Refused {
    let withdraw = WithdrawOrder {
        chain_id: 196,
        token: USDG,
        amount: None,
    };
    let order = Order {
        owner: OWNER,
        owner_is_key: true,
        payment,
        claim: None,
        begin_by: None,
        purchase: None,
        call: String::new(),
        price_micro_usd: 0,
        charge: None,
        action: Action::Withdraw(withdraw),
        principal: None,
        deadline: None,
        max_slippage_bps: None,
        max_price_impact_bps: None,
    };
    process.actions.begin(&order).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_ended_unsigned_begins_nothing_later() {
    let world = World::with(THOUSAND).await;
    let process = world.process();
    let mandate = mandate("1000");
    world.yields.set(LENT, "4");
    let asked = world.proposal(&process, &mandate, 1).await.unwrap();
    // Another caller has the wallet's turn until the time of the move is over.
    let turn = process.turns.take(world.wallet, "other").await;
    let begun = process.mover.propose(&mandate, &asked).await;
    assert_eq!(begun, Ok(MoveState::UnderWay));
    world.pass(FRESH);
    turn.end().await;
    let refused = MoveOutcome::Refused {
        reason: LATE.to_owned(),
    };
    assert_eq!(process.end(&asked.key).await, refused);
    let late = begin(&process, without_effect(&process).await).await;
    assert_eq!(late, Refused::Forbidden(LATE.to_owned()));
    assert_eq!((world.balance(USDG), world.sent()), (THOUSAND, 0));
    // The answer stays the same.
    let again = process.mover.propose(&mandate, &asked).await;
    assert_eq!(again, Ok(MoveState::Ended(refused)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_half_that_ended_unsigned_begins_nothing_later() {
    let world = World::with(THOUSAND).await;
    let process = world.process();
    let mandate = mandate("100000");
    world.yields.set(LENT, "4");
    let asked = world.proposal(&process, &mandate, 1).await.unwrap();
    moved(&process.run(&mandate, &asked).await);
    world.yields.set(VAULT, "6");
    let asked = world.proposal(&process, &mandate, 3).await.unwrap();
    let begun = process.mover.propose(&mandate, &asked).await;
    assert_eq!(begun, Ok(MoveState::UnderWay));
    super::restarts::first_half(&world, &process).await;
    let sent = world.sent();
    let turn = process.turns.take(world.wallet, "other").await;
    // The second half begins when the first one is seen to be over, and waits for the turn.
    let begun = async || {
        let state = process.mover.state(&asked.key).await;
        assert_eq!(state, Ok(Some(MoveState::UnderWay)));
        process.actions.busy(OWNER).await.unwrap()
    };
    eventually("the second half begins", begun).await;
    world.pass(FRESH);
    turn.end().await;
    let failed = process.end(&asked.key).await;
    assert!(
        matches!(&failed, MoveOutcome::Failed { reason, .. } if reason == LATE),
        "{failed:?}"
    );
    let late = begin(&process, without_effect(&process).await).await;
    assert_eq!(late, Refused::Forbidden(LATE.to_owned()));
    assert_eq!(world.sent(), sent);
}
