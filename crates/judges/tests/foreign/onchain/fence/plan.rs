//! Tests that the batch is exactly the ordered plan, in its only encoding.

use alloy_primitives::{Bytes, U256};
use alloy_sol_types::SolCall as _;
use delegation_fence::Rule;
use dev_chain::base::{EXCHANGE, ROUTER, USDC, WETH};

use super::{Attack, usedCall};
use crate::onchain::stage::{
    ENFORCER, Execution, HOLDER, SINGLE, STRANGER, Stage, USD, approval, output, steps, swap,
};

/// The calldata that the service would send carries the whole plan in one transaction.
#[tokio::test]
async fn a_plan_goes_out_as_one_transaction() {
    let stage = Stage::fenced().await;
    let call = swap(5_000 * USD).abi_encode().into();
    let order = stage.order(&call, output(5_000 * USD)).await;
    let signed = stage.sign_order(&order);
    let plan = steps(5_000 * USD, &call);
    let [redemption] = &stage.delegations.redemptions(&plan, &signed).unwrap()[..] else {
        panic!("one redemption")
    };
    assert_eq!(redemption.steps, plan.each_ref().map(|step| step.kind));
    let before = stage.holdings().await;
    let receipt = stage.send_call(&redemption.call).await.unwrap();
    let after = stage.holdings().await;
    assert_eq!(before[0] - after[0], U256::from(5_000 * USD));
    assert_eq!(after[1] - before[1], output(5_000 * USD));
    assert_eq!(after[2], U256::ZERO);
    println!("gas of the one redemption: {}", receipt.gas_used);
    let used = usedCall {
        manager: delegation_fence::onchain::MANAGER,
        account: HOLDER.address,
        payloadDigest: order.payload_digest,
    };
    assert!(stage.chain.rpc().view(ENFORCER, &used).await.unwrap());
    // The test sends the same order again, and then another order over the same plan.
    let again = stage.send_call(&redemption.call).await.unwrap_err();
    assert_eq!(again, "FenceEnforcer:used");
    let mut other = Attack::of(&stage, 5_000 * USD, &swap(5_000 * USD)).await;
    other.order.payload_digest = order.payload_digest;
    other.order.deadline += 1;
    other.refused(&stage, "used").await;
}

#[tokio::test]
async fn the_cap_is_exact() {
    let stage = Stage::fenced().await;
    let above = 5_000 * USD + 1;
    Attack::honest(&stage, above)
        .await
        .refused(&stage, "cap")
        .await;
    let call = steps(above, &Bytes::new());
    let order = stage.sign_order(&stage.order(&Bytes::new(), U256::ONE).await);
    let refusal = stage.delegations.redemptions(&call, &order).unwrap_err();
    assert_eq!(refusal.rule, Rule::DelegationCap);
    let honest = Attack::honest(&stage, 5_000 * USD).await;
    stage.redeem(&[honest.entry(&stage)]).await.unwrap();
    // The amounts are zero and everything.
    for amount in [U256::ZERO, U256::MAX] {
        let call = swap(USD).abi_encode().into();
        Attack::raw(&stage, amount, call, U256::ONE)
            .await
            .refused(&stage, "cap")
            .await;
    }
}

#[tokio::test]
async fn the_steps_are_those_of_a_plan() {
    let stage = Stage::fenced().await;
    let honest = Attack::honest(&stage, 1_000 * USD).await;
    let with = |edit: &dyn Fn(&mut Attack)| {
        let mut attack = honest.clone();
        edit(&mut attack);
        attack
    };
    let small = U256::from(1_000 * USD);
    let cases: Vec<(Attack, &str)> = vec![
        // A step calls another token or another router.
        (with(&|a| a.executions[0].target = WETH), "token"),
        (with(&|a| a.executions[1].target = WETH), "token"),
        (with(&|a| a.executions[2].target = EXCHANGE), "router"),
        (with(&|a| a.executions[2].target = USDC), "router"),
        (with(&|a| a.executions[2].target = HOLDER.address), "router"),
        // A step has another spender, another function or another amount.
        (
            with(&|a| a.executions[0].callData = approval(STRANGER.address, U256::ZERO)),
            "reset",
        ),
        (
            with(&|a| a.executions[0].callData = approval(ROUTER, U256::ONE)),
            "reset",
        ),
        (
            with(&|a| a.executions[1].callData = approval(STRANGER.address, small)),
            "approval",
        ),
        (
            with(&|a| a.executions[1].callData = Bytes::new()),
            "approval",
        ),
        (
            with(&|a| {
                let mut data = a.executions[1].callData.to_vec();
                data[..4].copy_from_slice(&[0xa9, 0x05, 0x9c, 0xbb]);
                a.executions[1].callData = data.into();
            }),
            "approval",
        ),
        (
            with(&|a| {
                a.executions[1].callData =
                    [a.executions[1].callData.as_ref(), &[0]].concat().into();
            }),
            "approval",
        ),
        (
            with(&|a| a.executions[1].callData = approval(ROUTER, small + U256::ONE)),
            "amount",
        ),
        // The batch has one step more, one step less, or the steps in another order.
        (
            with(&|a| a.executions.push(a.executions[2].clone())),
            "steps",
        ),
        (
            with(&|a| {
                a.executions.push(Execution {
                    target: USDC,
                    value: U256::ZERO,
                    callData: approval(STRANGER.address, U256::MAX),
                });
            }),
            "steps",
        ),
        (with(&|a| drop(a.executions.remove(0))), "steps"),
        (with(&|a| a.executions.clear()), "steps"),
        (with(&|a| a.executions.swap(0, 1)), "reset"),
        (with(&|a| a.executions.swap(1, 2)), "token"),
        // A step sends native coins.
        (with(&|a| a.executions[0].value = U256::ONE), "value"),
        (with(&|a| a.executions[1].value = U256::ONE), "value"),
        (with(&|a| a.executions[2].value = U256::ONE), "value"),
    ];
    for (attack, expected) in cases {
        attack.refused(&stage, expected).await;
    }
    // The modes are one call at a time, calls that may fail, and unknown ones.
    for place in 0..32 {
        let mut attack = honest.clone();
        attack.mode = SINGLE;
        attack.mode.0[place] = 1;
        let expected = match place {
            0 => continue,
            // An enforcer that runs earlier refuses this mode.
            1 => "CaveatEnforcer:invalid-execution-type",
            _ => "mode",
        };
        attack.refused(&stage, expected).await;
    }
    let mut single = honest.entry(&stage);
    single.mode = SINGLE;
    single.execution = crate::onchain::stage::packed(USDC, 0, &approval(ROUTER, small));
    stage.refused(&[single], "FenceEnforcer:mode").await;
    // The chain accepts the unchanged parts, so each refusal above is for its one change.
    stage.redeem(&[honest.entry(&stage)]).await.unwrap();
}

#[tokio::test]
async fn a_batch_has_one_encoding() {
    let stage = Stage::fenced().await;
    let honest = Attack::honest(&stage, 1_000 * USD).await.entry(&stage);
    let expect = "FenceEnforcer:encoding";
    let trailing = [honest.execution.as_ref(), &[0; 32]].concat();
    // The same list begins later, and the first word says where.
    let moved = [
        &U256::from(64).to_be_bytes::<32>(),
        &[0; 32][..],
        &honest.execution[32..],
    ]
    .concat();
    for execution in [trailing, moved] {
        let mut entry = honest.clone();
        entry.execution = execution.into();
        stage.refused(&[entry], expect).await;
    }
}
