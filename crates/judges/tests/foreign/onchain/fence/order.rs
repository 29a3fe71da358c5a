//! Tests of the order: its signer, its content, its single use, its deadline.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::SolValue as _;
use delegation_fence::onchain::{Level, Purpose};
use delegation_fence::{Domain, Order};
use dev_chain::base::{EXCHANGE, USDC};
use serde_json::{Value, json};

use super::{Attack, args};
use crate::onchain::stage::{
    ENFORCER, HOLDER, REDEEMER, STRANGER, Stage, USD, context, delegate, grant,
};

#[tokio::test]
async fn the_order_says_the_rest() {
    let stage = Stage::fenced().await;
    let amount = 1_000 * USD;
    let honest = Attack::honest(&stage, amount).await;
    let with = |edit: &dyn Fn(&mut Attack)| {
        let mut attack = honest.clone();
        edit(&mut attack);
        attack
    };
    let cases: Vec<(Attack, &str)> = vec![
        // With the redeemer's key alone, the attacker cannot change any part of the delegate's
        // order.
        (with(&|a| a.signed_by = REDEEMER), "signer"),
        (with(&|a| a.signed_by = HOLDER), "signer"),
        (
            with(&|a| a.domain = Domain::new(1, B256::repeat_byte(0x11))),
            "signer",
        ),
        (
            with(&|a| a.domain = Domain::new(8453, B256::repeat_byte(0x12))),
            "signer",
        ),
        (
            with(&|a| a.domain = Domain::branded("other", 8453, B256::repeat_byte(0x11)).unwrap()),
            "signer",
        ),
        (with(&|a| a.order.account = STRANGER.address), "signer"),
        (
            with(&|a| a.order.grant_id = B256::repeat_byte(0x23)),
            "signer",
        ),
        // The order is for another call or another output token, or has no minimum, or has a
        // minimum that the call does not promise.
        (with(&|a| a.order.call_hash = B256::repeat_byte(1)), "call"),
        (with(&|a| a.order.output_token = USDC), "output-token"),
        (with(&|a| a.order.output_token = EXCHANGE), "output-token"),
        (with(&|a| a.order.min_amount_out = U256::ZERO), "minimum"),
        (with(&|a| a.order.min_amount_out += U256::ONE), "minimum"),
        (with(&|a| a.order.deadline = 1), "deadline"),
    ];
    for (attack, expected) in cases {
        attack.refused(&stage, expected).await;
    }
    // The attacker has the redeemer's key, and changes each member of a valid order.
    let signature = *honest.signed().signature().as_bytes();
    let changes: [fn(&mut Order); 5] = [
        |order| order.payload_digest = B256::repeat_byte(9),
        |order| order.call_hash = B256::repeat_byte(9),
        |order| order.output_token = STRANGER.address,
        |order| order.min_amount_out -= U256::ONE,
        |order| order.deadline += 1,
    ];
    for change in changes {
        let mut changed = honest.order.clone();
        change(&mut changed);
        let mut entry = honest.entry(&stage);
        entry.context = stage.context(Purpose::Swap, &args(&changed, &signature));
        stage.refused(&[entry], "FenceEnforcer:signer").await;
    }
    // The signatures: the twin of the right one, others of other lengths, and one with another last
    // byte.
    let order = U256::from_str_radix(
        "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141",
        16,
    );
    let mut twin = signature;
    let s = order.unwrap() - U256::from_be_slice(&signature[32..64]);
    twin[32..64].copy_from_slice(&s.to_be_bytes::<32>());
    twin[64] = 27 + 28 - signature[64];
    let mut low = signature;
    low[64] -= 27;
    let cases: [(&[u8], &str); 4] = [
        (&twin, "ECRecover: invalid signature 's' value"),
        (&low, "ECRecover: invalid signature 'v' value"),
        (&signature[..64], "ECRecover: invalid signature length"),
        (&[], "ECRecover: invalid signature length"),
    ];
    for (signature, expected) in cases {
        let mut entry = honest.entry(&stage);
        entry.context = stage.context(Purpose::Swap, &args(&honest.order, signature));
        stage.refused(&[entry], expected).await;
    }
    // The order is still valid in the second of its deadline.
    let other = Attack::honest(&stage, 2 * USD).await;
    let (deadline, next) = (other.order.deadline, "evm_setNextBlockTimestamp");
    let _: Value = stage
        .chain
        .rpc()
        .call(next, json!([deadline]))
        .await
        .unwrap();
    stage.redeem(&[other.entry(&stage)]).await.unwrap();
    stage.pass_time(1).await;
    honest.refused(&stage, "deadline").await;
}

/// The two entries of one transaction would count the same output, so the second use of the order
/// is refused.
#[tokio::test]
async fn an_order_is_used_once_within_a_transaction_too() {
    let stage = Stage::fenced().await;
    let entry = Attack::honest(&stage, 1_000 * USD).await.entry(&stage);
    stage
        .refused(&[entry.clone(), entry], "FenceEnforcer:used")
        .await;
}

/// The delegation is another account's, or was not signed by its account, or lacks a caveat, or
/// another account redeems it.
#[tokio::test]
async fn a_delegation_counts_for_its_account_and_redeemer() {
    let stage = Stage::fenced().await;
    let level = Level::Enforcer(ENFORCER);
    let honest = Attack::honest(&stage, 1_000 * USD).await;
    let others = grant(&stage.policy, STRANGER.address, 5_000 * USD);
    let others = delegate(&others, &stage.policy, level, STRANGER, U256::ZERO);
    let mut entry = honest.entry(&stage);
    entry.context = context(&others, Purpose::Swap, &honest.args());
    stage.refused(&[entry], "FenceEnforcer:signer").await;

    let mut forged = crate::onchain::stage::raw(&stage.delegations, Purpose::Swap, &honest.args());
    forged.caveats.remove(1);
    let mut entry = honest.entry(&stage);
    entry.context = vec![forged].abi_encode().into();
    stage
        .refused(&[entry.clone()], "InvalidERC1271Signature()")
        .await;
    entry.context = Bytes::new();
    stage.refused(&[entry], "0x").await;

    stage
        .refused_as(STRANGER, &[honest.entry(&stage)], "InvalidDelegate()")
        .await;
    // The redeemer delegates further to a stranger.
    let root = crate::onchain::stage::raw(&stage.delegations, Purpose::Swap, &honest.args());
    let passed = pass_on(&stage, STRANGER.address);
    let mut entry = honest.entry(&stage);
    entry.context = vec![passed, root].abi_encode().into();
    stage
        .refused_as(STRANGER, &[entry], "RedeemerEnforcer:unauthorized-redeemer")
        .await;
    stage.redeem(&[honest.entry(&stage)]).await.unwrap();
}

/// A delegation by the redeemer whose authority is the account's delegation.
fn pass_on(stage: &Stage, to: Address) -> crate::onchain::stage::Delegation {
    use alloy_sol_types::SolStruct as _;
    mod typed {
        alloy_sol_types::sol! {
            struct Caveat { address enforcer; bytes terms; }
            struct Delegation { address delegate; address delegator; bytes32 authority; Caveat[] caveats; uint256 salt; }
        }
    }
    let (_, root) = &stage.delegations.delegations()[0];
    let message = typed::Delegation {
        delegate: to,
        delegator: REDEEMER.address,
        authority: root.delegation.hash(),
        caveats: Vec::new(),
        salt: U256::ZERO,
    };
    let domain = alloy_sol_types::Eip712Domain::new(
        Some("DelegationManager".into()),
        Some("1".into()),
        Some(U256::from(8453)),
        Some(delegation_fence::onchain::MANAGER),
        None,
    );
    let signature = crate::onchain::stage::sign(REDEEMER, message.eip712_signing_hash(&domain));
    crate::onchain::stage::Delegation {
        delegate: to,
        delegator: REDEEMER.address,
        authority: message.authority,
        caveats: Vec::new(),
        salt: U256::ZERO,
        signature: Bytes::copy_from_slice(signature.as_bytes()),
    }
}
