//! The cost of a plan's gas, and its payer.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::{SolCall as _, sol};
use calldata_checks::{BasisPoints, Decimal};
use delegation_fence::{Admitted, PlanWorth, Rates, State};
use dev_chain::rollup::GAS_PRICE_ORACLE;
use dev_chain::{DEV_ACCOUNTS, base};
use fence_server::{PortError, PortFuture, Prices};
use gas_funding::Funder;
use serde_json::json;
use test_support::{Fuse, pass};

use crate::sample::USDC;
use crate::stage::{AMOUNT, World, wallet};

sol! {
    function transfer(address to, uint256 value) external returns (bool);
}

/// The chain's coin at 2,500 dollars.
struct Coin;

impl Prices for Coin {
    fn worth<'a>(&'a self, _: &'a Admitted) -> PortFuture<'a, Result<PlanWorth, PortError>> {
        Box::pin(async {
            let rates = Rates {
                input_usd: "0.0001".parse().unwrap(),
                input_decimals: 6,
                output_usd: "2500".parse().unwrap(),
                output_decimals: 18,
            };
            Ok(PlanWorth::Judged {
                rates,
                holds: Ok(()),
            })
        })
    }

    fn max_deviation(&self) -> BasisPoints {
        BasisPoints::new(9_999).unwrap()
    }

    fn native_usd(&self) -> PortFuture<'_, Result<Decimal, PortError>> {
        Box::pin(async { Ok("2500".parse().unwrap()) })
    }
}

fn micro_usd(wei: U256) -> u64 {
    let micro = (wei * U256::from(2_500_000_000_u64)).div_ceil(U256::from(10_u64.pow(18)));
    micro.to()
}

pub(crate) fn funder(most_wei: u64, of_owner: u64) -> Funder {
    Funder {
        account: DEV_ACCOUNTS[2].address,
        most_wei: U256::from(most_wei),
        of_owner,
        of_all: u64::MAX,
        of_chain_wei: U256::MAX,
    }
}

/// An account without coins.
pub(crate) fn empty() -> World {
    World::with(|builder| builder.account(wallet().address(), U256::ZERO))
}

/// Returns the cost of the account's transactions on the chain.
fn spent(world: &World, before: U256) -> U256 {
    before - world.chain.native_balance(wallet().address())
}

#[tokio::test(start_paused = true)]
async fn an_account_without_tokens_sends_nothing() {
    let away = transferCall {
        to: DEV_ACCOUNTS[3].address,
        value: U256::from(base::USDC_FUNDS),
    };
    let world =
        World::with(|builder| builder.call(wallet().address(), USDC, away.abi_encode().into()));
    let plan = world.accept();
    let _process = world.process(Fuse::eternal()).await;
    assert_eq!(world.ended(plan).await, State::HaltedClean);
    let report = world.report(plan);
    assert_eq!(report.reason, Some("balance_too_low"));
    assert!(world.chain.transactions().is_empty());
}

/// The estimate of a plan is for usual times: afterwards its real cost counts in the budget.
#[tokio::test(start_paused = true)]
async fn a_plan_counts_with_what_its_gas_has_cost() {
    let mut costs = Vec::new();
    for times in [1_u64, 100] {
        let mut world = World::with(|builder| builder.base_fee(20_000_000 * times));
        world.prices = Some(Arc::new(Coin));
        let before = world.chain.native_balance(wallet().address());
        let plan = world.accept();
        let _process = world.process(Fuse::eternal()).await;
        assert_eq!(world.ended(plan).await, State::Done);
        let kept = world.store.kept(plan).unwrap();
        assert_eq!(kept.gas_micro_usd, micro_usd(spent(&world, before)));
        costs.push(kept.gas_micro_usd);
    }
    assert!(costs[1] > costs[0] * 10, "{costs:?}");
}

/// Coins that an account received and did not use are a cost of the service as well.
#[tokio::test(start_paused = true)]
async fn a_top_up_counts_whole() {
    let mut world = empty();
    world.prices = Some(Arc::new(Coin));
    world.coin_usd = Some(2_500);
    world.funder = Some(funder(u64::MAX, u64::MAX));
    let before = world.chain.native_balance(DEV_ACCOUNTS[2].address);
    let plan = world.accept();
    let _process = world.process(Fuse::eternal()).await;
    assert_eq!(world.ended(plan).await, State::Done);
    let given = before - world.chain.native_balance(DEV_ACCOUNTS[2].address);
    assert!(world.chain.native_balance(wallet().address()) > U256::ZERO);
    let kept = world.store.kept(plan).unwrap();
    assert_eq!(kept.gas_micro_usd, micro_usd(given));
}

#[tokio::test(start_paused = true)]
async fn top_ups_stop_at_the_budget_of_the_day() {
    let mut world = empty();
    world.prices = Some(Arc::new(Coin));
    world.coin_usd = Some(2_500);
    world.funder = Some(funder(u64::MAX, 1));
    let plan = world.accept();
    let _process = world.process(Fuse::eternal()).await;
    assert_eq!(world.ended(plan).await, State::HaltedClean);
    assert_eq!(world.report(plan).reason, Some("plan_expired"));
    assert!(world.chain.transactions().is_empty());
}

/// The fees of the chain are not what its contract states. The refusal of the node names the
/// balance that it demands, and the account gets it for every step.
#[tokio::test(start_paused = true)]
async fn coins_that_only_a_refusal_names_come_in_another_top_up() {
    let mut world = empty();
    world.coin_usd = Some(2_500);
    world.funder = Some(funder(u64::MAX, u64::MAX));
    // A hundredth of a coin.
    let data = U256::from(10_u64.pow(16));
    world.chain.set_rollup_fees(data, U256::ZERO).unwrap();
    world.instead(|request| {
        let to: Option<Address> = request["params"][0]["to"].as_str()?.parse().ok();
        let hidden = request["method"] == "eth_call" && to == Some(GAS_PRICE_ORACLE);
        hidden.then(|| json!({ "result": B256::ZERO }))
    });
    let plan = world.accept();
    let _process = world.process(Fuse::eternal()).await;
    assert_eq!(world.ended(plan).await, State::Done);
    assert!(world.book.all().len() > 1, "{:?}", world.book.all());
}

/// The owner's payments bound the top-ups for its plans, as they do for its actions.
#[tokio::test(start_paused = true)]
async fn top_ups_stop_at_what_the_owner_has_paid() {
    for (paid, ends) in [(1, State::HaltedClean), (u64::MAX, State::Done)] {
        let mut world = empty();
        world.coin_usd = Some(2_500);
        world.funder = Some(funder(u64::MAX, u64::MAX));
        world.paid = paid;
        let plan = world.accept();
        let _process = world.process(Fuse::eternal()).await;
        assert_eq!(world.ended(plan).await, ends, "{paid}");
        assert_eq!(world.book.all().is_empty(), paid == 1);
    }
}

/// Without a price, a coin counts with its highest possible price: ten thousand dollars.
#[tokio::test(start_paused = true)]
async fn coins_without_a_price_pass_no_budget() {
    let mut given = Vec::new();
    for coin_usd in [Some(10_000), None] {
        let mut world = empty();
        world.coin_usd = coin_usd;
        world.funder = Some(funder(u64::MAX, u64::MAX));
        let plan = world.accept();
        let _process = world.process(Fuse::eternal()).await;
        assert_eq!(world.ended(plan).await, State::Done);
        given.push(world.book.all()[0].micro_usd);
    }
    assert_eq!(given[0], given[1]);
}

#[tokio::test(start_paused = true)]
async fn with_an_exhausted_funder_nothing_is_sent() {
    let mut world = World::with(|builder| {
        builder
            .account(wallet().address(), U256::ZERO)
            .account(DEV_ACCOUNTS[2].address, U256::ONE)
    });
    world.funder = Some(funder(u64::MAX, u64::MAX));
    let plan = world.accept();
    let _process = world.process(Fuse::eternal()).await;
    assert_eq!(world.ended(plan).await, State::HaltedClean);
    assert!(world.chain.transactions().is_empty());
}

/// The account's coins are gone when its allowance must be cleared, long after the end of the plan.
/// Top-ups for the steps do not reduce the top-ups for the clearing.
#[tokio::test(start_paused = true)]
async fn a_clearing_is_paid_for_after_the_plans_end() {
    let mut world = World::new();
    world.funder = Some(funder(10_u64.pow(16), u64::MAX));
    let plan = world.accept();
    let fuse = Fuse::eternal();
    let process = world.process(Arc::clone(&fuse)).await;
    world
        .until("the approval", |world| {
            world.allowance() == U256::from(AMOUNT)
        })
        .await;
    fuse.blow();
    drop(process);
    // Somebody took the earlier coins; later ones stay.
    let (chain, account) = (world.chain.clone(), wallet().address());
    let taken = chain.native_balance(account);
    world.instead(move |request| {
        let asked: Option<Address> = request["params"][0].as_str()?.parse().ok();
        let left = chain.native_balance(account).saturating_sub(taken);
        (request["method"] == "eth_getBalance" && asked == Some(account))
            .then(|| json!({ "result": left }))
    });
    pass(Duration::from_secs(200)).await;
    let _process = world.process(Fuse::eternal()).await;
    assert_eq!(world.ended(plan).await, State::HaltedClean);
    assert_eq!((world.allowance(), world.swaps()), (U256::ZERO, 0));
}

/// The account has lost its coins, and the gas account has none for it. The allowance is reported,
/// and the account's turn is free. When there are coins, the allowance is cleared.
#[tokio::test(start_paused = true)]
async fn a_clearing_whose_coins_never_come_is_reported() {
    let mut world = World::with(|builder| builder.account(DEV_ACCOUNTS[2].address, U256::ONE));
    world.funder = Some(funder(u64::MAX, u64::MAX));
    let plan = world.accept();
    let process = world.process(Fuse::eternal()).await;
    world
        .until("the approval", |world| {
            world.allowance() == U256::from(AMOUNT)
        })
        .await;
    let account = wallet().address();
    world.instead(move |request| {
        let asked: Option<Address> = request["params"][0].as_str()?.parse().ok();
        (request["method"] == "eth_getBalance" && asked == Some(account))
            .then(|| json!({ "result": "0x0" }))
    });
    world.revoke();
    world
        .until("the report", |world| {
            world.state(plan) == State::HaltedDirty
        })
        .await;
    let report = world.report(plan);
    assert!(report.clear_transaction.is_some());
    assert_eq!(report.allowance_read_back.unwrap().0, U256::from(AMOUNT));
    assert_eq!(world.book.all().len(), 1);
    // The coins are still on their way, and other work of the account gets its turns.
    for _ in 0..3 {
        let turn = process.turns.take(account, "other");
        let turn = tokio::time::timeout(Duration::from_secs(5), turn).await;
        turn.unwrap().end().await;
        pass(Duration::from_secs(10)).await;
    }
    world.instead(|_| None);
    assert_eq!(world.ended(plan).await, State::HaltedClean);
    assert_eq!((world.allowance(), world.swaps()), (U256::ZERO, 0));
}
