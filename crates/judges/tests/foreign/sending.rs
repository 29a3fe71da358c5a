//! Tests of the fence's plans that are sent on a foreign chain: the reports match that chain.

mod delegated;
#[path = "../../../plan-builder/tests/it/swap/sample.rs"]
#[allow(dead_code, reason = "the tests of the constructor use all of it")]
mod sample;
mod stage;

use alloy_primitives::{B256, U256};
use calldata_checks::StepKind;
use delegation_fence::{Event, State, Transaction};
use serde_json::{Value, json};

use crate::base_chain::{TRADER, balance};
use crate::sending::sample::WETH;
use crate::sending::stage::Stage;

#[tokio::test]
async fn a_whole_order_is_sealed_and_what_landed_is_the_balance() {
    let stage = Stage::open().await;
    let plan = stage.accept(1).await;
    assert_eq!(stage.ended(plan).await, State::Done);
    let report = stage.report(plan).await;
    let weth = balance(stage.rpc(), WETH, TRADER.address).await;
    assert_eq!(report.landed, Some((weth, true)));
    assert!(weth > U256::ZERO);
    assert_eq!(stage.allowance().await, U256::ZERO);
    for (hash, block, effective) in report.steps.map(Option::unwrap) {
        let receipt: Value = stage.call("eth_getTransactionReceipt", json!([hash])).await;
        assert_eq!(receipt["blockHash"], block.hash.to_string());
        assert_eq!((receipt["status"] == "0x1", effective), (true, true));
    }
}

#[tokio::test]
async fn a_revocation_after_the_approval_halts_and_the_allowance_is_cleared() {
    let stage = Stage::open().await;
    // The revocation is stored before the next block.
    stage.mine_every(3).await;
    let plan = stage.accept(1).await;
    let approve = Transaction::Step(StepKind::Approve);
    stage
        .until(plan, |event| *event == Event::Ordered(approve))
        .await;
    stage.revoke().await;
    assert_eq!(stage.ended(plan).await, State::HaltedClean);
    let report = stage.report(plan).await;
    assert_eq!(report.reason, Some("grant_revoked"));
    assert!(report.allowance_cleared());
    assert_eq!(stage.allowance().await, U256::ZERO);
    assert_eq!(balance(stage.rpc(), WETH, TRADER.address).await, U256::ZERO);
}

/// The node loses the reset once, and later a reorganisation takes its block back. Each step is
/// still one transaction. When the approval was ordered before the reorganisation, both come into
/// one block. The reset then reads back as an allowance that it did not leave, and the plan halts
/// clean.
#[tokio::test]
async fn a_dropped_transaction_and_a_reorganisation_make_no_second_call() {
    let stage = Stage::open().await;
    stage.mine_every(0).await;
    let plan = stage.accept(1).await;
    let hash = stage.in_pool().await;
    let dropped: Option<B256> = stage.call("anvil_dropTransaction", json!([hash])).await;
    assert_eq!(dropped, Some(hash));
    let again = stage.in_pool().await;
    assert_eq!(again, hash);
    for _ in 0..3 {
        let _: Value = stage.call("evm_mine", json!([])).await;
    }
    let reset = Transaction::Step(StepKind::ApproveReset);
    let is_sealed = move |event: &Event| matches!(event, Event::Sealed { transaction, .. } if *transaction == reset);
    stage.until(plan, is_sealed).await;
    // The node does not put the transactions of the removed blocks back into its pool.
    let _: Value = stage.call("anvil_reorg", json!([3, []])).await;
    stage
        .until(plan, |event| *event == Event::Gone(reset))
        .await;
    stage.mine_every(1).await;
    let ended = stage.ended(plan).await;
    let report = stage.report(plan).await;
    match ended {
        State::Done => {}
        State::HaltedClean => {
            assert_eq!(report.reason, Some("allowance_unexpected"), "{report:?}");
            assert!(report.steps[2].is_none(), "{report:?}");
        }
        _ => panic!("{report:?}"),
    }
    assert_eq!(stage.allowance().await, U256::ZERO);
    let nonce: String = stage
        .call("eth_getTransactionCount", json!([TRADER.address, "latest"]))
        .await;
    assert_eq!(nonce, "0x3");
}
