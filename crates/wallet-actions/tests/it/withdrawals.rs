//! Tests of withdrawals of tokens to the owner, and of giving up a withdrawal.

use alloy_primitives::{Address, B256, U256};
use dev_chain::{BUYER, xlayer};
use wallet_actions::{Action, Charge, GivenUp, Order, Refused, State, WithdrawOrder};

use crate::stage::{NOW, World, balance, move_tokens, order, owner, reason, steps, wallet};

pub(crate) fn withdraw(amount: Option<&str>) -> Action {
    Action::Withdraw(WithdrawOrder {
        chain_id: 196,
        token: xlayer::USDG,
        amount: amount.map(str::to_owned),
    })
}

/// Gives the wallet tokens of the owner.
pub(crate) fn give(world: &World, amount: u64) {
    let from = owner().address();
    move_tokens(&world.xlayer, xlayer::USDG, from, wallet(), amount);
}

#[tokio::test(start_paused = true)]
async fn everything_leaves_no_dust() {
    let world = World::new();
    let process = world.process();
    let refused = process.run(order(1, withdraw(None))).await.unwrap_err();
    assert_eq!(reason(&refused), "nothing_to_withdraw");
    give(&world, 25_500_001);
    let done = process.run(order(1, withdraw(None))).await.unwrap();
    assert_eq!(done.state, State::Completed);
    assert_eq!(steps(&done), ["transfer success"]);
    assert_eq!(balance(&world.xlayer, xlayer::USDG, wallet()), 0);
    assert_eq!(
        balance(&world.xlayer, xlayer::USDG, owner().address()),
        1_000_000_000
    );
    // The same payment gives the same intent again, and moves nothing.
    give(&world, 5);
    let again = process.run(order(1, withdraw(None))).await.unwrap();
    assert_eq!(again.id, done.id);
    assert_eq!(balance(&world.xlayer, xlayer::USDG, wallet()), 5);
}

#[tokio::test(start_paused = true)]
async fn an_amount_must_be_exact_and_within_the_balance() {
    let world = World::new();
    let process = world.process();
    give(&world, 10_000_000);
    for (amount, expected) in [
        ("10.000001", r#"{"funds":"0x1"}"#),
        ("0", "amount"),
        ("1.0000001", "amount"),
    ] {
        let refused = process
            .run(order(1, withdraw(Some(amount))))
            .await
            .unwrap_err();
        assert_eq!(reason(&refused), expected, "{amount}");
    }
    let done = process.run(order(1, withdraw(Some("2.5")))).await.unwrap();
    assert_eq!(done.state, State::Completed);
    assert_eq!(balance(&world.xlayer, xlayer::USDG, wallet()), 7_500_000);
    assert!(world.store.all().len() == 1);
}

#[tokio::test(start_paused = true)]
async fn an_unreviewed_token_is_refused_before_the_action_begins() {
    let world = World::new();
    let process = world.process();
    let of = |chain_id, token| {
        Action::Withdraw(WithdrawOrder {
            chain_id,
            token,
            amount: None,
        })
    };
    for (action, expected) in [
        (of(1, xlayer::USDG), "chain_unsupported"),
        (of(196, BUYER.address), "token_unsupported"),
        (of(196, Address::repeat_byte(0xee)), "token_unsupported"),
    ] {
        let refused = process.run(order(1, action)).await.unwrap_err();
        assert_eq!(reason(&refused), expected);
    }
    // The signing policy does not list this token.
    move_tokens(&world.xlayer, xlayer::WOKB, xlayer::DEX_ROUTER, wallet(), 7);
    let refused = process
        .run(order(1, of(196, xlayer::WOKB)))
        .await
        .unwrap_err();
    assert_eq!(reason(&refused), "wallet_target_unreviewed");
    assert!(world.store.all().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_wallet_runs_one_action_at_a_time() {
    let world = World::new();
    let process = world.process();
    give(&world, 10_000_000);
    world.mine_on(false);
    let first = Box::pin(process.actions.begin(&order(1, withdraw(Some("1")))))
        .await
        .unwrap();
    let refused = process
        .run(order(2, withdraw(Some("1"))))
        .await
        .unwrap_err();
    assert_eq!(reason(&refused), "busy");
    world.mine_on(true);
    assert_eq!(process.end(&first).await.state, State::Completed);
    let second = process.run(order(2, withdraw(Some("1")))).await.unwrap();
    assert_eq!(second.state, State::Completed);
}

#[tokio::test(start_paused = true)]
async fn only_an_unsigned_action_is_given_up() {
    let world = World::new();
    let process = world.process();
    give(&world, 10_000_000);
    world.up.store(false, std::sync::atomic::Ordering::SeqCst);
    // No node answers, so nothing can be planned.
    let refused = process
        .run(order(1, withdraw(Some("1"))))
        .await
        .unwrap_err();
    assert_eq!(reason(&refused), "chain_unreadable");
    world.up.store(true, std::sync::atomic::Ordering::SeqCst);
    let begun = Box::pin(process.actions.begin(&order(1, withdraw(Some("1")))))
        .await
        .unwrap();
    world.up.store(false, std::sync::atomic::Ordering::SeqCst);
    let given_up = process
        .actions
        .give_up(&begun.id, "not_begun_in_time")
        .await
        .unwrap();
    let Some(GivenUp::Cancelled(cancelled)) = given_up else {
        panic!("{given_up:?}");
    };
    assert_eq!(
        (cancelled.state, cancelled.has_effect()),
        (State::Cancelled, false)
    );
    world.up.store(true, std::sync::atomic::Ordering::SeqCst);
    // The payment may begin another intent.
    let second = Box::pin(process.actions.begin(&order(1, withdraw(Some("1")))))
        .await
        .unwrap();
    assert_ne!(second.id, begun.id);
    let done = process.end(&second).await;
    let given_up = process.actions.give_up(&done.id, "late").await.unwrap();
    assert_eq!(given_up, Some(GivenUp::TooLate(done)));
    assert_eq!(balance(&world.xlayer, xlayer::USDG, wallet()), 9_000_000);
    assert_eq!(U256::from(2), U256::from(world.store.all().len()));
}

/// The first action has taken the money that the plan of a second one would look for.
#[tokio::test(start_paused = true)]
async fn a_purchase_is_not_begun_again_while_it_may_be_charged() {
    let world = World::new();
    let process = world.process();
    give(&world, 10_000_000);
    let bought = |number| Order {
        purchase: Some(B256::repeat_byte(7)),
        charge: Some(Charge {
            chain_id: 196,
            token: xlayer::USDG,
            amount: U256::from(50_000),
        }),
        ..order(number, withdraw(None))
    };
    let done = process.run(bought(1)).await.unwrap();
    assert!(done.awaits_charge);
    let refused = process.run(bought(2)).await.unwrap_err();
    assert_eq!(refused, Refused::Uncharged(done.id.clone()));
    process.actions.note_charged(&done.id, "").await.unwrap();
    let refused = process.run(bought(2)).await.unwrap_err();
    assert_eq!(reason(&refused), "nothing_to_withdraw");
}

/// An action that began later could not be charged.
#[tokio::test(start_paused = true)]
async fn nothing_begins_when_the_payment_can_no_longer_be_settled() {
    let world = World::new();
    let process = world.process();
    give(&world, 10_000_000);
    let order_by = |begin_by| Order {
        begin_by: Some(begin_by),
        ..order(1, withdraw(Some("1")))
    };
    let late = process.run(order_by(NOW - 1)).await.unwrap_err();
    assert_eq!(reason(&late), "payment_expired");
    let begun = process.actions.of_payment(order_by(0).payment).await;
    assert_eq!(begun, Ok(None));
    // An action that begins in time is carried out.
    let done = process.run(order_by(NOW + 60)).await.unwrap();
    assert_eq!(done.state, State::Completed);
}
