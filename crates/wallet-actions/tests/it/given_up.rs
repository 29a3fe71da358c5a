//! Tests that cancel an action in each of its states.

use std::sync::atomic::Ordering;
use std::time::Duration;

use dev_chain::xlayer;
use test_support::{Fuse, eventually, pass};
use tx_sender::{Sender, State as SenderState};
use wallet_actions::{Action, GivenUp, Intent, State, Status, WithdrawOrder};

use crate::stage::{Process, World, balance, order, steps, wallet};
use crate::withdrawals::give;

const HELD: u64 = 10_000_000;

fn withdraw() -> Action {
    Action::Withdraw(WithdrawOrder {
        chain_id: 196,
        token: xlayer::USDG,
        amount: Some("1".to_owned()),
    })
}

fn stage() -> World {
    let world = World::new();
    give(&world, HELD);
    world
}

async fn begin(process: &Process) -> Intent {
    Box::pin(process.actions.begin(&order(1, withdraw())))
        .await
        .unwrap()
}

async fn give_up(process: &Process, intent: &Intent) -> GivenUp {
    let given_up = process
        .actions
        .give_up(&intent.id, "not_begun_in_time")
        .await;
    given_up.unwrap().unwrap()
}

/// Waits until `is` holds for the state of the only transaction at its sender.
async fn until(sender: &Sender, intent: &Intent, is: fn(SenderState) -> bool) {
    let found = async || {
        let record = sender.find(&intent.key(0)).await.unwrap();
        record.filter(|record| is(record.state))
    };
    eventually("the transaction is in this state", found).await;
}

/// Checks that the answer says `cancelled`, and that nothing of the action ever happens, not even
/// in the next process.
async fn stays_cancelled(world: &World, process: Process, given_up: GivenUp) {
    let GivenUp::Cancelled(cancelled) = given_up else {
        panic!("{given_up:?}");
    };
    assert_eq!(cancelled.state, State::Cancelled);
    assert_eq!(cancelled.halted.as_deref(), Some("not_begun_in_time"));
    assert!(!cancelled.has_effect());
    let found = process.actions.find(&cancelled.id).await.unwrap().unwrap();
    assert_eq!(found, cancelled);
    world.up.store(true, Ordering::SeqCst);
    world.signs.send_replace(true);
    pass(Duration::from_secs(120)).await;
    process.fuse.blow();
    drop(process);
    let next = world.process();
    pass(Duration::from_secs(120)).await;
    let found = next.actions.find(&cancelled.id).await.unwrap().unwrap();
    assert_eq!(
        (found.state, found.is_final),
        (State::Cancelled, true),
        "{found:#?}"
    );
    assert!(!next.actions.was_signed(&found).await.unwrap());
    assert_eq!(balance(&world.xlayer, xlayer::USDG, wallet()), HELD);
    // The payment and the wallet can begin another action.
    let done = next.run(order(1, withdraw())).await.unwrap();
    assert_ne!(done.id, cancelled.id);
    assert_eq!(done.state, State::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_planned_action_is_cancelled() {
    let world = stage();
    let process = world.process();
    let begun = begin(&process).await;
    world.up.store(false, Ordering::SeqCst);
    let given_up = give_up(&process, &begun).await;
    stays_cancelled(&world, process, given_up).await;
}

/// Orders an action in a process that ends before or after it gives the transaction to the sender.
async fn ordered(world: &World, records: i64, after: bool) -> Intent {
    // The first two effects of the process are the writes of the intent and of the order.
    let fuse = Fuse::new(2 + records, after);
    let process = world.process_until(fuse.clone());
    let begun = begin(&process).await;
    fuse.died.notified().await;
    drop(process);
    let found = world.store.all().remove(0);
    assert_eq!(found.id, begun.id);
    assert!(
        matches!(found.steps[0].status, Status::Ordered { .. }),
        "{found:#?}"
    );
    found
}

#[tokio::test(start_paused = true)]
async fn an_order_without_a_record_is_made_impossible() {
    let world = stage();
    let begun = ordered(&world, 0, false).await;
    let process = world.process();
    assert!(process.sender.find(&begun.key(0)).await.unwrap().is_none());
    let given_up = give_up(&process, &begun).await;
    let record = process.sender.find(&begun.key(0)).await.unwrap().unwrap();
    assert_eq!(record.state, SenderState::Abandoned(None));
    stays_cancelled(&world, process, given_up).await;
}

#[tokio::test(start_paused = true)]
async fn an_action_whose_record_waits_is_cancelled() {
    let world = stage();
    let begun = ordered(&world, 0, true).await;
    let process = world.process();
    let record = process.sender.find(&begun.key(0)).await.unwrap().unwrap();
    assert_eq!(record.state, SenderState::Prepared);
    let given_up = give_up(&process, &begun).await;
    stays_cancelled(&world, process, given_up).await;
}

#[tokio::test(start_paused = true)]
async fn a_record_with_a_nonce_and_without_a_signature_is_cancelled() {
    let world = stage();
    world.signs.send_replace(false);
    let process = world.process();
    let begun = begin(&process).await;
    until(&process.sender, &begun, |state| {
        state == SenderState::Claimed
    })
    .await;
    let given_up = give_up(&process, &begun).await;
    let GivenUp::Cancelled(cancelled) = &given_up else {
        panic!("{given_up:?}");
    };
    assert_eq!(steps(cancelled), ["transfer not_sent"]);
    stays_cancelled(&world, process, given_up).await;
}

/// The process ends after it has closed the sender's record, and before it writes the end of the
/// intent.
#[tokio::test(start_paused = true)]
async fn a_half_cancelled_action_is_cancelled_by_the_next_process() {
    let world = stage();
    let begun = ordered(&world, 0, false).await;
    let fuse = Fuse::new(1, false);
    let process = world.process_until(fuse.clone());
    tokio::select! {
        biased;
        _ = give_up(&process, &begun) => panic!("the process did not end"),
        () = fuse.died.notified() => {}
    }
    drop(process);
    let next = world.process();
    let ended = next.end(&begun).await;
    assert_eq!(
        (ended.state, ended.halted.as_deref()),
        (State::Cancelled, Some("cancelled"))
    );
    assert_eq!(balance(&world.xlayer, xlayer::USDG, wallet()), HELD);
}

#[tokio::test(start_paused = true)]
async fn a_signed_action_cannot_be_cancelled() {
    let world = stage();
    let process = world.process();
    world.mine_on(false);
    let begun = begin(&process).await;
    until(&process.sender, &begun, |state| {
        state == SenderState::Broadcast
    })
    .await;
    let given_up = give_up(&process, &begun).await;
    let GivenUp::TooLate(running) = given_up else {
        panic!("{given_up:?}");
    };
    assert_eq!(running.state, State::Running);
    world.mine_on(true);
    let done = process.end(&begun).await;
    assert_eq!(done.state, State::Completed);
    assert_eq!(give_up(&process, &begun).await, GivenUp::TooLate(done));
    let unknown = "00000000000000000000000000000000".parse().unwrap();
    let unknown = process.actions.give_up(&unknown, "late").await.unwrap();
    assert_eq!(unknown, None);
}

/// The transaction is signed after the check that found no signature, and before its record is
/// closed. So the action continues.
#[tokio::test(start_paused = true)]
async fn an_action_that_is_signed_meanwhile_is_not_cancelled() {
    let world = stage();
    world.signs.send_replace(false);
    let process = world.process();
    let begun = begin(&process).await;
    until(&process.sender, &begun, |state| {
        state == SenderState::Claimed
    })
    .await;
    world.mine_on(false);
    world.finds.send_replace(false);
    let (given_up, ()) = tokio::join!(give_up(&process, &begun), async {
        pass(Duration::from_secs(1)).await;
        world.signs.send_replace(true);
        until(&process.sender, &begun, |state| {
            state == SenderState::Broadcast
        })
        .await;
        world.finds.send_replace(true);
    });
    assert!(matches!(given_up, GivenUp::TooLate(_)), "{given_up:?}");
    world.mine_on(true);
    let done = process.end(&begun).await;
    assert_eq!(done.state, State::Completed, "{done:#?}");
    assert_eq!(steps(&done), ["transfer success"]);
}
