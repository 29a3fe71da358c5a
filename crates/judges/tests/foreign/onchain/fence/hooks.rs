//! Tests of the enforcer's hooks when others than the manager call them, and with terms that no
//! grant has.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::{SolCall as _, SolValue as _};
use delegation_fence::onchain::Purpose;
use judges::{Anvil, Toolchain};
use serde_json::json;

use super::{Attack, afterHookCall, beforeHookCall};
use crate::onchain::stage::{
    BATCH, DELEGATE, ENFORCER, HOLDER, STRANGER, Stage, USD, reason, runtime_code, swap,
};

/// The call of the hook before a batch, with any terms.
fn before(terms: Bytes, attack: &Attack) -> Bytes {
    let call = beforeHookCall {
        terms,
        args: attack.args(),
        mode: BATCH,
        executionCalldata: attack.executions.abi_encode().into(),
        delegationHash: B256::ZERO,
        delegator: HOLDER.address,
        redeemer: STRANGER.address,
    };
    call.abi_encode().into()
}

/// The terms that the account signed.
fn terms(stage: &Stage) -> Bytes {
    let delegation = crate::onchain::stage::raw(&stage.delegations, Purpose::Swap, &Bytes::new());
    delegation.caveats.last().unwrap().terms.clone()
}

/// A stranger who calls the enforcer directly uses up no account's order.
#[tokio::test]
async fn the_hooks_of_a_stranger_change_nothing() {
    let stage = Stage::fenced().await;
    let honest = Attack::honest(&stage, 1_000 * USD).await;
    let call = before(terms(&stage), &honest);
    stage.send(STRANGER, ENFORCER, &call).await.unwrap();
    stage.redeem(&[honest.entry(&stage)]).await.unwrap();
}

/// The hook after a batch fails without the hook before it.
#[tokio::test]
async fn the_end_needs_its_beginning() {
    let stage = Stage::fenced().await;
    let honest = Attack::honest(&stage, 1_000 * USD).await;
    let call = afterHookCall {
        terms: terms(&stage),
        args: honest.args(),
        mode: BATCH,
        executionCalldata: honest.executions.abi_encode().into(),
        delegationHash: B256::ZERO,
        delegator: HOLDER.address,
        redeemer: STRANGER.address,
    };
    let refused = stage
        .send(STRANGER, ENFORCER, &call.abi_encode().into())
        .await;
    assert_eq!(refused.unwrap_err(), "FenceEnforcer:not-begun");
}

/// The terms have another length, or a function whose legs the enforcer does not read. No grant of
/// this project has such terms.
#[tokio::test]
async fn terms_have_one_form() {
    let stage = Stage::fenced().await;
    let honest = Attack::honest(&stage, 1_000 * USD).await;
    let good = terms(&stage);
    let with = |more: &[u8]| Bytes::from([&good[..], more].concat());
    for bad in [Bytes::new(), good.slice(..188), with(&[0]), with(&[0; 3])] {
        let refused = stage.send(STRANGER, ENFORCER, &before(bad, &honest)).await;
        assert_eq!(refused.unwrap_err(), "FenceEnforcer:terms");
    }
    let other = [0x46, 0x30, 0xa0, 0xd8];
    let mut data = swap(USD).abi_encode();
    data[..4].copy_from_slice(&other);
    let attack = Attack::raw(&stage, U256::from(USD), data.into(), U256::ONE).await;
    let refused = stage
        .send(STRANGER, ENFORCER, &before(with(&other), &attack))
        .await;
    assert_eq!(refused.unwrap_err(), "FenceEnforcer:selector");
}

/// The enforcer takes the order's chain from itself, whatever the terms say.
#[tokio::test]
async fn an_order_counts_on_its_chain() {
    let stage = Stage::fenced().await;
    let honest = Attack::honest(&stage, 1_000 * USD).await;
    let toolchain = Toolchain::from_env().unwrap();
    let elsewhere = Anvil::start_on(&toolchain, 10).await.unwrap();
    elsewhere
        .set_code(ENFORCER, &runtime_code("FenceEnforcer"))
        .await
        .unwrap();
    let call = json!([{"from": Address::ZERO, "to": ENFORCER, "data": before(terms(&stage), &honest)}, "latest"]);
    let refused: Result<Bytes, _> = elsewhere.rpc().call("eth_call", call).await;
    assert_eq!(reason(refused.unwrap_err()), "FenceEnforcer:signer");
    assert_eq!(honest.signed().signer().unwrap(), DELEGATE.address);
}
