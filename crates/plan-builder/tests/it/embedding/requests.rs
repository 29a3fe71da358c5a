//! Tests that code which creates or changes a request meets the bounds of the reader.

use alloy_primitives::{Address, B128, B256, U256, address};
use calldata_checks::{
    BasisPoints, Decimal, Rail,
    bridge::TransferSpeed,
    perp_order::{Side as PerpSide, TimeInForce},
    pm_order::Side,
};
use plan_builder::{
    AccountProfile, ExportSet, Refusal, Request, bridge::BridgeRequest,
    perp_order::PerpOrderRequest, pm_order::PmOrderRequest, swap::SwapRequest,
};
use proptest::prelude::*;
use serde::Serialize;

const ACCOUNT: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");

/// Checks that a request reads back from its own normal form. So the reader could have made every
/// request that exists.
fn within_bounds<R: Serialize>(
    rail: Rail,
    made: Result<R, Refusal>,
    as_request: impl Fn(R) -> Request,
) -> Result<bool, TestCaseError> {
    let Ok(request) = made else {
        return Ok(false);
    };
    let normal = serde_json::to_string(&request).unwrap();
    let read = Request::parse(rail, &normal);
    prop_assert_eq!(read, Ok(as_request(request)), "{}", normal);
    Ok(true)
}

fn decimals() -> impl Strategy<Value = Decimal> {
    (any::<u64>(), 0u8..12)
        .prop_map(|(mantissa, scale)| Decimal::new(u128::from(mantissa), scale).unwrap())
}

fn amounts() -> impl Strategy<Value = U256> {
    prop_oneof![
        any::<u64>().prop_map(U256::from),
        any::<[u8; 32]>().prop_map(U256::from_be_bytes),
        Just(U256::ZERO),
    ]
}

fn addresses() -> impl Strategy<Value = Address> {
    prop_oneof![
        any::<[u8; 20]>().prop_map(Address::from),
        Just(Address::ZERO),
        Just(Address::repeat_byte(0xee)),
    ]
}

fn accounts() -> impl Strategy<Value = AccountProfile> {
    let chains = prop_oneof![Just(1), Just(137), Just(8453), Just(42161), any::<u64>()];
    (addresses(), chains, any::<bool>()).prop_map(|(address, chain_id, safe)| match safe {
        true => AccountProfile::safe(address, chain_id),
        false => AccountProfile::eoa(address, chain_id),
    })
}

fn exports() -> impl Strategy<Value = ExportSet> {
    any::<[bool; 2]>().prop_map(|[eip5792, safe_tx_builder]| ExportSet {
        eip5792,
        safe_tx_builder,
    })
}

proptest! {
    #[test]
    fn swap_requests_are_within_bounds(
        account in accounts(), tokens in [addresses(), addresses()], amount in amounts(), least in amounts(),
        bps in 0u16..=10_000, exports in exports(),
    ) {
        let [from, to] = tokens;
        let made = SwapRequest::new(account, from, to, amount, BasisPoints::new(bps).unwrap())
            .and_then(|request| request.with_min_amount_out(least))
            .and_then(|request| request.with_exports(exports));
        let is_made = within_bounds(Rail::Swap, made, Request::Swap)?;
        let bad = from == to || amount.is_zero() || bps > 5_000 || account.address.is_zero();
        prop_assert!(!(is_made && bad));
    }

    #[test]
    fn bridge_requests_are_within_bounds(
        account in accounts(), to in prop_oneof![Just(1u64), Just(137), Just(42161), any::<u64>()],
        amount in amounts(), limits in [amounts(), amounts()], flags in any::<[bool; 2]>(), exports in exports(),
    ) {
        let speed = if flags[0] { TransferSpeed::Fast } else { TransferSpeed::Standard };
        let made = BridgeRequest::new(account, to, amount)
            .and_then(|request| request.with_speed(speed))
            .and_then(|request| request.with_max_fee(limits[0]))
            .and_then(|request| request.with_min_amount_out(limits[1]))
            .and_then(|request| request.with_forward(flags[1]))
            .and_then(|request| request.with_exports(exports));
        let is_made = within_bounds(Rail::Bridge, made, Request::Bridge)?;
        let bad = amount.is_zero() || to == account.chain_id || account.address.is_zero();
        prop_assert!(!(is_made && bad));
    }

    #[test]
    fn prediction_market_requests_are_within_bounds(
        account in addresses(), token in amounts(), numbers in [decimals(), decimals(), decimals()], buys in any::<bool>(),
        condition in any::<[u8; 32]>(), outcome in ".{0,220}", post_only in any::<bool>(),
    ) {
        let side = if buys { Side::Buy } else { Side::Sell };
        let [price, size, limit] = numbers;
        let made = PmOrderRequest::new(account, token, side, price, size)
            .and_then(|request| match side {
                Side::Buy => request.with_max_cost(limit),
                Side::Sell => request.with_min_proceeds(limit),
            })
            .and_then(|request| request.with_condition_id(B256::from(condition)))
            .and_then(|request| request.with_outcome(&outcome))
            .and_then(|request| request.with_post_only(post_only));
        let is_made = within_bounds(Rail::PmOrder, made, Request::PmOrder)?;
        let bad = outcome.is_empty() || outcome.chars().count() > 200 || outcome.chars().any(char::is_control)
            || price.is_zero() || size.is_zero() || account.is_zero();
        prop_assert!(!(is_made && bad));
    }

    #[test]
    fn perpetuals_requests_are_within_bounds(
        account in addresses(), coin in "[A-Za-z:/@ ]{0,42}", numbers in [decimals(), decimals(), decimals(), decimals()],
        buys in any::<bool>(), reduce in any::<bool>(), cloid in any::<[u8; 16]>(), vault in addresses(),
    ) {
        let side = if buys { PerpSide::Buy } else { PerpSide::Sell };
        let [price, size, profit, loss] = numbers;
        let made = PerpOrderRequest::new(account, &coin, side, price, size)
            .and_then(|request| request.with_time_in_force(TimeInForce::Ioc))
            .and_then(|request| request.with_reduce_only(reduce))
            .and_then(|request| request.with_cloid(B128::from(cloid)))
            .and_then(|request| request.with_vault(vault))
            .and_then(|request| request.with_take_profit(profit, None))
            .and_then(|request| request.with_stop_loss(loss, Some(price)));
        let is_made = within_bounds(Rail::PerpOrder, made, Request::PerpOrder)?;
        let bad = coin.is_empty() || coin.contains(['/', '@', ' ']) || price.is_zero() || vault.is_zero();
        prop_assert!(!(is_made && bad));
    }
}

#[test]
fn good_values_are_requests() {
    let account = AccountProfile::eoa(ACCOUNT, 8453);
    let (usdc, weth) = (Address::repeat_byte(1), Address::repeat_byte(2));
    let slippage = BasisPoints::new(50).unwrap();
    let swap = SwapRequest::new(account, usdc, weth, U256::from(7), slippage).unwrap();
    let least = swap.with_min_amount_out(U256::from(3)).unwrap();
    assert_eq!(least.asked().min_amount_out, Some(U256::from(3)));
    assert_eq!(swap.asked().min_amount_out, None);
    let bridge = BridgeRequest::new(account, 1, U256::from(5)).unwrap();
    assert!(bridge.with_forward(true).unwrap().asked().forward);
    let number = |text: &str| text.parse::<Decimal>().unwrap();
    let (price, size) = (number("0.5"), number("10"));
    PmOrderRequest::new(ACCOUNT, U256::from(1), Side::Sell, price, size).unwrap();
    let perp = PerpOrderRequest::new(ACCOUNT, "ETH", PerpSide::Sell, number("3000"), size).unwrap();
    let stopped = perp.with_stop_loss(number("3100"), None).unwrap();
    assert!(stopped.asked().stop_loss.is_some());
}

#[test]
fn a_change_that_the_reader_refuses_is_no_request() {
    let account = AccountProfile::eoa(ACCOUNT, 8453);
    let bridge = BridgeRequest::new(account, 1, U256::from(5)).unwrap();
    let batch = ExportSet {
        safe_tx_builder: true,
        ..ExportSet::default()
    };
    let refusal = bridge.with_exports(batch).unwrap_err();
    assert_eq!(refusal.check, Refusal::INPUT_INVALID);
    assert_eq!(refusal.request_path.as_deref(), Some("$.exports"));
    let too_much = BridgeRequest::new(account, 1, U256::MAX).unwrap_err();
    assert_eq!(too_much.check, "bridge_amount_bound");
}
