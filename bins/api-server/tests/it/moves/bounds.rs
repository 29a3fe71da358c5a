//! Tests of the limits of a move, of refused moves, and of the reading of a wallet.

use dev_chain::abi::{AavePool, TokenVault};
use dev_chain::xlayer::{self, A_USDG, AAVE_POOL, STATA_USDG, USDG};
use watch_server::{MoveState, Mover as _};
use yield_watch::{MoveOutcome, Position};

use crate::moves::stage::{LENT, THOUSAND, VAULT, World, mandate, moved, pools};

#[tokio::test(flavor = "multi_thread")]
async fn idle_money_goes_into_the_best_product_and_from_there_into_a_better_one() {
    let world = World::with(5 * THOUSAND).await;
    let process = world.process();
    let mandate = mandate("1000");
    world.yields.set(LENT, "4");
    let holdings = world.held(&process, &mandate).await;
    let idle = Position::Idle {
        idle_usd: "5000".parse().unwrap(),
    };
    assert_eq!(
        (holdings.position, holdings.reachable),
        (idle, pools(&[LENT, VAULT]))
    );
    let asked = world.proposal(&process, &mandate, 1).await.unwrap();
    assert_eq!(asked.to.pool, LENT);
    let outcome = process.run(&mandate, &asked).await;
    let (_, usd) = moved(&outcome);
    assert_eq!(usd, "1000");
    assert_eq!(world.balance(USDG), 4 * THOUSAND);
    assert!(world.balance(A_USDG).abs_diff(THOUSAND) <= 1);
    assert_eq!(world.sent(), 2);
    // The same key again gives the same outcome, and moves nothing.
    assert_eq!(
        process.mover.propose(&mandate, &asked).await,
        Ok(MoveState::Ended(outcome))
    );
    // The money beyond the bound is still idle, and moves next.
    let holdings = world.held(&process, &mandate).await;
    let left = Position::Idle {
        idle_usd: "4000".parse().unwrap(),
    };
    assert_eq!(holdings.position, left);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_better_vault_takes_at_most_the_bound_out_of_the_market() {
    let world = World::with(THOUSAND).await;
    let process = world.process();
    world.yields.set(LENT, "4");
    let all = mandate("100000");
    let asked = world.proposal(&process, &all, 1).await.unwrap();
    moved(&process.run(&all, &asked).await);
    // No product is better by enough.
    assert_eq!(world.proposal(&process, &all, 3).await, None);
    world.yields.set(VAULT, "6");
    world.prices.set(Some("0.9998"));
    let some = mandate("250");
    let asked = world.proposal(&process, &some, 5).await.unwrap();
    assert_eq!(
        (
            asked.from.as_ref().unwrap().pool.as_str(),
            asked.to.pool.as_str()
        ),
        (LENT, VAULT)
    );
    let (_, usd) = moved(&process.run(&some, &asked).await);
    assert_eq!(usd, "249.999999");
    // 250 dollars at 0.9998 are 250.050010 tokens.
    assert!(
        world.in_vault().abs_diff(250_050_010) <= 2,
        "{}",
        world.in_vault()
    );
    assert!(
        world.balance(A_USDG).abs_diff(749_949_990) <= 50,
        "{}",
        world.balance(A_USDG)
    );
    assert_eq!(world.balance(USDG), 0);
    // The wallet has money in two products, and the money in the one that yields less moves next.
    // After that move no shares of it are left.
    let holdings = world.held(&process, &all).await;
    assert_eq!(holdings.position.pool().unwrap().pool, LENT);
    let asked = world.proposal(&process, &all, 7).await.unwrap();
    moved(&process.run(&all, &asked).await);
    assert_eq!((world.balance(A_USDG), world.balance(USDG)), (0, 0));
    // The money moves back when the market is better again.
    world.yields.set(LENT, "8");
    let asked = world.proposal(&process, &some, 9).await.unwrap();
    let (_, usd) = moved(&process.run(&some, &asked).await);
    assert_eq!(usd, "249.999999");
    assert!(world.balance(A_USDG).abs_diff(250_050_010) <= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_that_is_paused_is_refused_by_name_and_the_money_stays() {
    let world = World::with(THOUSAND).await;
    let process = world.process();
    let mandate = mandate("1000");
    world.yields.set(LENT, "4");
    let asked = world.proposal(&process, &mandate, 1).await.unwrap();
    let pause = |on| AavePool::setPausedCall { asset: USDG, on };
    world.act(AAVE_POOL, &pause(true));
    let refused = MoveOutcome::Refused {
        reason: "product_paused".to_owned(),
    };
    assert_eq!(process.run(&mandate, &asked).await, refused);
    // The refusal is final: another check asks for another move.
    world.act(AAVE_POOL, &pause(false));
    assert_eq!(process.run(&mandate, &asked).await, refused);
    assert_eq!((world.balance(USDG), world.sent()), (THOUSAND, 0));

    let asked = world.proposal(&process, &mandate, 3).await.unwrap();
    moved(&process.run(&mandate, &asked).await);
    // Money does not leave a product when the better one takes no deposit.
    world.yields.set(VAULT, "6");
    let asked = world.proposal(&process, &mandate, 5).await.unwrap();
    world.act(STATA_USDG, &TokenVault::setPausedCall { on: true });
    assert_eq!(process.run(&mandate, &asked).await, refused);
    assert!(world.balance(A_USDG).abs_diff(THOUSAND) <= 1);
    world.act(STATA_USDG, &TokenVault::setPausedCall { on: false });
    // Money does not leave for a product whose fee exceeds the allowed slippage.
    let asked = world.proposal(&process, &mandate, 7).await.unwrap();
    let fees = TokenVault::setFeesCall {
        onDeposit: alloy_primitives::U256::from(60),
        onWithdrawal: alloy_primitives::U256::ZERO,
    };
    world.act(STATA_USDG, &fees);
    let refused = MoveOutcome::Refused {
        reason: "slippage_above_limit".to_owned(),
    };
    assert_eq!(process.run(&mandate, &asked).await, refused);
    assert_eq!(world.balance(USDG), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_assets_stale_prices_and_passed_times_move_nothing() {
    let world = World::holding(&[(USDG, THOUSAND), (xlayer::USDT0, 500_000)]).await;
    let process = world.process();
    let mandate = mandate("1000");
    world.yields.set(LENT, "4");
    let asked = world.proposal(&process, &mandate, 1).await.unwrap();
    // The best of all markets takes another asset, and the wallet holds less than a dollar of it.
    assert_eq!(asked.to.pool, LENT);
    moved(&process.run(&mandate, &asked).await);
    world.yields.set(VAULT, "6");
    let mut other = world.proposal(&process, &mandate, 3).await.unwrap();
    other.to.pool = crate::moves::stage::LENT_USDT0.to_owned();
    let refused = |reason: &str| MoveOutcome::Refused {
        reason: reason.to_owned(),
    };
    assert_eq!(process.run(&mandate, &other).await, refused("other_asset"));
    let mut nowhere = world.proposal(&process, &mandate, 5).await.unwrap();
    nowhere.to.pool = "nobody's pool".to_owned();
    assert_eq!(
        process.run(&mandate, &nowhere).await,
        refused("no_such_product")
    );

    // Without a price the move is not judged; it begins once there is a price.
    let asked = world.proposal(&process, &mandate, 7).await.unwrap();
    world.prices.set(None);
    let markets = world.markets();
    let reason = "price_unavailable";
    let unread = process.mover.held(&mandate, &markets).await.unwrap_err();
    assert_eq!(unread.reason, reason);
    let unread = process.mover.propose(&mandate, &asked).await.unwrap_err();
    assert_eq!(unread.reason, reason);
    assert_eq!(process.mover.state(&asked.key).await, Ok(None));
    world.prices.set(Some("1"));
    world.pass(crate::moves::stage::FRESH);
    assert_eq!(
        process.run(&mandate, &asked).await,
        refused("deadline_passed")
    );
    // The position has earned meanwhile.
    assert!(world.balance(A_USDG).abs_diff(THOUSAND) <= 10_000);
    assert_eq!(world.in_vault(), 0);

    // A position without a stated yield stays where it is.
    let markets: Vec<_> = markets
        .into_iter()
        .filter(|market| market.pool != LENT)
        .collect();
    let unread = process.mover.held(&mandate, &markets).await.unwrap_err();
    assert_eq!(unread.reason, "position_yield_unknown");
}
