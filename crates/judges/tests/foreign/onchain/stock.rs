//! Tests of the level with the framework's own enforcers: what it guarantees, and the holes that it
//! leaves.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall as _;
use calldata_checks::swap::calldata::SwapData;
use delegation_fence::Rule;
use delegation_fence::onchain::Purpose;
use dev_chain::base::{EXCHANGE, ROUTER, USDC, WETH};

use crate::onchain::stage::{
    BATCH, Entry, HOLDER, SINGLE, STRANGER, Stage, USD, approval, output, packed, snwapCall, steps,
    swap,
};

fn single(stage: &Stage, purpose: Purpose, target: Address, data: &[u8]) -> Entry {
    Entry {
        context: stage.context(purpose, &Bytes::new()),
        mode: SINGLE,
        execution: packed(target, 0, data),
    }
}

/// The service sends a plan as three transactions of the redeemer, with this calldata.
#[tokio::test]
async fn a_plan_goes_out_as_three_redemptions() {
    let stage = Stage::stock().await;
    let call = swap(1_000 * USD).abi_encode().into();
    let order = stage.sign_order(&stage.order(&call, output(1_000 * USD)).await);
    let plan = steps(1_000 * USD, &call);
    let redemptions = stage.delegations.redemptions(&plan, &order).unwrap();
    let before = stage.holdings().await;
    let (mut gas, mut allowances) = (Vec::new(), Vec::new());
    for redemption in &redemptions {
        let receipt = stage.send_call(&redemption.call).await.unwrap();
        gas.push(receipt.gas_used.to::<u64>());
        allowances.push(stage.allowance(USDC).await);
    }
    assert_eq!(
        allowances,
        [U256::ZERO, U256::from(1_000 * USD), U256::ZERO]
    );
    let after = stage.holdings().await;
    assert_eq!(before[0] - after[0], U256::from(1_000 * USD));
    assert_eq!(after[1] - before[1], output(1_000 * USD));
    println!("gas of the three redemptions: {gas:?}");
}

/// The enforcers compare bytes, so a cap of 5,000 is 4,294.967295 on the chain.
#[tokio::test]
async fn an_approval_is_bounded_coarsely() {
    let stage = Stage::stock().await;
    let most = stage.delegations.most_on_chain();
    assert_eq!(most, U256::from(u32::MAX));
    let approve = |amount| single(&stage, Purpose::Approve, USDC, &approval(ROUTER, amount));
    stage.redeem(&[approve(most)]).await.unwrap();
    let above = most + U256::ONE;
    for amount in [above, U256::from(5_000 * USD), U256::MAX] {
        stage
            .refused(
                &[approve(amount)],
                "AllowedCalldataEnforcer:invalid-calldata",
            )
            .await;
    }
    let call = Bytes::new();
    let order = stage.sign_order(&stage.order(&call, U256::ONE).await);
    let refusal = stage
        .delegations
        .redemptions(&steps(above.to(), &call), &order)
        .unwrap_err();
    assert_eq!(refusal.rule, Rule::DelegationCap);
}

#[tokio::test]
async fn the_limits_that_the_enforcers_hold() {
    let stage = Stage::stock().await;
    let small = U256::from(USD);
    let approve = |target, data: Bytes| single(&stage, Purpose::Approve, target, &data);
    let call = |target, data: Vec<u8>| single(&stage, Purpose::Call, target, &data);
    let honest = swap(USD);
    let target = "AllowedTargetsEnforcer:target-address-not-allowed";
    let method = "AllowedMethodsEnforcer:method-not-allowed";
    let calldata = "AllowedCalldataEnforcer:invalid-calldata";

    // The step calls another token, another spender or another function of the token.
    stage
        .refused(&[approve(WETH, approval(ROUTER, small))], target)
        .await;
    for spender in [STRANGER.address, EXCHANGE] {
        stage
            .refused(&[approve(USDC, approval(spender, small))], calldata)
            .await;
    }
    for selector in [
        [0xa9, 0x05, 0x9c, 0xbb],
        [0x39, 0x50, 0x93, 0x51],
        [0x23, 0xb8, 0x72, 0xdd],
    ] {
        let mut data = approval(ROUTER, small).to_vec();
        data[..4].copy_from_slice(&selector);
        stage.refused(&[approve(USDC, data.into())], method).await;
    }
    // The step calls another router, another function of the router or another receiver, or has
    // dirty bytes before the receiver.
    stage
        .refused(&[call(EXCHANGE, honest.abi_encode())], target)
        .await;
    let mut other = honest.abi_encode();
    other[..4].copy_from_slice(&[0x46, 0x66, 0xfc, 0x80]);
    stage.refused(&[call(ROUTER, other)], method).await;
    let mut foreign = honest.clone();
    foreign._receiver = STRANGER.address;
    stage
        .refused(&[call(ROUTER, foreign.abi_encode())], calldata)
        .await;
    let mut dirty = honest.abi_encode();
    dirty[111] = 1;
    stage.refused(&[call(ROUTER, dirty)], calldata).await;
    // The step sends native coins, makes several calls at once, or makes one that may fail.
    let mut value = approve(USDC, approval(ROUTER, small));
    value.execution = packed(USDC, 1, &approval(ROUTER, small));
    stage
        .refused(&[value], "ValueLteEnforcer:value-too-high")
        .await;
    let mut batch = approve(USDC, approval(ROUTER, small));
    batch.mode = BATCH;
    stage
        .refused(&[batch], "CaveatEnforcer:invalid-call-type")
        .await;
    let mut lenient = approve(USDC, approval(ROUTER, small));
    lenient.mode.0[1] = 1;
    stage
        .refused(&[lenient], "CaveatEnforcer:invalid-execution-type")
        .await;
    // Another account redeems. In a list, one refused entry makes the whole transaction fail.
    let allowed = approve(USDC, approval(ROUTER, small));
    stage
        .refused_as(
            STRANGER,
            std::slice::from_ref(&allowed),
            "InvalidDelegate()",
        )
        .await;
    let refused = approve(USDC, approval(STRANGER.address, small));
    stage.refused(&[allowed, refused], calldata).await;
}

/// Hole 1: the call alone, without an approval, spends an earlier allowance, whatever the cap.
#[tokio::test]
async fn hole_an_earlier_allowance_is_spent() {
    let stage = Stage::stock().await;
    stage.approve(USDC, U256::MAX).await;
    let before = stage.balance(USDC, HOLDER.address).await;
    let data = swap(6_000 * USD).abi_encode();
    stage
        .redeem(&[single(&stage, Purpose::Call, ROUTER, &data)])
        .await
        .unwrap();
    let after = stage.balance(USDC, HOLDER.address).await;
    assert_eq!(before - after, U256::from(6_000 * USD));
}

/// Hole 2: a leg deposits another token, which the account had allowed to the router, and nothing
/// comes back.
#[tokio::test]
async fn hole_another_token_is_deposited() {
    let stage = Stage::stock().await;
    let ether = U256::from(10).pow(U256::from(18));
    stage.mint(WETH, HOLDER.address, ether).await;
    stage.approve(WETH, U256::MAX).await;
    let before = stage.holdings().await;
    let mut call = swap(USD);
    call._minAmountOut = U256::ZERO;
    // WETH goes to the venue. At the end the router pays out a token that the leg does not touch.
    let venue = snwapCall {
        tokenIn: WETH,
        amountIn: ether,
        recipient: STRANGER.address,
        tokenOut: USDC,
        amountOutMin: U256::ZERO,
        executor: Address::ZERO,
        executorData: Bytes::new(),
    };
    stage.rate(WETH, USDC, 1, 400_000_000).await;
    call._swapData = vec![SwapData {
        callTo: EXCHANGE,
        approveTo: EXCHANGE,
        sendingAssetId: WETH,
        receivingAssetId: USDC,
        fromAmount: ether,
        callData: venue.abi_encode().into(),
        requiresDeposit: true,
    }];
    let data = call.abi_encode();
    stage
        .redeem(&[single(&stage, Purpose::Call, ROUTER, &data)])
        .await
        .unwrap();
    let after = stage.holdings().await;
    assert_eq!(before[1] - after[1], ether);
    assert_eq!(after[0], before[0], "nothing came back");
}

/// Hole 3: nothing requires a minimum and the venue can pay anyone, so the whole input is lost.
#[tokio::test]
async fn hole_the_output_goes_elsewhere() {
    let stage = Stage::stock().await;
    let amount = 1_000 * USD;
    let mut call = swap(amount);
    call._minAmountOut = U256::ZERO;
    let mut venue = snwapCall::abi_decode(&call._swapData[1].callData).unwrap();
    venue.recipient = STRANGER.address;
    call._swapData[1].callData = venue.abi_encode().into();
    let before = stage.holdings().await;
    stage
        .redeem(&[
            single(
                &stage,
                Purpose::Approve,
                USDC,
                &approval(ROUTER, U256::from(amount)),
            ),
            single(&stage, Purpose::Call, ROUTER, &call.abi_encode()),
        ])
        .await
        .unwrap();
    let after = stage.holdings().await;
    assert_eq!(before[0] - after[0], U256::from(amount));
    assert_eq!(after[1], before[1]);
    assert_eq!(stage.balance(WETH, STRANGER.address).await, output(amount));
}

/// Hole 4: the redeemer can begin without an order. Nothing counts swaps, and an approval may be
/// left.
#[tokio::test]
async fn hole_the_redeemer_needs_no_order() {
    let stage = Stage::stock().await;
    for _ in 0..2 {
        let amount = U256::from(1_000 * USD);
        stage
            .redeem(&[
                single(&stage, Purpose::Approve, USDC, &approval(ROUTER, amount)),
                single(
                    &stage,
                    Purpose::Call,
                    ROUTER,
                    &swap(1_000 * USD).abi_encode(),
                ),
            ])
            .await
            .unwrap();
    }
    let left = U256::from(7);
    stage
        .redeem(&[single(
            &stage,
            Purpose::Approve,
            USDC,
            &approval(ROUTER, left),
        )])
        .await
        .unwrap();
    assert_eq!(stage.allowance(USDC).await, left);
}
