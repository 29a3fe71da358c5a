//! Tests of deposits into an Aave market and a vault, of their withdrawals, and of markets and
//! vaults that must be refused.

use alloy_primitives::U256;
use dev_chain::abi::{AavePool, TokenVault};
use dev_chain::{MINTER, xlayer};
use test_support::eventually;
use wallet_actions::{Action, DivestOrder, Intent, InvestOrder, Size, State};

use crate::funds::invest;
use crate::stage::{Process, World, balance, move_tokens, order, owner, reason, steps, wallet};

const FUNDS: u64 = 100_000_000;

pub(crate) fn vault(amount: &str) -> Action {
    Action::Invest(InvestOrder {
        chain_id: 196,
        protocol: "erc4626".to_owned(),
        asset: "USDG".to_owned(),
        amount: amount.to_owned(),
        product_id: None,
        min_shares: None,
    })
}

pub(crate) fn divest(product: &str, size: Size) -> Action {
    Action::Divest(DivestOrder {
        product: product.to_owned(),
        size,
    })
}

fn ratio(text: &str) -> Size {
    Size::Ratio(text.to_owned())
}

fn stage() -> (World, Process) {
    let world = World::new();
    move_tokens(
        &world.xlayer,
        xlayer::USDG,
        owner().address(),
        wallet(),
        FUNDS,
    );
    let process = world.process();
    (world, process)
}

fn act(world: &World, call: &impl alloy_sol_types::SolCall, to: alloy_primitives::Address) {
    world.xlayer.call_as(MINTER.address, to, call).unwrap();
    for _ in 0..2 {
        world.xlayer.mine();
    }
}

#[tokio::test(start_paused = true)]
async fn a_market_accepts_a_deposit_and_pays_all_of_it_back() {
    let (world, process) = stage();
    let done = process.run(order(1, invest("40"))).await.unwrap();
    assert_eq!(done.state, State::Completed, "{done:#?}");
    assert_eq!(steps(&done), ["approve success", "call success"]);
    assert!(balance(&world.xlayer, xlayer::A_USDG, wallet()) >= 39_999_999);
    assert_eq!(
        world
            .xlayer
            .allowance(xlayer::USDG, wallet(), xlayer::AAVE_POOL)
            .unwrap(),
        U256::ZERO
    );
    let part = process
        .run(order(2, divest("aave-usdg", ratio("0.25"))))
        .await
        .unwrap();
    assert_eq!(part.state, State::Completed, "{part:#?}");
    // This is the id of the position in /yield-farming-active.
    let rest = process
        .run(order(3, divest("196-aave-v3-usdg", ratio("1"))))
        .await
        .unwrap();
    assert_eq!(rest.state, State::Completed, "{rest:#?}");
    assert_eq!(balance(&world.xlayer, xlayer::A_USDG, wallet()), 0);
    assert!(balance(&world.xlayer, xlayer::USDG, wallet()) >= FUNDS - 2);
    let none = process
        .run(order(4, divest("aave-usdg", ratio("1"))))
        .await
        .unwrap_err();
    assert_eq!(reason(&none), "no_such_position");
}

#[tokio::test(start_paused = true)]
async fn a_market_that_does_not_take_it_is_refused_by_name() {
    let (world, process) = stage();
    let asset = xlayer::USDG;
    let pool = xlayer::AAVE_POOL;
    let refused = async |expected: &str| {
        let refused = process.run(order(1, invest("10"))).await.unwrap_err();
        assert_eq!(reason(&refused), expected);
    };
    act(&world, &AavePool::setPausedCall { asset, on: true }, pool);
    refused("product_paused").await;
    act(&world, &AavePool::setPausedCall { asset, on: false }, pool);
    act(&world, &AavePool::setFrozenCall { asset, on: true }, pool);
    refused("product_frozen").await;
    act(&world, &AavePool::setFrozenCall { asset, on: false }, pool);
    act(&world, &AavePool::setActiveCall { asset, on: false }, pool);
    refused("product_inactive").await;
    act(&world, &AavePool::setActiveCall { asset, on: true }, pool);
    act(
        &world,
        &AavePool::setSupplyCapCall {
            asset,
            wholeTokens: U256::from(1_000_005),
        },
        pool,
    );
    refused("product_at_cap").await;
    assert!(world.store.all().is_empty());
    let done = process.run(order(1, invest("4"))).await.unwrap();
    assert_eq!(done.state, State::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_market_that_closes_after_the_approval_leaves_no_allowance() {
    let (world, process) = stage();
    let asset = xlayer::USDG;
    let begun = Box::pin(process.actions.begin(&order(1, invest("10"))))
        .await
        .unwrap();
    let approved = async || {
        let intent = process.actions.find(&begun.id).await.unwrap();
        intent.filter(Intent::has_effect)
    };
    eventually("the approval stands", approved).await;
    act(
        &world,
        &AavePool::setPausedCall { asset, on: true },
        xlayer::AAVE_POOL,
    );
    let ended = process.end(&begun).await;
    assert_eq!(ended.state, State::Failed, "{ended:#?}");
    assert!(ended.has_effect());
    assert_eq!(steps(&ended).last().unwrap(), "clear success");
    let left = world
        .xlayer
        .allowance(asset, wallet(), xlayer::AAVE_POOL)
        .unwrap();
    assert_eq!(left, U256::ZERO);
    assert_eq!(balance(&world.xlayer, asset, wallet()), FUNDS);
}

#[tokio::test(start_paused = true)]
async fn a_vault_accepts_a_deposit_above_its_floor_and_pays_it_back() {
    let (world, process) = stage();
    let done = process.run(order(1, vault("50"))).await.unwrap();
    assert_eq!(done.state, State::Completed, "{done:#?}");
    let shares = balance(&world.xlayer, xlayer::STATA_USDG, wallet());
    // A hundred shares are worth 105 tokens.
    assert!((47_619_000..=47_619_048).contains(&shares), "{shares}");
    let part = process
        .run(order(
            2,
            divest("stata-usdg", Size::Amount("10".to_owned())),
        ))
        .await;
    assert_eq!(part.unwrap().state, State::Completed);
    assert_eq!(balance(&world.xlayer, xlayer::USDG, wallet()), 60_000_000);
    let rest = process
        .run(order(3, divest("stata-usdg", ratio("1"))))
        .await
        .unwrap();
    assert_eq!(rest.state, State::Completed, "{rest:#?}");
    assert_eq!(balance(&world.xlayer, xlayer::STATA_USDG, wallet()), 0);
}

#[tokio::test(start_paused = true)]
async fn the_traps_of_vaults_are_refused_before_signing() {
    let (world, process) = stage();
    let to = xlayer::STATA_USDG;
    let refused = async |action, expected: &str| {
        let refused = process.run(order(1, action)).await.unwrap_err();
        assert_eq!(reason(&refused), expected);
    };
    act(&world, &TokenVault::setPausedCall { on: true }, to);
    refused(vault("10"), "product_paused").await;
    act(&world, &TokenVault::setPausedCall { on: false }, to);
    let cap = U256::from(105_009_000_000_u64);
    act(&world, &TokenVault::setCapCall { assets: cap }, to);
    refused(vault("10"), "product_at_cap").await;
    act(&world, &TokenVault::setCapCall { assets: U256::ZERO }, to);
    // The preview promises more than the deposit gives. The simulation of the deposit shows it.
    act(
        &world,
        &TokenVault::setLieCall {
            basisPoints: U256::from(50),
        },
        to,
    );
    refused(vault("10"), "preview_below_minimum").await;
    act(
        &world,
        &TokenVault::setLieCall {
            basisPoints: U256::ZERO,
        },
        to,
    );
    let mut greedy = vault("10");
    if let Action::Invest(asked) = &mut greedy {
        asked.min_shares = Some("9.6".to_owned());
    }
    refused(greedy, "preview_below_minimum").await;
    // A donation raises the worth of a share so far that a small deposit gets no shares.
    move_tokens(
        &world.xlayer,
        xlayer::USDG,
        xlayer::DEX_ROUTER,
        to,
        999_000_000_000,
    );
    refused(vault("0.000009"), "preview_zero_shares").await;
    assert!(world.store.all().is_empty());
    let unknown = divest("nothing", ratio("1"));
    refused(unknown, "no_such_position").await;
    refused(divest("stata-usdg", ratio("0")), "no_such_position").await;
}

#[tokio::test(start_paused = true)]
async fn the_slippage_limit_of_an_order_includes_the_fees_of_a_vault() {
    let (world, process) = stage();
    let within = |number, action, bps| wallet_actions::Order {
        max_slippage_bps: Some(bps),
        ..order(number, action)
    };
    let fees = |deposit: u64, withdrawal: u64| TokenVault::setFeesCall {
        onDeposit: U256::from(deposit),
        onWithdrawal: U256::from(withdrawal),
    };
    act(&world, &fees(20, 20), xlayer::STATA_USDG);
    let refused = process.run(within(1, vault("40"), 19)).await.unwrap_err();
    assert_eq!(reason(&refused), "slippage_above_limit");
    let (above, below) = (within(1, vault("40"), 19), within(1, vault("40"), 21));
    let judged = process.actions.judge_deposit(&above).await.unwrap_err();
    assert_eq!(reason(&judged), "slippage_above_limit");
    assert_eq!(process.actions.judge_deposit(&below).await, Ok(()));
    let done = process.run(within(2, vault("40"), 21)).await.unwrap();
    assert_eq!(done.state, State::Completed, "{done:#?}");
    for size in [ratio("0.5"), ratio("1"), Size::Amount("10".to_owned())] {
        let out = divest("stata-usdg", size);
        let refused = process.run(within(3, out, 10)).await.unwrap_err();
        assert_eq!(reason(&refused), "slippage_above_limit");
    }
    let out = divest("stata-usdg", Size::Amount("10".to_owned()));
    let done = process.run(within(4, out, 30)).await.unwrap();
    assert_eq!(done.state, State::Completed, "{done:#?}");
    let call = &done.steps[0];
    assert!(call.returns_at_most.is_some());
    let done = process
        .run(within(5, divest("stata-usdg", ratio("1")), 30))
        .await
        .unwrap();
    assert_eq!(done.state, State::Completed, "{done:#?}");
}

#[tokio::test(start_paused = true)]
async fn positions_are_read_by_product_and_idle_money_by_asset() {
    let (_world, process) = stage();
    let owner = crate::stage::owner_id();
    assert_eq!(process.actions.positions(owner).await.unwrap(), []);
    let idle = process.actions.idle(owner).await.unwrap();
    assert_eq!(idle.len(), 1);
    assert_eq!(
        (idle[0].asset, idle[0].atoms),
        (xlayer::USDG, U256::from(FUNDS))
    );
    process.run(order(1, invest("40"))).await.unwrap();
    process.run(order(2, vault("30"))).await.unwrap();
    let positions = process.actions.positions(owner).await.unwrap();
    let told: Vec<_> = positions
        .iter()
        .map(|position| {
            (
                position.product.product_id.as_str(),
                position.assets.to::<u64>(),
            )
        })
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    for (product, assets) in [("aave-usdg", 40_000_000_u64), ("stata-usdg", 30_000_000)] {
        let held = told.iter().find(|(id, _)| *id == product).unwrap().1;
        assert!(held.abs_diff(assets) <= 100, "{product}: {held}");
    }
    let idle = process.actions.idle(owner).await.unwrap();
    assert_eq!(idle[0].atoms, U256::from(30_000_000));
    assert_eq!(process.actions.busy(owner).await.unwrap(), None);
}
