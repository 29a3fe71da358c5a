//! Tests that the enforcer checks afterwards what the router and its venues did.

use alloy_primitives::{Bytes, U256};
use alloy_sol_types::SolCall as _;
use calldata_checks::swap::calldata::swapTokensMultipleV3ERC20ToERC20Call;
use delegation_fence::onchain::ChainTerms;
use dev_chain::base::{ROUTER, USDC, WETH};

use super::Attack;
use crate::onchain::stage::{
    HOLDER, INTERPOSED, STRANGER, Stage, USD, approval, approveCall, callCall, delegate_terms,
    redemption, swap, transferFromCall,
};

/// The router does not follow its calldata: it takes nothing, or pays nothing.
#[tokio::test]
async fn the_routers_effects_are_checked_afterwards() {
    let stage = Stage::fenced().await;
    let honest = Attack::honest(&stage, 1_000 * USD).await;
    let router: Bytes = stage
        .chain
        .rpc()
        .call("eth_getCode", serde_json::json!([ROUTER, "latest"]))
        .await
        .unwrap();
    // The router's code is now only STOP, so it takes nothing and the approval stays.
    stage
        .chain
        .set_code(ROUTER, &Bytes::from([0]))
        .await
        .unwrap();
    honest.refused(&stage, "allowance-left").await;
    stage.chain.set_code(ROUTER, &router).await.unwrap();
    // This output token answers 1 to every call. The router believes it, but the account has no
    // more of it than before.
    let one = Bytes::from(alloy_primitives::hex!("600160005260206000f3"));
    let weth: Bytes = stage
        .chain
        .rpc()
        .call("eth_getCode", serde_json::json!([WETH, "latest"]))
        .await
        .unwrap();
    stage.chain.set_code(WETH, &one).await.unwrap();
    let mut call = swap(1_000 * USD);
    call._minAmountOut = U256::ONE;
    let mut venue =
        crate::onchain::stage::snwapCall::abi_decode(&call._swapData[1].callData).unwrap();
    venue.tokenOut = WETH;
    call._swapData[1].callData = venue.abi_encode().into();
    let attack = Attack::of(&stage, 1_000 * USD, &call).await;
    let observed = stage.redeem(&[attack.entry(&stage)]).await.unwrap_err();
    assert_eq!(observed, "FenceEnforcer:output");
    stage.chain.set_code(WETH, &weth).await.unwrap();
    stage.redeem(&[honest.entry(&stage)]).await.unwrap();
}

/// A swap with a leg at the attacker's contract, which makes its own call there.
fn interposed(amount: u64) -> swapTokensMultipleV3ERC20ToERC20Call {
    let mut call = swap(amount);
    let mut leg = call._swapData[1].clone();
    leg.callTo = INTERPOSED;
    leg.approveTo = INTERPOSED;
    leg.receivingAssetId = USDC;
    leg.fromAmount = U256::ZERO;
    call._swapData.insert(1, leg);
    call
}

/// A venue takes more of the token than the order says, through an earlier allowance of the
/// account.
#[tokio::test]
async fn no_more_than_the_approved_amount_is_taken() {
    let stage = Stage::fenced().await;
    let amount = 1_000 * USD;
    let approve = approveCall {
        spender: INTERPOSED,
        amount: U256::MAX,
    };
    stage
        .send(HOLDER, USDC, &approve.abi_encode().into())
        .await
        .unwrap();
    let take = |taken: u64| transferFromCall {
        from: HOLDER.address,
        to: INTERPOSED,
        amount: U256::from(taken),
    };
    stage.interpose(USDC, take(1).abi_encode().into()).await;
    let attack = Attack::of(&stage, amount, &interposed(amount)).await;
    attack.refused(&stage, "taken").await;
    // The same contract in between is accepted when it takes nothing, so the refusal is for the
    // taking.
    stage.interpose(USDC, take(0).abi_encode().into()).await;
    stage.redeem(&[attack.entry(&stage)]).await.unwrap();
}

/// The redeemer is a contract that redeems a second order in the middle of the first one. Both
/// would count the same output.
#[tokio::test]
async fn a_swap_within_a_swap_is_refused() {
    let mut stage = Stage::fenced().await;
    let terms = ChainTerms {
        grant: &stage.grant,
        policy: &stage.policy,
        redeemer: INTERPOSED,
        level: stage.level,
        nonce: U256::ZERO,
    };
    stage.delegations = delegate_terms(&terms, HOLDER);
    let inner = Attack::honest(&stage, 10 * USD).await;
    let outer = Attack::of(&stage, 1_000 * USD, &interposed(1_000 * USD)).await;
    let run = |attack: &Attack| {
        let call = callCall {
            target: delegation_fence::onchain::MANAGER,
            data: redemption(&[attack.entry(&stage)]),
        };
        Bytes::from(call.abi_encode())
    };
    let within = redemption(&[inner.entry(&stage)]);
    stage
        .interpose(delegation_fence::onchain::MANAGER, within)
        .await;
    let refused = stage.send(STRANGER, INTERPOSED, &run(&outer)).await;
    assert_eq!(refused.unwrap_err(), "FenceEnforcer:nested");
    // The two swaps pass when one follows the other.
    stage.interpose(WETH, approval(ROUTER, U256::ZERO)).await;
    for attack in [&inner, &outer] {
        stage
            .send(STRANGER, INTERPOSED, &run(attack))
            .await
            .unwrap();
    }
}
