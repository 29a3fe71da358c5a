//! Tests that the enforcer compares the call with the account, its token and the order.

use alloy_primitives::{Bytes, U256};
use alloy_sol_types::SolCall as _;
use calldata_checks::swap::calldata::{
    SwapData, swapTokensMultipleV3ERC20ToERC20Call, swapTokensSingleV3ERC20ToERC20Call,
};
use dev_chain::base::{USDC, WETH};

use super::Attack;
use crate::onchain::stage::{HOLDER, STRANGER, Stage, USD, delegate, grant, output, swap};

#[tokio::test]
async fn the_call_is_held_to_the_account_and_its_token() {
    let stage = Stage::fenced().await;
    let amount = 1_000 * USD;
    let of = |call: swapTokensMultipleV3ERC20ToERC20Call| {
        let stage = &stage;
        async move { Attack::of(stage, amount, &call).await }
    };
    // The call has another receiver.
    let mut call = swap(amount);
    call._receiver = STRANGER.address;
    of(call).await.refused(&stage, "receiver").await;
    // The call has several legs, one of which deposits another token. The account had allowed that
    // token to the router without limit.
    let ether = U256::from(10).pow(U256::from(18));
    stage.mint(WETH, HOLDER.address, ether).await;
    stage.approve(WETH, U256::MAX).await;
    for place in [0, 1, 2] {
        let mut call = swap(amount);
        let mut foreign = call._swapData[1].clone();
        foreign.sendingAssetId = WETH;
        foreign.receivingAssetId = WETH;
        foreign.fromAmount = ether;
        foreign.requiresDeposit = true;
        call._swapData.insert(place, foreign);
        of(call).await.refused(&stage, "sending-asset").await;
    }
    // A leg spends the router's own balance.
    let mut call = swap(amount);
    call._swapData[1].sendingAssetId = WETH;
    of(call).await.refused(&stage, "sending-asset").await;
    // The deposits differ from the approval: more through an earlier allowance, twice, or less.
    stage.approve(USDC, U256::MAX).await;
    Attack::of(&stage, amount, &swap(6_000 * USD))
        .await
        .refused(&stage, "amount")
        .await;
    let mut call = swap(amount);
    call._swapData[1].requiresDeposit = true;
    of(call).await.refused(&stage, "amount").await;
    let mut call = swap(amount);
    call._swapData[0].fromAmount = U256::from(amount - 1);
    of(call).await.refused(&stage, "amount").await;
    // The call has no legs, another function of the router, or no function.
    let mut call = swap(amount);
    call._swapData.clear();
    of(call).await.refused(&stage, "legs").await;
    for selector in [[0x46, 0x66, 0xfc, 0x80], [0x46, 0x30, 0xa0, 0xd8], [0; 4]] {
        let mut data = swap(amount).abi_encode();
        data[..4].copy_from_slice(&selector);
        let attack = Attack::raw(&stage, U256::from(amount), data.into(), U256::ONE).await;
        attack.refused(&stage, "selector").await;
    }
    let attack = Attack::raw(&stage, U256::from(amount), Bytes::new(), U256::ONE).await;
    attack.refused(&stage, "selector").await;
    // The token is swapped for itself.
    let mut call = swap(amount);
    call._swapData.truncate(1);
    let mut attack = of(call).await;
    attack.order.output_token = USDC;
    attack.refused(&stage, "output-token").await;
    // The bytes are a second encoding of the same call.
    let data = [swap(amount).abi_encode(), vec![0; 32]].concat();
    let attack = Attack::raw(&stage, U256::from(amount), data.into(), U256::ONE).await;
    attack.refused(&stage, "encoding").await;
}

/// Where the policy has the function for one leg, the leg itself names what it deposits. The
/// enforcer must read that.
#[tokio::test]
async fn the_function_for_one_leg_is_read_as_well() {
    let mut stage = Stage::fenced().await;
    let vectors: serde_json::Value = serde_json::from_str(include_str!(
        "../../../../../../fixtures/vectors/delegation.json"
    ))
    .unwrap();
    let document = vectors["rules_document"]["document"].to_string();
    stage.policy = delegation_fence::Policy::parse(&document).unwrap();
    stage.grant = grant(&stage.policy, HOLDER.address, 5_000 * USD);
    stage.delegations = delegate(&stage.grant, &stage.policy, stage.level, HOLDER, U256::ZERO);
    let amount = 1_000 * USD;
    let leg = |sending| SwapData {
        sendingAssetId: sending,
        fromAmount: U256::from(amount),
        requiresDeposit: false,
        ..swap(amount)._swapData[1].clone()
    };
    let call = |sending| {
        let swap = swap(amount);
        let call = swapTokensSingleV3ERC20ToERC20Call {
            _transactionId: swap._transactionId,
            _integrator: swap._integrator,
            _referrer: swap._referrer,
            _receiver: swap._receiver,
            _minAmountOut: swap._minAmountOut,
            _swapData: leg(sending),
        };
        Bytes::from(call.abi_encode())
    };
    let minimum = output(amount);
    let foreign = Attack::raw(&stage, U256::from(amount), call(WETH), minimum).await;
    foreign.refused(&stage, "sending-asset").await;
    let less = Attack::raw(&stage, U256::from(amount + 1), call(USDC), minimum).await;
    less.refused(&stage, "amount").await;
    // The stand-in for the router has no such function, so it refuses a call that the enforcer lets
    // through.
    let allowed = Attack::raw(&stage, U256::from(amount), call(USDC), minimum).await;
    stage.refused(&[allowed.entry(&stage)], "0x").await;
}
