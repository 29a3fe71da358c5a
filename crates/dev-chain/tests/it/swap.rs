//! Swap plans against the router: the effects of an honest one, and the theft that the router
//! permits to a hostile one. That is why calldata is checked before it is signed.

use alloy_primitives::{Address, U64, U256, b256, fixed_bytes};
use alloy_sol_types::{SolCall, SolError, SolEvent, sol};
use dev_chain::{
    DEV_ACCOUNTS, Erc20Kind, Erc20Spec, MINTER,
    base::{self, EXCHANGE, FORWARDER, ROUTER, USDC, WETH},
};
use serde_json::{Value, json};

use crate::{
    plan::{
        AGGREGATOR, AGGREGATOR_FEE, Erc20, Exchange, FeeDistribution, Forwarder, GROSS, HOLDER,
        MINIMUM, NET, OUTPUT, OWN, OWN_FEE, Router, Step, SwapData, approve, balance, estimate,
        execute, fee_leg, honest_legs, honest_plan, selector_of, send_with, stage, submit, swap,
        three_steps, venue_leg,
    },
    support::{NOW, get, read},
};

const ATTACKER: Address = Address::repeat_byte(0xba);

#[test]
fn the_interface_is_the_deployed_one() {
    let check = |observed, expected| assert_eq!(observed, expected);
    check(
        selector_of::<Router::swapTokensMultipleV3ERC20ToERC20Call>(),
        fixed_bytes!("5fd9ae2e"),
    );
    check(
        selector_of::<Router::extractGenericSwapParametersCall>(),
        fixed_bytes!("c318eeda"),
    );
    check(
        selector_of::<Forwarder::forwardERC20FeesCall>(),
        base::FORWARD_FEES,
    );
    check(selector_of::<Exchange::snwapCall>(), base::SNWAP);
    check(
        Router::CumulativeSlippageTooHigh::SELECTOR.into(),
        fixed_bytes!("275c273c"),
    );
    check(
        Router::ContractCallNotAllowed::SELECTOR.into(),
        fixed_bytes!("94539804"),
    );
    check(
        Router::InvalidReceiver::SELECTOR.into(),
        fixed_bytes!("1e4ec46b"),
    );
}

#[test]
fn an_honest_plan_swaps_pays_both_fees_and_leaves_no_allowance() {
    let chain = stage().build().unwrap();
    let receipts = execute(&chain, &honest_plan());

    let before = U256::from(base::USDC_FUNDS);
    let usdc = |account| balance(&chain, USDC, account);
    let weth = |account| balance(&chain, WETH, account);
    assert_eq!(usdc(HOLDER.address), before - U256::from(GROSS));
    assert_eq!(weth(HOLDER.address), U256::from(OUTPUT));
    assert_eq!(usdc(OWN), U256::from(OWN_FEE));
    assert_eq!(usdc(AGGREGATOR), U256::from(AGGREGATOR_FEE));
    assert_eq!((usdc(ROUTER), weth(ROUTER)), (U256::ZERO, U256::ZERO));
    let allowance = chain.allowance(USDC, HOLDER.address, ROUTER).unwrap();
    assert_eq!(allowance, U256::ZERO);

    let logs = receipts[2].inner.logs();
    let topics = |address: Address| -> Vec<_> {
        let own = logs.iter().filter(|log| log.address() == address);
        own.map(|log| log.topics()[0]).collect()
    };
    let swapped = b256!("7bfdfdb5e3a3776976e53cb0607060f54c5312701c8cba1155cc4d5394440b38");
    let completed = b256!("38eee76fd911eabac79da7af16053e809be0e12c8637f156e77e1af309b99537");
    let forwarded = b256!("3a7029951ba36c1af37954df919ce2f9a95c3f5c2c2e872d5e7fd47c61a6df26");
    assert_eq!(topics(ROUTER), [swapped, swapped, completed]);
    assert_eq!(topics(FORWARDER), [forwarded]);

    let fees = logs.iter().find(|log| log.address() == FORWARDER).unwrap();
    let fees = Forwarder::FeesForwarded::decode_log(&fees.inner).unwrap();
    let paid = [(AGGREGATOR, AGGREGATOR_FEE), (OWN, OWN_FEE)].map(|(recipient, amount)| {
        let amount = U256::from(amount);
        FeeDistribution { recipient, amount }
    });
    assert_eq!((fees.token, &fees.distributions[..]), (USDC, &paid[..]));

    let from_router = logs.iter().filter(|log| log.address() == ROUTER);
    let from_router: Vec<_> = from_router.map(|log| &log.inner).collect();
    let leg = Router::AssetSwapped::decode_log(from_router[1]).unwrap();
    assert_eq!((leg.dex, leg.fromAssetId), (EXCHANGE, USDC));
    assert_eq!(leg.fromAmount, U256::from(NET));
    assert_eq!(leg.toAmount, U256::from(OUTPUT));
    assert_eq!(leg.timestamp, U256::from(NOW));
    let whole = Router::LiFiGenericSwapCompleted::decode_log(from_router[2]).unwrap();
    assert_eq!(whole.integrator, "svc");
    assert_eq!(whole.referrer.len(), 42);
    assert_eq!(whole.receiver, HOLDER.address);
    assert_eq!((whole.fromAssetId, whole.toAssetId), (USDC, WETH));
    assert_eq!(whole.fromAmount, U256::from(GROSS));
    assert_eq!(whole.toAmount, U256::from(OUTPUT));
}

#[test]
fn the_router_reads_its_own_calldata() {
    let chain = stage().build().unwrap();
    let [_, _, Step { data, .. }] = honest_plan();
    let call = Router::extractGenericSwapParametersCall { data };
    let facts = read(&chain, ROUTER, &call);
    assert_eq!((facts.sendingAssetId, facts.receivingAssetId), (USDC, WETH));
    assert_eq!(facts.amount, U256::from(GROSS));
    assert_eq!(facts.receiver, HOLDER.address);
    assert_eq!(facts.receivingAmount, U256::from(MINIMUM));
}

#[test]
fn with_a_stale_allowance_only_the_reset_makes_a_usdt_like_token_work() {
    let usdt = Address::repeat_byte(0x75);
    let five = |spender| {
        Step::new(
            usdt,
            &Erc20::approveCall {
                spender,
                value: U256::from(5),
            },
        )
    };
    let rate = Exchange::setRateCall {
        tokenIn: usdt,
        tokenOut: WETH,
        numerator: U256::from(base::WEI_PER_USDC_UNIT),
        denominator: U256::ONE,
    };
    let chain = stage()
        .erc20(Erc20Spec {
            address: usdt,
            name: "Tether USD".to_owned(),
            symbol: "USDT".to_owned(),
            decimals: 6,
            kind: Erc20Kind::UsdtLike,
        })
        .holder(usdt, HOLDER.address, U256::from(GROSS))
        .call(MINTER.address, EXCHANGE, rate.abi_encode().into())
        .call(HOLDER.address, usdt, five(ROUTER).data)
        // The router's own allowance is stale too; the router repairs that itself.
        .call(ROUTER, usdt, five(FORWARDER).data)
        .build()
        .unwrap();

    let plan = three_steps(
        usdt,
        ROUTER,
        GROSS,
        swap(HOLDER.address, MINIMUM, honest_legs(usdt)),
    );
    let error = estimate(&chain, HOLDER, &plan[1]).unwrap_err();
    assert_eq!(
        error["message"],
        "execution reverted: UsdtLikeToken: nonzero allowance"
    );
    let receipt = send_with(&chain, HOLDER, &plan[1], U64::from(100_000));
    assert!(!receipt.status());
    let allowance = || chain.allowance(usdt, HOLDER.address, ROUTER).unwrap();
    assert_eq!(allowance(), U256::from(5));

    execute(&chain, &plan);
    assert_eq!(balance(&chain, WETH, HOLDER.address), U256::from(OUTPUT));
    assert_eq!(balance(&chain, usdt, HOLDER.address), U256::ZERO);
    assert_eq!(balance(&chain, usdt, OWN), U256::from(OWN_FEE));
    assert_eq!(allowance(), U256::ZERO);
}

#[test]
fn one_more_deposit_leg_takes_any_token_with_an_allowance() {
    let victim = U256::from(7_000_000_000_000_000_000_u64);
    let chain = stage()
        .holder(WETH, HOLDER.address, victim)
        .build()
        .unwrap();
    // Left over from an earlier swap of WETH.
    submit(&chain, HOLDER, &approve(WETH, ROUTER, u64::MAX));

    let stolen = victim.to::<u64>();
    let mut legs = honest_legs(USDC);
    legs.insert(1, fee_leg(WETH, stolen, &[(ATTACKER, stolen)]));
    let call = swap(HOLDER.address, MINIMUM, legs);
    execute(&chain, &three_steps(USDC, ROUTER, GROSS, call));

    assert_eq!(balance(&chain, WETH, ATTACKER), victim);
    // The output is complete to the last unit: neither minimum nor receiver reveals the theft.
    assert_eq!(balance(&chain, WETH, HOLDER.address), U256::from(OUTPUT));
}

#[test]
fn a_changed_receiver_or_fee_is_paid_without_a_revert() {
    let chain = stage().build().unwrap();
    let mut legs = honest_legs(USDC);
    legs[0] = fee_leg(USDC, GROSS, &[(ATTACKER, AGGREGATOR_FEE + OWN_FEE)]);
    let call = swap(ATTACKER, 0, legs);
    execute(&chain, &three_steps(USDC, ROUTER, GROSS, call));
    assert_eq!(balance(&chain, WETH, ATTACKER), U256::from(OUTPUT));
    assert_eq!(
        balance(&chain, USDC, ATTACKER),
        U256::from(AGGREGATOR_FEE + OWN_FEE)
    );
    assert_eq!(balance(&chain, WETH, HOLDER.address), U256::ZERO);
}

#[test]
fn the_rest_that_the_venue_does_not_take_goes_to_the_receiver() {
    let chain = stage().build().unwrap();
    let mut legs = honest_legs(USDC);
    // The leg states one amount, its calldata another.
    legs[1].callData = venue_leg(USDC, NET - 100_000_000, ROUTER).callData;
    let call = swap(HOLDER.address, 0, legs);
    execute(&chain, &three_steps(USDC, ROUTER, GROSS, call));
    let spent = U256::from(base::USDC_FUNDS) - balance(&chain, USDC, HOLDER.address);
    assert_eq!(spent, U256::from(GROSS - 100_000_000));
    assert_eq!(balance(&chain, USDC, ROUTER), U256::ZERO);
}

/// The revert of a swap call after the router was approved.
fn reverts_with(receiver: Address, minimum: u64, legs: Vec<SwapData>) -> Value {
    let chain = stage()
        .call(
            MINTER.address,
            ROUTER,
            Router::setAllowedCall {
                target: FORWARDER,
                selector: fixed_bytes!("ffffffff"),
                isAllowed: true,
            }
            .abi_encode()
            .into(),
        )
        .build()
        .unwrap();
    submit(&chain, HOLDER, &approve(USDC, ROUTER, GROSS));
    let step = swap(receiver, minimum, legs);
    let error = crate::support::ask(&chain, "eth_call", json!([step.request(), "latest"]));
    error.unwrap_err()
}

#[test]
fn the_few_refusals_of_the_router_have_names() {
    let check = |receiver, minimum, change: fn(&mut Vec<SwapData>), expected: Vec<u8>| {
        let mut legs = honest_legs(USDC);
        change(&mut legs);
        let error = reverts_with(receiver, minimum, legs);
        let data = alloy_primitives::hex::encode_prefixed(expected);
        assert_eq!(error["data"], data, "{error}");
    };
    let me = HOLDER.address;
    let not_allowed = || Router::ContractCallNotAllowed {}.abi_encode();
    let slippage = |minimum, received| {
        let error = Router::CumulativeSlippageTooHigh {
            minAmount: U256::from(minimum),
            receivedAmount: U256::from(received),
        };
        error.abi_encode()
    };
    check(
        Address::ZERO,
        0,
        |_| (),
        Router::InvalidReceiver {}.abi_encode(),
    );
    check(me, OUTPUT + 1, |_| (), slippage(OUTPUT + 1, OUTPUT));
    // The venue pays another account.
    let elsewhere: fn(&mut Vec<SwapData>) = |legs| legs[1] = venue_leg(USDC, NET, ATTACKER);
    check(me, 1, elsewhere, slippage(1, 0));
    check(me, 0, |legs| legs[1].callTo = ATTACKER, not_allowed());
    check(me, 0, |legs| legs[1].callTo = FORWARDER, not_allowed());
    check(me, 0, |legs| legs[1].approveTo = ATTACKER, not_allowed());
    let short: fn(&mut Vec<SwapData>) = |legs| legs[1].callData = vec![0x5f, 0x3b].into();
    check(me, 0, short, not_allowed());
}

#[test]
fn an_approval_may_go_elsewhere_than_the_call_when_that_is_allowed() {
    let mut legs = honest_legs(USDC);
    legs[1].approveTo = FORWARDER;
    // Past the allow-list, the venue lacks its allowance.
    let error = reverts_with(HOLDER.address, 0, legs);
    assert_eq!(
        error["message"],
        "execution reverted: ERC20: transfer amount exceeds allowance"
    );
}

#[test]
fn the_forwarder_refuses_only_the_zero_address() {
    let chain = stage()
        .call(HOLDER.address, USDC, approve(USDC, FORWARDER, 9).data)
        .build()
        .unwrap();
    let forward = |fees: &[(Address, u64)]| Step {
        to: FORWARDER,
        data: fee_leg(USDC, 0, fees).callData,
    };
    let error = estimate(&chain, HOLDER, &forward(&[(OWN, 1), (Address::ZERO, 0)])).unwrap_err();
    assert_eq!(error["data"], "0x1e4ec46b");
    submit(&chain, HOLDER, &forward(&[]));
    submit(
        &chain,
        HOLDER,
        &forward(&[(OWN, 4), (OWN, 4), (ATTACKER, 0)]),
    );
    assert_eq!(balance(&chain, USDC, OWN), U256::from(8));
}

#[test]
fn only_the_owner_sets_up() {
    let chain = stage().build().unwrap();
    let allow = Router::setAllowedCall {
        target: ATTACKER,
        selector: fixed_bytes!("5f3bd1c8"),
        isAllowed: true,
    };
    let rate = Exchange::setRateCall {
        tokenIn: USDC,
        tokenOut: WETH,
        numerator: U256::MAX,
        denominator: U256::ONE,
    };
    for step in [Step::new(ROUTER, &allow), Step::new(EXCHANGE, &rate)] {
        let error = estimate(&chain, HOLDER, &step).unwrap_err();
        let text = error["message"].as_str().unwrap();
        assert!(text.ends_with("caller is not the owner"), "{text}");
        let _: U64 = get(
            &chain,
            "eth_estimateGas",
            json!([{ "from": MINTER.address, "to": step.to, "data": step.data }]),
        );
    }
}

#[test]
fn a_setup_persists_without_any_transaction() {
    sol! {
        function initialize(address owner) external;
    }
    let chain = stage()
        .call(HOLDER.address, USDC, approve(USDC, ROUTER, 1).data)
        .build()
        .unwrap();
    let owner = ATTACKER;
    for contract in [ROUTER, EXCHANGE] {
        let again = Step::new(contract, &initializeCall { owner });
        let error = estimate(&chain, HOLDER, &again).unwrap_err();
        let text = error["message"].as_str().unwrap();
        assert!(text.ends_with("already initialized"), "{text}");
    }
    for account in DEV_ACCOUNTS {
        let funds = balance(&chain, USDC, account.address);
        assert_eq!(funds, U256::from(base::USDC_FUNDS));
        let nonce: U64 = get(&chain, "eth_getTransactionCount", json!([account.address]));
        assert_eq!(nonce, U64::ZERO);
    }
}
