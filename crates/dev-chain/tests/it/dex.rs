//! The router of OKX's DEX: honest swaps, its refusals, and its behaviour when it is hostile.

use alloy_primitives::{Address, Bytes, U256, fixed_bytes};
use alloy_sol_types::{SolCall, sol};
use dev_chain::{
    DevChain, MINTER, USDG, USDT0,
    abi::DexRouter::setShortfallCall,
    xlayer::{DEX_APPROVE_PROXY, DEX_ROUTER, WOKB},
};

use crate::{
    plan::{HOLDER, Step, approve, balance, refusal, selector_of, submit},
    support::NOW,
};

sol! {
    #[derive(Debug)]
    struct Base { uint256 fromToken; address toToken; uint256 fromTokenAmount; uint256 minReturnAmount; uint256 deadLine; }
    #[derive(Debug)]
    struct Path { address[] mixAdapters; address[] assetTo; uint256[] rawData; bytes[] extraData; uint256 fromToken; }
    #[derive(Debug)]
    struct Maker { uint256 pathIndex; address payer; address fromToken; address toToken; uint256 fromTokenAmountMax; uint256 toTokenAmountMax; uint256 salt; uint256 deadLine; bool isPushOrder; bytes extension; }
    #[derive(Debug)]
    interface Router {
        function dagSwapByOrderId(uint256 orderId, Base base, Path[] paths) external payable;
        function dagSwapTo(uint256 orderId, address receiver, Base base, Path[] paths) external payable;
        function smartSwapByOrderId(uint256 orderId, Base base, uint256[] batchesAmount, Path[][] batches, Maker[] extraData) external payable;
        function smartSwapTo(uint256 orderId, address receiver, Base base, uint256[] batchesAmount, Path[][] batches, Maker[] extraData) external payable;
    }
    function claimTokens(address token, address who, address dest, uint256 amount) external;
}

const AMOUNT: u64 = 100_000_000;
const OUTPUT: u64 = 843_541_200_000_000_000;

fn word(address: Address) -> U256 {
    U256::from_be_bytes(address.into_word().0)
}

fn base() -> Base {
    Base {
        fromToken: word(USDT0),
        toToken: WOKB,
        fromTokenAmount: U256::from(AMOUNT),
        minReturnAmount: U256::from(OUTPUT),
        deadLine: U256::from(NOW + 600),
    }
}

/// One edge that takes everything from node 0 to node 1.
fn path() -> Path {
    let raw = (U256::from(1) << 176) | (U256::from(10_000) << 160);
    Path {
        mixAdapters: vec![Address::repeat_byte(0xa0)],
        assetTo: vec![Address::repeat_byte(0xb0)],
        rawData: vec![raw],
        extraData: vec![Bytes::new()],
        fromToken: word(USDT0),
    }
}

fn dag() -> Router::dagSwapByOrderIdCall {
    Router::dagSwapByOrderIdCall {
        orderId: U256::from(7),
        base: base(),
        paths: vec![path()],
    }
}

fn stage() -> DevChain {
    let chain = DevChain::builder().xlayer_stage().clock(|| NOW);
    let chain = chain.build().unwrap();
    submit(&chain, HOLDER, &approve(USDT0, DEX_APPROVE_PROXY, AMOUNT));
    chain
}

#[test]
fn the_interface_is_the_reviewed_one() {
    let check = |observed, expected| assert_eq!(observed, expected);
    check(
        selector_of::<Router::dagSwapByOrderIdCall>(),
        fixed_bytes!("f2c42696"),
    );
    check(
        selector_of::<Router::dagSwapToCall>(),
        fixed_bytes!("0c307f76"),
    );
    check(
        selector_of::<Router::smartSwapByOrderIdCall>(),
        fixed_bytes!("b80c2f09"),
    );
    check(
        selector_of::<Router::smartSwapToCall>(),
        fixed_bytes!("03b87e5f"),
    );
}

#[test]
fn each_function_takes_the_input_through_the_proxy_and_pays_at_the_rate() {
    let elsewhere = Address::repeat_byte(0x0e);
    let (amounts, batches) = (vec![U256::from(AMOUNT)], vec![vec![path()]]);
    let calls = [
        (dag().abi_encode(), HOLDER.address),
        (
            Router::dagSwapToCall::new((U256::ZERO, elsewhere, base(), vec![path()])).abi_encode(),
            elsewhere,
        ),
        (
            Router::smartSwapByOrderIdCall::new((
                U256::ZERO,
                base(),
                amounts.clone(),
                batches.clone(),
                vec![],
            ))
            .abi_encode(),
            HOLDER.address,
        ),
        (
            Router::smartSwapToCall::new((U256::ZERO, elsewhere, base(), amounts, batches, vec![]))
                .abi_encode(),
            elsewhere,
        ),
    ];
    for (data, payee) in calls {
        let chain = stage();
        let before = balance(&chain, USDT0, HOLDER.address);
        // Trailing words are not arguments.
        let data = [data, vec![0x77; 64]].concat().into();
        submit(
            &chain,
            HOLDER,
            &Step {
                to: DEX_ROUTER,
                data,
            },
        );
        assert_eq!(balance(&chain, WOKB, payee), U256::from(OUTPUT));
        let spent = before - balance(&chain, USDT0, HOLDER.address);
        assert_eq!(spent, U256::from(AMOUNT));
        let left = chain
            .allowance(USDT0, HOLDER.address, DEX_APPROVE_PROXY)
            .unwrap();
        assert_eq!(left, U256::ZERO);
    }
}

#[test]
fn a_refused_swap_names_the_reason() {
    let chain = stage();
    let refused = |change: fn(&mut Router::dagSwapByOrderIdCall)| {
        let mut call = dag();
        change(&mut call);
        refusal(&chain, DEX_ROUTER, &call)
    };
    assert_eq!(
        refused(|call| call.base.minReturnAmount += U256::ONE),
        "Min return not reached"
    );
    assert_eq!(
        refused(|call| call.base.deadLine = U256::from(NOW - 1)),
        "Route: expired"
    );
    assert_eq!(
        refused(|call| call.base.toToken = USDT0),
        "DexRouter: no rate"
    );
    assert_eq!(
        refused(|call| call.paths[0].fromToken = word(USDG)),
        "firstToken mismatch"
    );
    assert_eq!(
        refused(|call| call.paths[0].rawData[0] = U256::ZERO),
        "node index out of range"
    );
    assert_eq!(
        refused(|call| call.paths[0].assetTo.clear()),
        "path length mismatch"
    );
    assert_eq!(
        refused(|call| call.base.fromTokenAmount += U256::ONE),
        "ERC20: transfer amount exceeds allowance"
    );
    // Approving the router itself does not help, and no other account may use the proxy.
    submit(&chain, HOLDER, &approve(USDT0, DEX_APPROVE_PROXY, 0));
    submit(&chain, HOLDER, &approve(USDT0, DEX_ROUTER, AMOUNT));
    assert_eq!(refused(|_| {}), "ERC20: transfer amount exceeds allowance");
    let theft = claimTokensCall {
        token: USDT0,
        who: HOLDER.address,
        dest: MINTER.address,
        amount: U256::ONE,
    };
    let said = refusal(&chain, DEX_APPROVE_PROXY, &theft);
    assert_eq!(said, "TokenApprove: Access restricted");
}

#[test]
fn a_hostile_router_pays_less_than_the_minimum_and_does_not_revert() {
    let chain = stage();
    let less = setShortfallCall {
        basisPoints: U256::from(3_000),
    };
    assert!(chain.call_as(HOLDER.address, DEX_ROUTER, &less).is_err());
    chain.call_as(MINTER.address, DEX_ROUTER, &less).unwrap();
    submit(&chain, HOLDER, &Step::new(DEX_ROUTER, &dag()));
    let paid = balance(&chain, WOKB, HOLDER.address);
    assert_eq!(paid, U256::from(OUTPUT) * U256::from(7) / U256::from(10));
}
