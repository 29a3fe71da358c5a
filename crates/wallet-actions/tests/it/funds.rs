//! Tests of the principal that an owner brings, and of coins for gas.

use alloy_primitives::{U256, address};
use dev_chain::{GAS_PAYER, xlayer};
use gas_funding::Funder;
use wallet_actions::{Action, Charge, InvestOrder, Refused, State};

use crate::stage::{
    World, balance, move_tokens, order, owner, reason, sign_principal, steps, wallet,
};

pub(crate) fn invest(amount: &str) -> Action {
    Action::Invest(InvestOrder {
        chain_id: 196,
        protocol: "aave-v3".to_owned(),
        asset: "USDG".to_owned(),
        amount: amount.to_owned(),
        product_id: None,
        min_shares: None,
    })
}

#[tokio::test(start_paused = true)]
async fn the_refusal_contains_the_typed_data_to_sign_and_the_signed_principal_is_moved() {
    let world = World::new();
    let process = world.process();
    move_tokens(
        &world.xlayer,
        xlayer::USDG,
        owner().address(),
        wallet(),
        1_000_000,
    );
    let refused = process.run(order(1, invest("25.5"))).await.unwrap_err();
    let Refused::Funds(required) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (required.missing, required.wallet),
        (U256::from(24_500_000), wallet())
    );
    let asked = required.principal_auth.unwrap();
    assert_eq!(asked["domain"]["name"], "Global Dollar");
    assert_eq!(asked["message"]["from"], owner().address().to_string());
    assert_eq!(asked["message"]["to"], wallet().to_string());
    let mut funded = order(1, invest("25.5"));
    funded.principal = Some(sign_principal(&asked));
    let done = process.run(funded).await.unwrap();
    assert_eq!(done.state, State::Completed, "{done:#?}");
    assert_eq!(
        steps(&done),
        ["principal success", "approve success", "call success"]
    );
    assert_eq!(
        balance(&world.xlayer, xlayer::USDG, owner().address()),
        974_500_000
    );
    assert_eq!(balance(&world.xlayer, xlayer::USDG, wallet()), 0);
}

#[tokio::test(start_paused = true)]
async fn an_authorization_for_something_else_is_refused_by_name() {
    let world = World::new();
    let process = world.process();
    let Err(Refused::Funds(required)) = process.run(order(1, invest("10"))).await else {
        panic!("the wallet has funds");
    };
    let asked = required.principal_auth.unwrap();
    let good = sign_principal(&asked);
    let other = address!("00000000000000000000000000000000000000aa");
    let mut cases = Vec::new();
    let mut case = |edit: fn(&mut wallet_actions::Principal, alloy_primitives::Address), path| {
        let mut principal = good.clone();
        edit(&mut principal, other);
        cases.push((principal, path));
    };
    case(
        |it, other| it.from = other,
        "principal_auth.authorization.from",
    );
    case(|it, other| it.to = other, "principal_auth.authorization.to");
    case(
        |it, _| it.value = U256::from(9_999_999),
        "principal_auth.authorization.value",
    );
    case(
        |it, _| it.valid_before = U256::from(1),
        "principal_auth.authorization",
    );
    // The signature covers another amount, or no key has made it.
    case(|it, _| it.value = U256::from(10_000_001), "principal_auth");
    case(|it, _| it.signature = vec![7; 65].into(), "principal_auth");
    for (principal, path) in cases {
        let mut funded = order(1, invest("10"));
        funded.principal = Some(principal);
        let refused = process.run(funded).await.unwrap_err();
        assert_eq!(reason(&refused), path);
    }
    let mut funded = order(1, invest("10"));
    funded.principal = Some(good.clone());
    let done = process.run(funded).await.unwrap();
    assert_eq!(done.state, State::Completed);
    // The token accepts the same authorization only once.
    let mut again = order(2, invest("10"));
    again.principal = Some(good);
    let refused = process.run(again).await.unwrap_err();
    assert_eq!(reason(&refused), "principal_auth.authorization.nonce");
    assert_eq!(
        balance(&world.xlayer, xlayer::USDG, owner().address()),
        990_000_000
    );
}

/// Signs the principal of a deposit of 10 of the owner's 1,000 USDG, and begins it.
async fn deposit(world: &World, charge: Charge) -> Result<State, Refused> {
    let process = world.process();
    let Err(Refused::Funds(required)) = process.run(order(1, invest("10"))).await else {
        panic!("the wallet has funds");
    };
    let mut funded = order(1, invest("10"));
    funded.principal = Some(sign_principal(&required.principal_auth.unwrap()));
    funded.charge = Some(charge);
    Ok(process.run(funded).await?.state)
}

#[tokio::test(start_paused = true)]
async fn the_principal_leaves_the_owner_the_price_of_the_call() {
    let rest = U256::from(990_000_000);
    let charge = |chain_id, token, amount| Charge {
        chain_id,
        token,
        amount,
    };
    let world = World::new();
    let too_much = charge(196, xlayer::USDG, rest + U256::ONE);
    let refused = deposit(&world, too_much).await.unwrap_err();
    assert_eq!(reason(&refused), "principal_auth.authorization.value");
    assert!(refused.to_string().contains("keeps 990000001"), "{refused}");
    let left = balance(&world.xlayer, xlayer::USDG, owner().address());
    assert_eq!(left, 1_000_000_000);
    // A price in another token, or on another chain, does not come from this balance.
    for fits in [
        charge(196, xlayer::USDG, rest),
        charge(196, xlayer::USDT0, rest + U256::ONE),
        charge(8453, xlayer::USDG, rest + U256::ONE),
    ] {
        let done = deposit(&World::new(), fits).await;
        assert_eq!(done, Ok(State::Completed), "{fits:?}");
    }
}

fn funder(of_owner: u64) -> Funder {
    Funder {
        account: GAS_PAYER.address,
        most_wei: U256::from(10_u64.pow(17)),
        of_owner,
        of_all: 1_000_000,
        of_chain_wei: U256::MAX,
    }
}

#[tokio::test(start_paused = true)]
async fn gas_is_topped_up_within_the_budgets_and_the_principal_never_pays_for_it() {
    let world = World::with_coins(U256::ZERO);
    // Without a price, a coin of X Layer counts as a thousand dollars. The gas of a deposit then
    // counts as about a tenth of a dollar.
    world.xlayer.set_base_fee(90_000_000);
    move_tokens(
        &world.xlayer,
        xlayer::USDG,
        owner().address(),
        wallet(),
        50_000_000,
    );
    let refused = world
        .process()
        .run(order(1, invest("10")))
        .await
        .unwrap_err();
    assert_eq!(reason(&refused), "no_gas_account");

    *world.funder.lock().unwrap() = Some(funder(250_000));
    // The owner's payments limit its top-ups. The payment of this call counts.
    *world.paid.lock().unwrap() = 0;
    let poor = world.process().run(order(1, invest("10"))).await.unwrap();
    assert_eq!(
        (poor.state, poor.halted.as_deref()),
        (State::Failed, Some("coin_price_unavailable"))
    );
    assert!(!poor.has_effect());
    // With a known price, the reason is the exhausted budget.
    *world.prices.lock().unwrap() = Some(1_000);
    let poor = world.process().run(order(1, invest("10"))).await.unwrap();
    assert_eq!(poor.halted.as_deref(), Some("gas_budget_exhausted"));
    assert!(world.book.all().is_empty());

    *world.paid.lock().unwrap() = 1_000_000;
    let process = world.process();
    let done = process.run(order(1, invest("10"))).await.unwrap();
    assert_eq!(done.state, State::Completed, "{done:#?}");
    assert_eq!(balance(&world.xlayer, xlayer::USDG, wallet()), 40_000_000);
    let given: Vec<_> = world.book.all().iter().map(|it| it.micro_usd).collect();
    assert!(
        !given.is_empty() && given.iter().sum::<u64>() <= 250_000,
        "{given:?}"
    );
    for number in 2..9 {
        let next = process.run(order(number, invest("0.1"))).await.unwrap();
        assert!([State::Completed, State::Failed].contains(&next.state));
        assert!(next.state == State::Completed || !next.has_effect());
    }
    let given: u64 = world.book.all().iter().map(|it| it.micro_usd).sum();
    assert!(given <= 250_000, "{given}");
}

/// A payment counts once towards the gas of its action: by itself until it is settled, and as a
/// part of the sum afterwards.
#[tokio::test(start_paused = true)]
async fn the_price_of_a_settled_call_does_not_count_twice() {
    for (unsettled, state) in [(true, State::Completed), (false, State::Failed)] {
        let mut world = World::with_coins(U256::ZERO);
        world.unsettled = unsettled;
        *world.prices.lock().unwrap() = Some(1);
        *world.funder.lock().unwrap() = Some(funder(u64::MAX));
        let from = owner().address();
        move_tokens(&world.xlayer, xlayer::USDG, from, wallet(), 10_000_000);
        let ended = world.process().run(order(1, invest("10"))).await.unwrap();
        assert_eq!(ended.state, state, "{ended:#?}");
        let halted = (!unsettled).then_some("gas_budget_exhausted");
        assert_eq!(ended.halted.as_deref(), halted);
    }
}
