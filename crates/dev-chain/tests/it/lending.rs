//! The lending market: the effects of a supply and a withdrawal, and all of their failures.

use alloy_primitives::{Address, U256, fixed_bytes};
use alloy_sol_types::{SolEvent, sol};
use dev_chain::{
    DevChain, MINTER, USDC, USDG, USDT0,
    abi::{AaveDataProvider, AavePool, AaveToken},
    xlayer::{A_USDG, AAVE_DATA_PROVIDER, AAVE_POOL, INDEX, SUPPLIED, SUPPLY_CAP, WOKB},
};

use crate::{
    plan::{HOLDER, Step, approve, balance, refusal, selector_of, submit},
    support::NOW,
};

sol! {
    error ReservePaused();
}

/// 100 USDG.
const AMOUNT: u64 = 100_000_000;

fn stage() -> DevChain {
    DevChain::builder()
        .xlayer_stage()
        .clock(|| NOW)
        .build()
        .unwrap()
}

fn supply(amount: u64) -> AavePool::supplyCall {
    AavePool::supplyCall {
        asset: USDG,
        amount: U256::from(amount),
        onBehalfOf: HOLDER.address,
        referralCode: 0,
    }
}

fn withdraw(amount: U256) -> AavePool::withdrawCall {
    AavePool::withdrawCall {
        asset: USDG,
        amount,
        to: HOLDER.address,
    }
}

/// A stage on which the account has supplied.
fn supplied(amount: u64) -> DevChain {
    let chain = stage();
    submit(&chain, HOLDER, &approve(USDG, AAVE_POOL, amount));
    submit(&chain, HOLDER, &Step::new(AAVE_POOL, &supply(amount)));
    chain
}

/// Calls a switch of the pool.
fn set(chain: &DevChain, call: &impl alloy_sol_types::SolCall) {
    chain.call_as(MINTER.address, AAVE_POOL, call).unwrap();
}

fn reserve(chain: &DevChain, asset: Address) -> AavePool::ReserveData {
    chain
        .view(AAVE_POOL, &AavePool::getReserveDataCall { asset })
        .unwrap()
}

#[test]
fn the_interface_is_the_deployed_one() {
    let check = |observed, expected| assert_eq!(observed, expected);
    check(
        selector_of::<AavePool::supplyCall>(),
        fixed_bytes!("617ba037"),
    );
    check(
        selector_of::<AavePool::withdrawCall>(),
        fixed_bytes!("69328dec"),
    );
    check(
        selector_of::<AavePool::getReserveDataCall>(),
        fixed_bytes!("35ea6a75"),
    );
    check(
        selector_of::<AavePool::getUserAccountDataCall>(),
        fixed_bytes!("bf92857c"),
    );
    check(
        selector_of::<AaveDataProvider::getUserReserveDataCall>(),
        fixed_bytes!("28dd2d01"),
    );
    check(
        selector_of::<AaveDataProvider::getReserveConfigurationDataCall>(),
        fixed_bytes!("3e150141"),
    );
}

#[test]
fn a_reserve_states_its_configuration_in_bits_and_in_words() {
    let chain = stage();
    let bits = |chain: &DevChain, at: usize, width: usize| {
        let mask = (U256::ONE << width) - U256::ONE;
        (reserve(chain, USDG).configuration >> at) & mask
    };
    // The fields of the configuration: decimals, active, frozen, borrowing, paused, supply cap.
    let read = |chain: &DevChain| {
        [(48, 8), (56, 1), (57, 1), (58, 1), (60, 1), (116, 36)]
            .map(|(at, width)| u64::try_from(bits(chain, at, width)).unwrap())
    };
    assert_eq!(read(&chain), [6, 1, 0, 1, 0, SUPPLY_CAP]);
    let data = reserve(&chain, USDG);
    assert_eq!((data.aTokenAddress, data.liquidityIndex), (A_USDG, INDEX));
    assert_eq!(
        data.currentLiquidityRate,
        35_000_000_000_000_000_000_000_000
    );
    assert_eq!(reserve(&chain, WOKB).configuration, U256::ZERO);

    let asset = USDG;
    set(&chain, &AavePool::setFrozenCall { asset, on: true });
    set(&chain, &AavePool::setPausedCall { asset, on: true });
    set(
        &chain,
        &AavePool::setSupplyCapCall {
            asset,
            wholeTokens: U256::from(7),
        },
    );
    assert_eq!(read(&chain), [6, 1, 1, 1, 1, 7]);
    set(&chain, &AavePool::setActiveCall { asset, on: false });
    assert_eq!(read(&chain), [6, 0, 1, 1, 1, 7]);

    let provider = AAVE_DATA_PROVIDER;
    let words = chain.view(
        provider,
        &AaveDataProvider::getReserveConfigurationDataCall { asset },
    );
    let words = words.unwrap();
    assert_eq!(
        (words.decimals, words.isActive, words.isFrozen),
        (U256::from(6), false, true)
    );
    assert!(
        chain
            .view(provider, &AaveDataProvider::getPausedCall { asset })
            .unwrap()
    );
    let caps = chain
        .view(provider, &AaveDataProvider::getReserveCapsCall { asset })
        .unwrap();
    assert_eq!(
        (caps.borrowCap, caps.supplyCap),
        (U256::ZERO, U256::from(7))
    );
    let tokens = AaveDataProvider::getReserveTokensAddressesCall { asset };
    assert_eq!(chain.view(provider, &tokens).unwrap().aToken, A_USDG);
    // A token that is not a reserve has zeros, and a position in it reverts.
    let asset = WOKB;
    let words = chain.view(
        provider,
        &AaveDataProvider::getReserveConfigurationDataCall { asset },
    );
    let words = words.unwrap();
    assert!(words.decimals.is_zero() && !words.isActive);
    let user = HOLDER.address;
    let position = AaveDataProvider::getUserReserveDataCall { asset, user };
    assert!(chain.view(provider, &position).is_err());
}

#[test]
fn a_position_earns_with_the_time_and_is_withdrawn_whole() {
    let chain = supplied(AMOUNT);
    let before = balance(&chain, USDG, HOLDER.address);
    let position = || u64::try_from(balance(&chain, A_USDG, HOLDER.address)).unwrap();
    // The index is odd: a supply may be one unit off.
    assert!(position().abs_diff(AMOUNT) <= 1, "{}", position());
    chain.advance_time(365 * 86_400);
    chain.mine();
    // The position earned 3.5 percent in a year.
    assert!(position().abs_diff(103_500_000) <= 1, "{}", position());
    // The stored index is that of the last update, the normalized one that of now.
    let income = AavePool::getReserveNormalizedIncomeCall { asset: USDG };
    let income = chain.view(AAVE_POOL, &income).unwrap();
    assert!(income > U256::from(reserve(&chain, USDG).liquidityIndex));
    let all = position();
    let receipt = submit(&chain, HOLDER, &Step::new(AAVE_POOL, &withdraw(U256::MAX)));
    let logs = receipt.inner.logs().iter();
    let mut own = logs.filter(|log| log.address() == AAVE_POOL);
    let event = own
        .find_map(|log| AavePool::Withdraw::decode_log(&log.inner).ok())
        .unwrap();
    assert_eq!(event.amount, U256::from(all));
    assert_eq!(position(), 0);
    assert_eq!(
        balance(&chain, USDG, HOLDER.address),
        before + U256::from(all)
    );
}

#[test]
fn some_amounts_come_back_one_unit_short() {
    let chain = stage();
    submit(&chain, HOLDER, &approve(USDG, AAVE_POOL, AMOUNT));
    let mut off = 0;
    for amount in [1_000_001_u64, 2_000_003, 3_000_007, 4_000_013] {
        let before = balance(&chain, A_USDG, HOLDER.address);
        submit(&chain, HOLDER, &Step::new(AAVE_POOL, &supply(amount)));
        let after = balance(&chain, A_USDG, HOLDER.address);
        let credited = u64::try_from(after - before).unwrap();
        assert!(credited.abs_diff(amount) <= 1);
        off += credited.abs_diff(amount);
    }
    assert!(off > 0, "the rounding shows");
}

#[test]
fn every_refusal_of_a_supply_has_its_code() {
    let chain = stage();
    let asset = USDG;
    submit(&chain, HOLDER, &approve(USDG, AAVE_POOL, AMOUNT));
    let refused = |amount| refusal(&chain, AAVE_POOL, &supply(amount));
    assert_eq!(refused(0), "26");
    assert_eq!(
        refused(AMOUNT + 1),
        "ERC20: transfer amount exceeds allowance"
    );
    set(&chain, &AavePool::setFrozenCall { asset, on: true });
    assert_eq!(refused(AMOUNT), "28");
    set(&chain, &AavePool::setPausedCall { asset, on: true });
    assert_eq!(refused(AMOUNT), "29");
    set(&chain, &AavePool::setActiveCall { asset, on: false });
    assert_eq!(refused(AMOUNT), "27");
    set(&chain, &AavePool::setActiveCall { asset, on: true });
    set(&chain, &AavePool::setPausedCall { asset, on: false });
    set(&chain, &AavePool::setFrozenCall { asset, on: false });
    // The cap is in whole tokens, and other accounts' supplies count.
    let whole = SUPPLIED / 1_000_000;
    let cap = |tokens: u64| {
        let call = AavePool::setSupplyCapCall {
            asset,
            wholeTokens: U256::from(tokens),
        };
        set(&chain, &call);
    };
    cap(whole + 99);
    assert_eq!(refused(AMOUNT), "51");
    cap(whole + 101);
    submit(&chain, HOLDER, &Step::new(AAVE_POOL, &supply(AMOUNT)));
    let unlisted = AavePool::supplyCall {
        asset: WOKB,
        ..supply(AMOUNT)
    };
    assert_eq!(refusal(&chain, AAVE_POOL, &unlisted), "27");
}

#[test]
fn every_refusal_of_a_withdrawal_has_its_code() {
    let chain = supplied(AMOUNT);
    let asset = USDG;
    let refused = |amount: u64| refusal(&chain, AAVE_POOL, &withdraw(U256::from(amount)));
    assert_eq!(refused(0), "26");
    assert_eq!(refused(AMOUNT + 5), "32");
    // Everything of an empty position is withdrawn.
    let none = AavePool::withdrawCall {
        asset: USDT0,
        ..withdraw(U256::MAX)
    };
    assert_eq!(refusal(&chain, AAVE_POOL, &none), "26");
    set(&chain, &AavePool::setPausedCall { asset, on: true });
    assert_eq!(refused(1_000), "29");
    set(&chain, &AavePool::setPausedCall { asset, on: false });
    // An account can withdraw from a reserve that was frozen after its supply.
    set(&chain, &AavePool::setFrozenCall { asset, on: true });
    submit(
        &chain,
        HOLDER,
        &Step::new(AAVE_POOL, &withdraw(U256::from(1_000))),
    );
    // Only ten units are left.
    let held = balance(&chain, USDG, A_USDG);
    set(
        &chain,
        &AavePool::lendCall {
            asset,
            amount: held - U256::from(10),
        },
    );
    assert_eq!(refused(11), "ERC20: transfer amount exceeds balance");
    submit(
        &chain,
        HOLDER,
        &Step::new(AAVE_POOL, &withdraw(U256::from(10))),
    );
}

#[test]
fn a_newer_pool_refuses_with_errors_that_have_names() {
    let chain = stage();
    set(&chain, &AavePool::setNamedErrorsCall { on: true });
    set(
        &chain,
        &AavePool::setPausedCall {
            asset: USDG,
            on: true,
        },
    );
    let error = chain
        .call_as(HOLDER.address, AAVE_POOL, &supply(AMOUNT))
        .unwrap_err();
    let dev_chain::DevChainError::Call { output, .. } = error else {
        panic!("{error:?}")
    };
    let expected: [u8; 4] = <ReservePaused as alloy_sol_types::SolError>::SELECTOR;
    assert_eq!(output[..], expected);
}

#[test]
fn the_worth_of_an_account_is_the_sum_over_all_reserves() {
    let chain = supplied(AMOUNT);
    let user = HOLDER.address;
    let account = chain
        .view(AAVE_POOL, &AavePool::getUserAccountDataCall { user })
        .unwrap();
    let worth = u64::try_from(account.totalCollateralBase).unwrap();
    assert!(worth.abs_diff(AMOUNT * 100) <= 100, "{worth}");
    assert_eq!(
        (account.totalDebtBase, account.healthFactor),
        (U256::ZERO, U256::MAX)
    );
    for asset in [USDT0, USDC] {
        let position = AaveDataProvider::getUserReserveDataCall { asset, user };
        let position = chain.view(AAVE_DATA_PROVIDER, &position).unwrap();
        assert!(position.currentATokenBalance.is_zero());
    }
    let underlying = chain
        .view(A_USDG, &AaveToken::UNDERLYING_ASSET_ADDRESSCall {})
        .unwrap();
    assert_eq!(underlying, USDG);
    // Strangers change nothing.
    let pause = AavePool::setPausedCall {
        asset: USDG,
        on: true,
    };
    assert!(chain.call_as(user, AAVE_POOL, &pause).is_err());
}
