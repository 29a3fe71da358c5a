//! Tests of how a permission ends: its delegations are disabled, the account's number is increased,
//! or its time is over. The delegation that clears an allowance outlives these ends.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall as _, sol};
use delegation_fence::onchain::{Level, NONCE, Purpose, Read, judge_code};
use dev_chain::base::{ROUTER, USDC, WETH};
use serde_json::json;

use crate::onchain::stage::{
    ENFORCER, Entry, HOLDER, REDEEMER, SINGLE, STRANGER, Stage, USD, approval, delegate, output,
    packed, point, steps, swap,
};

sol! {
    function incrementNonce(address manager) external;
}

async fn read(stage: &Stage, read: &Read) -> Bytes {
    let call = json!([{"to": read.to, "data": read.data}, "latest"]);
    stage.chain.rpc().call("eth_call", call).await.unwrap()
}

async fn disabled(stage: &Stage) -> Vec<bool> {
    let mut answers = Vec::new();
    for hash in stage.delegations.ending() {
        let answer = read(stage, &Read::disabled(hash)).await;
        answers.push(Read::yes(&answer).unwrap());
    }
    answers
}

/// Sends the transactions that the service would now send for a plan. Returns the error of the
/// first one that reverts.
async fn swap_now(stage: &Stage, amount: u64) -> Result<(), String> {
    let call = swap(amount).abi_encode().into();
    let order = stage.sign_order(&stage.order(&call, output(amount)).await);
    let plan = steps(amount, &call);
    for redemption in stage.delegations.redemptions(&plan, &order).unwrap() {
        stage.send_call(&redemption.call).await?;
    }
    Ok(())
}

#[tokio::test]
async fn disabled_delegations_are_over_and_the_clearing_is_left() {
    for level in [Level::Stock, Level::Enforcer(ENFORCER)] {
        let stage = Stage::open(level).await;
        swap_now(&stage, 1_000 * USD).await.unwrap();
        // Neither the redeemer nor anyone else can end the permission.
        let disable = stage.delegations.disable(&[]).unwrap();
        let refused = stage.send(REDEEMER, disable.to, &disable.data).await;
        assert_eq!(refused.unwrap_err(), "NotEntryPointOrSelf()");
        let each = stage.delegations.disable_each(&[]);
        let refused = stage.send(REDEEMER, each[0].to, &each[0].data).await;
        assert_eq!(refused.unwrap_err(), "InvalidDelegator()");

        let receipt = stage.send_call(&disable).await.unwrap();
        println!("gas of the end: {}", receipt.gas_used);
        assert!(disabled(&stage).await.into_iter().all(|yes| yes));
        let refused = swap_now(&stage, USD).await.unwrap_err();
        assert_eq!(refused, "CannotUseADisabledDelegation()");
        // The end disables all delegations or none, and it cannot be sent twice.
        assert!(stage.send_call(&disable).await.is_err());
        assert_eq!(stage.delegations.disable(&stage.delegations.ending()), None);

        // The redeemer or the account can clear an allowance that is left.
        for clear in [
            stage.delegations.clear(),
            stage.delegations.clear_by_account(),
        ] {
            stage.approve(USDC, U256::from(7)).await;
            let left = read(&stage, &Read::allowance(&stage.delegations)).await;
            assert_eq!(Read::number(&left), Some(U256::from(7)));
            stage.send_call(&clear).await.unwrap();
            assert_eq!(stage.allowance(USDC).await, U256::ZERO);
        }
        let refused = stage.send_call(&stage.delegations.clear()).await;
        assert_eq!(
            refused.unwrap_err(),
            "ApprovalRevocationEnforcer:no-approval-to-revoke"
        );
    }
}

/// One delegation is disabled already. The end names only the others, because the manager refuses
/// to disable a delegation twice.
#[tokio::test]
async fn the_end_names_the_delegations_that_are_not_disabled() {
    let stage = Stage::stock().await;
    let each = stage.delegations.disable_each(&[]);
    stage.send_call(&each[0]).await.unwrap();
    assert_eq!(disabled(&stage).await, [true, false]);
    let all = stage.delegations.disable(&[]).unwrap();
    assert_eq!(
        stage.send_call(&all).await.unwrap_err(),
        "AlreadyDisabled()"
    );
    let already = &stage.delegations.ending()[..1];
    let rest = stage.delegations.disable(already).unwrap();
    stage.send_call(&rest).await.unwrap();
    assert_eq!(disabled(&stage).await, [true, true]);
}

/// The clearing delegation allows nothing else.
#[tokio::test]
async fn the_clearing_only_clears() {
    let stage = Stage::stock().await;
    stage.approve(USDC, U256::from(7)).await;
    stage.approve(WETH, U256::from(7)).await;
    let entry = |target: Address, data: Bytes| Entry {
        context: stage.context(Purpose::Clear, &Bytes::new()),
        mode: SINGLE,
        execution: packed(target, 0, &data),
    };
    let cases = [
        (
            entry(USDC, approval(ROUTER, U256::ONE)),
            "ApprovalRevocationEnforcer:non-zero-amount",
        ),
        (
            entry(USDC, approval(STRANGER.address, U256::ZERO)),
            "AllowedCalldataEnforcer:invalid-calldata",
        ),
        (
            entry(WETH, approval(ROUTER, U256::ZERO)),
            "AllowedTargetsEnforcer:target-address-not-allowed",
        ),
        (
            entry(ROUTER, swap(USD).abi_encode().into()),
            "AllowedTargetsEnforcer:target-address-not-allowed",
        ),
    ];
    for (entry, expected) in cases {
        stage.refused(&[entry], expected).await;
    }
    let transfer = [
        &[0xa9, 0x05, 0x9c, 0xbb][..],
        &approval(ROUTER, U256::ONE)[4..],
    ]
    .concat();
    let transfer = entry(USDC, transfer.into());
    assert!(stage.redeem(&[transfer]).await.is_err());
    let honest = entry(USDC, approval(ROUTER, U256::ZERO));
    stage
        .refused_as(STRANGER, std::slice::from_ref(&honest), "InvalidDelegate()")
        .await;
    stage.redeem(&[honest]).await.unwrap();
}

#[tokio::test]
async fn a_grant_ends_with_its_time_and_with_the_accounts_number() {
    for level in [Level::Stock, Level::Enforcer(ENFORCER)] {
        let mut stage = Stage::open(level).await;
        let nonce = read(&stage, &Read::nonce(HOLDER.address)).await;
        assert_eq!(Read::number(&nonce), Some(U256::ZERO));
        let count = incrementNonceCall {
            manager: delegation_fence::onchain::MANAGER,
        };
        let count = count.abi_encode().into();
        stage.send(HOLDER, NONCE, &count).await.unwrap();
        let refused = swap_now(&stage, USD).await.unwrap_err();
        assert_eq!(refused, "NonceEnforcer:invalid-nonce");
        // The account signs the delegations again for its new number.
        stage.delegations = delegate(&stage.grant, &stage.policy, level, HOLDER, U256::ONE);
        swap_now(&stage, USD).await.unwrap();

        let left = stage.grant.message().expires_at - stage.time().await;
        stage.pass_time(left - 60).await;
        swap_now(&stage, 2 * USD).await.unwrap();
        stage.pass_time(60).await;
        let refused = swap_now(&stage, 3 * USD).await.unwrap_err();
        assert_eq!(refused, "TimestampEnforcer:expired-delegation");
        // The delegation that clears is valid for a day longer.
        stage.approve(USDC, U256::from(7)).await;
        stage.send_call(&stage.delegations.clear()).await.unwrap();
        stage.approve(USDC, U256::from(7)).await;
        stage
            .pass_time(delegation_fence::onchain::CLEAR_GRACE_SECONDS)
            .await;
        let refused = stage.send_call(&stage.delegations.clear()).await;
        assert_eq!(refused.unwrap_err(), "TimestampEnforcer:expired-delegation");
    }
}

/// An account without its code executes nothing. When the code is back, the delegations count
/// again. The holder can also re-enable a disabled delegation. Only the present state of the chain
/// counts.
#[tokio::test]
async fn an_end_on_the_chain_can_be_undone() {
    let stage = Stage::stock().await;
    stage
        .chain
        .set_code(HOLDER.address, &Bytes::new())
        .await
        .unwrap();
    assert!(swap_now(&stage, USD).await.is_err());
    let error = judge_code(&[]).unwrap_err();
    assert_eq!(error.code(), "account_code_mismatch");
    point(&stage.chain, HOLDER, 0).await;
    swap_now(&stage, USD).await.unwrap();

    let disable = stage.delegations.disable(&[]).unwrap();
    stage.send_call(&disable).await.unwrap();
    for purpose in [Purpose::Approve, Purpose::Call] {
        let delegation = crate::onchain::stage::raw(&stage.delegations, purpose, &Bytes::new());
        let enable = crate::onchain::stage::enableDelegationCall { delegation };
        let enable = enable.abi_encode().into();
        let manager = delegation_fence::onchain::MANAGER;
        stage.send(HOLDER, manager, &enable).await.unwrap();
    }
    assert_eq!(disabled(&stage).await, [false, false]);
    swap_now(&stage, 2 * USD).await.unwrap();
}
