//! Tests of reorganisations after the end of an action: the record follows the chain.

use dev_chain::{BUYER, Fate, xlayer};
use wallet_actions::{Action, Intent, State, WithdrawOrder};

use crate::funds::invest;
use crate::stage::{World, balance, move_tokens, order, owner, steps, wallet};
use crate::withdrawals::give;

const HELD: u64 = 10_000_000;

fn withdraw() -> Action {
    Action::Withdraw(WithdrawOrder {
        chain_id: 196,
        token: xlayer::USDG,
        amount: Some("10".to_owned()),
    })
}

/// Runs an action, and then removes the newest blocks. With `restart`, the process ends first and
/// the next one continues. `between` runs on the new branch before the removed transactions are in
/// a block again.
async fn reorganised(
    restart: bool,
    fate: Fate,
    between: impl Fn(&World),
) -> (World, Intent, Intent) {
    let world = World::new();
    give(&world, HELD);
    let first = world.process();
    let done = first.run(order(1, withdraw())).await.unwrap();
    assert_eq!(done.state, State::Completed);
    assert_eq!((done.is_final, done.reorganised_at), (false, None));
    let mut process = Some(first);
    if restart && let Some(first) = process.take() {
        first.fuse.blow();
    }
    world.mine_on(false);
    let height = world.xlayer.block_number();
    let depth = height - done.steps[0].status.at().unwrap().number + 1;
    world.xlayer.reorganise(depth, fate);
    between(&world);
    world.mine_on(true);
    let process = process.unwrap_or_else(|| world.process());
    let ended = process.until(&done, |intent| {
        intent.state.is_over() && intent.reorganised_at.is_some()
    });
    let ended = ended.await;
    // Afterwards, the intent becomes final, and no longer needs to be watched.
    let last = process.until(&done, |intent| intent.is_final).await;
    assert_eq!(last.state, ended.state);
    (world, done, last)
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_is_included_again_is_where_the_record_says() {
    for restart in [false, true] {
        for fate in [Fate::Waiting, Fate::Dropped] {
            let (world, before, after) = reorganised(restart, fate, |_| {}).await;
            assert_eq!(after.state, State::Completed, "{restart} {after:#?}");
            assert_eq!(steps(&after), ["transfer success"]);
            let (before, after) = (before.steps[0].status.at(), after.steps[0].status.at());
            assert_eq!(before.unwrap().transaction, after.unwrap().transaction);
            assert_ne!(before.unwrap().block, after.unwrap().block);
            assert_eq!(balance(&world.xlayer, xlayer::USDG, wallet()), 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_is_reverted_on_the_new_branch_did_not_happen() {
    for restart in [false, true] {
        let (world, _, after) = reorganised(restart, Fate::Dropped, |world| {
            // The wallet no longer has the tokens, so its transfer reverts.
            let (from, to) = (wallet(), BUYER.address);
            move_tokens(&world.xlayer, xlayer::USDG, from, to, HELD);
        })
        .await;
        assert_eq!(after.state, State::Failed, "{restart} {after:#?}");
        assert_eq!(after.halted.as_deref(), Some("step_reverted"));
        assert_eq!(steps(&after), ["transfer reverted"]);
        assert!(!after.has_effect());
        assert_eq!(
            balance(&world.xlayer, xlayer::USDG, owner().address()),
            1_000_000_000 - HELD
        );
    }
}

/// An intent whose block was removed says `reopened` until its transaction is in a block again. The
/// wallet then runs its next action.
#[tokio::test(start_paused = true)]
async fn a_reopened_intent_says_so_and_then_completes() {
    let world = World::new();
    give(&world, HELD);
    let process = world.process();
    let done = process.run(order(1, withdraw())).await.unwrap();
    world.mine_on(false);
    let at = done.steps[0].status.at().unwrap().number;
    let depth = world.xlayer.block_number() - at + 1;
    world.xlayer.reorganise(depth, Fate::Dropped);
    let reopened = process.until(&done, |intent| !intent.state.is_over()).await;
    assert_eq!((reopened.state, reopened.ended_at), (State::Reopened, None));
    assert_eq!(steps(&reopened), ["transfer in_flight"]);
    assert!(reopened.reorganised_at.is_some());
    world.mine_on(true);
    let done = process.until(&done, |intent| intent.state.is_over()).await;
    assert_eq!(done.state, State::Completed);
    give(&world, HELD);
    let next = process.run(order(2, invest("5"))).await.unwrap();
    assert_eq!(next.state, State::Completed, "{next:#?}");
}

/// A transfer reverts, and succeeds on a new branch. The same payment, sent again in between, gets
/// the same action. It never buys two.
#[tokio::test(start_paused = true)]
async fn a_payment_is_free_only_when_no_reorganisation_can_give_its_action_an_effect() {
    let world = World::new();
    give(&world, HELD);
    world.signs.send_replace(false);
    let process = world.process();
    let begun = Box::pin(process.actions.begin(&order(1, withdraw())))
        .await
        .unwrap();
    process
        .until(&begun, |intent| steps(intent) == ["transfer in_flight"])
        .await;
    let height = world.xlayer.block_number();
    let (from, to) = (wallet(), BUYER.address);
    move_tokens(&world.xlayer, xlayer::USDG, from, to, HELD);
    world.signs.send_replace(true);
    let failed = process.end(&begun).await;
    assert_eq!(steps(&failed), ["transfer reverted"]);
    assert!(failed.came_to_nothing() && failed.may_have_effect());

    // The payer tries again, now with the tokens.
    move_tokens(&world.xlayer, xlayer::USDG, to, from, HELD);
    let again = process.run(order(1, withdraw())).await.unwrap();
    assert_eq!(again.id, begun.id);
    assert_eq!(again.state, State::Failed);

    // The new branch lacks the blocks in which the wallet had no tokens.
    world.mine_on(false);
    let depth = world.xlayer.block_number() - height;
    world.xlayer.reorganise(depth, Fate::Waiting);
    world.mine_on(true);
    let done = process
        .until(&begun, |intent| intent.state == State::Completed)
        .await;
    assert_eq!(steps(&done), ["transfer success"]);
    let again = process.run(order(1, withdraw())).await.unwrap();
    assert_eq!(again.id, begun.id);
    assert_eq!(world.store.all().len(), 1);
}
