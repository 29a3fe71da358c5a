//! Tests of plans for the users' own accounts, in which the published framework limits the service.

use alloy_primitives::{Bytes, U256, hex};
use calldata_checks::StepKind;
use delegation_fence::onchain::{ChainGrant, IMPLEMENTATION, Level};
use delegation_fence::{Event, State, Transaction};
use dev_chain::base::{ROUTER, USDC};
use judges::Account;
use serde_json::{Value, json};

use crate::base_chain::{TRADER, balance};
use crate::onchain::install::{ENFORCER, sign};
use crate::sending::sample::WETH;
use crate::sending::stage::Stage;

const APPROVE: Transaction = Transaction::Step(StepKind::Approve);

async fn nonce(stage: &Stage, account: Account) -> String {
    let params = json!([account.address, "latest"]);
    stage.call("eth_getTransactionCount", params).await
}

/// The stock level takes three redemptions. The project's enforcer takes one, and all steps have
/// its hash. The account sends nothing itself.
#[tokio::test]
async fn a_plan_is_redeemed_in_three_transactions_or_in_one() {
    for level in [Level::Stock, Level::Enforcer(ENFORCER)] {
        let stage = Stage::delegated(level).await;
        let before = nonce(&stage, TRADER).await;
        let plan = stage.accept(1).await;
        assert_eq!(stage.ended(plan).await, State::Done, "{level:?}");
        let report = stage.report(plan).await;
        let weth = balance(stage.rpc(), WETH, TRADER.address).await;
        assert_eq!(report.landed, Some((weth, true)));
        assert!(weth > U256::ZERO);
        assert_eq!(stage.allowance().await, U256::ZERO);
        assert_eq!(nonce(&stage, TRADER).await, before);
        let [reset, approve, call] = report.steps.map(Option::unwrap);
        let at_once = level != Level::Stock;
        assert_eq!((reset == approve, approve == call), (at_once, at_once));
        for (hash, block, effective) in [reset, approve, call] {
            let receipt: Value = stage.call("eth_getTransactionReceipt", json!([hash])).await;
            assert_eq!(receipt["blockHash"], block.hash.to_string());
            assert_eq!((receipt["status"] == "0x1", effective), (true, true));
            let from = Account::SETTLER.address.to_string().to_lowercase();
            assert_eq!(receipt["from"], from);
        }
    }
}

/// The delegation that clears the allowance outlives the revocation.
#[tokio::test]
async fn a_revocation_after_the_approval_halts_and_the_redeemer_clears() {
    let stage = Stage::delegated(Level::Stock).await;
    stage.mine_every(3).await;
    let plan = stage.accept(1).await;
    let approved = |event: &Event| *event == Event::Ordered(APPROVE);
    stage.until(plan, approved).await;
    stage.revoke().await;
    assert_eq!(stage.ended(plan).await, State::HaltedClean);
    let report = stage.report(plan).await;
    assert_eq!(report.reason, Some("grant_revoked"));
    assert!(report.allowance_cleared());
    assert_eq!(stage.allowance().await, U256::ZERO);
    assert_eq!(balance(stage.rpc(), WETH, TRADER.address).await, U256::ZERO);
}

/// The account's own transaction on the chain stops the next step. The service gets no request
/// about it.
#[tokio::test]
async fn delegations_that_the_account_disables_stop_the_next_step() {
    let stage = Stage::delegated(Level::Stock).await;
    let grant = ChainGrant::restore(stage.file.signed.typed_data(), &stage.file.delegations);
    let disable = grant.unwrap().disable(&[]).unwrap();
    stage.stop_mining().await;
    let plan = stage.accept(1).await;
    stage.in_pool().await;
    // The transaction comes into the same block as the first step.
    stage.account_submits(disable.to, &disable.data).await;
    stage.mine().await;
    stage.go_on_mining().await;
    assert_eq!(stage.ended(plan).await, State::HaltedClean);
    let report = stage.report(plan).await;
    // The block that disables the delegations also has the reset. Whichever is read first, nothing
    // was approved.
    let halted_at = report.halted_at;
    assert!(
        matches!(halted_at, Some(StepKind::ApproveReset | StepKind::Approve)),
        "{halted_at:?}"
    );
    assert_eq!(report.reason, Some("delegation_disabled"));
    assert_eq!(stage.allowance().await, U256::ZERO);
    // The service accepts no further order under the disabled delegations.
    let refused = stage.try_accept(2).await.unwrap_err();
    assert_eq!(refused.code(), "delegation_disabled");
}

/// A revocation at the service counts on the chain only when a sealed block says so.
#[tokio::test]
async fn a_revocation_is_confirmed_when_the_chain_says_so_too() {
    for (level, count) in [(Level::Stock, 2), (Level::Enforcer(ENFORCER), 1)] {
        let stage = Stage::delegated(level).await;
        stage.revoke().await;
        for _ in 0..count {
            let read = stage.on_chain().await;
            assert!(!read.disabled && read.block.is_some());
            let disable = read.disable.unwrap();
            assert_eq!(disable.from, TRADER.address);
            stage.account_sends(disable.to, &disable.data).await;
            let head = stage.head().await;
            stage.sealed_above(head).await;
            // What was read of the chain is shared for three seconds.
            test_support::skip(std::time::Duration::from_secs(4)).await;
        }
        let read = stage.on_chain().await;
        assert!(read.disabled && read.disable.is_none() && read.block.is_some());
    }
}

/// Attack 26 of `docs/THREATS.md`: the account gives its code up while an allowance is open. The
/// service cannot clear the allowance, and shows the transaction that does.
#[tokio::test]
async fn without_its_code_an_account_has_to_clear_by_itself() {
    let stage = Stage::delegated(Level::Stock).await;
    stage.mine_every(3).await;
    let plan = stage.accept(1).await;
    let approved = |event: &Event| *event == Event::Ordered(APPROVE);
    stage.until(plan, approved).await;
    stage.stop_mining().await;
    stage.in_pool().await;
    stage.mine().await;
    assert!(stage.allowance().await > U256::ZERO);
    stage.set_code(&[]).await;
    stage.mine().await;
    stage.mine().await;
    stage.rests_in(plan, State::HaltedDirty).await;
    let report = stage.report(plan).await;
    assert_eq!(report.reason, Some("account_code_mismatch"), "{report:?}");
    let clear = report.clear_transaction.unwrap();
    assert_eq!(clear.to, USDC);
    stage.go_on_mining().await;
    stage.account_sends(clear.to, &clear.data).await;
    assert_eq!(stage.ended(plan).await, State::HaltedClean);
    assert_eq!(stage.allowance().await, U256::ZERO);
    let refused = stage.try_accept(2).await.unwrap_err();
    assert_eq!(refused.code(), "account_code_mismatch");
}

/// The service keeps delegations only when they are exactly those that the grant promises on this
/// chain, whatever their signatures say.
#[tokio::test]
async fn a_grant_is_compared_with_the_chain_when_it_comes() {
    let stage = Stage::delegated(Level::Stock).await;
    let file = stage.file.clone();
    let code = async |file| {
        let received = stage.delegations.receive_grant(file).await;
        received.map_or_else(|error| error.code(), |_| "ok")
    };
    assert_eq!(code(file.clone()).await, "ok");
    let mut fewer = file.clone();
    fewer.delegations.pop();
    assert_eq!(code(fewer).await, "delegations_missing");
    let mut other = file.clone();
    let mut delegation = other.delegations[0].delegation.clone();
    delegation.caveats.pop();
    let signature = sign(TRADER, delegation.digest(8453));
    other.delegations[0] = delegation.sign_with(signature);
    assert_eq!(code(other).await, "delegation_caveat_missing");
    // With an allowance of the router, the redeemer alone could spend the account's tokens.
    let approve = [
        &hex!("095ea7b3000000000000000000000000")[..],
        ROUTER.as_slice(),
        &[0; 31],
        &[1],
    ];
    let approve = Bytes::from(approve.concat());
    stage.account_sends(WETH, &approve).await;
    let head = stage.head().await;
    stage.sealed_above(head).await;
    assert_eq!(code(file.clone()).await, "router_allowance_open");
    let other = [&[0xef, 0x01, 0x00], ENFORCER.as_slice()].concat();
    assert_ne!(ENFORCER, IMPLEMENTATION);
    stage.set_code(&other).await;
    let head = stage.head().await;
    stage.sealed_above(head + 1).await;
    assert_eq!(code(file).await, "account_code_mismatch");
}
