//! The policy of the fence, and the messages that are signed under it.

use alloy_primitives::B256;
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use delegation_fence::{
    Domain, Fence, Instance, Message, Name, Policy, Signature, Signed, TypedData,
};
use serde_json::{Value, json};

use super::{AMOUNT, wallet};
use crate::sample::{BASE, USDC, WETH, policy};

const EXAMPLE: &str = include_str!("../../../../../docs/fence-policy.example.json");

pub(crate) fn fence_policy() -> Policy {
    edited_policy(|_| {})
}

pub(crate) fn edited_policy(edit: impl FnOnce(&mut Value)) -> Policy {
    let mut document: Value = serde_json::from_str(EXAMPLE).unwrap();
    document["fee_config_version"] = policy().fees.version.clone().into();
    edit(&mut document);
    Policy::parse(&document.to_string()).unwrap()
}

pub(super) fn instance() -> Instance {
    Instance {
        domain: Domain::new(BASE, B256::repeat_byte(0x11)),
        project_id: Name::new("shop").unwrap(),
    }
}

pub(super) fn fence() -> Fence {
    Fence::new(instance(), fence_policy()).unwrap()
}

pub(super) fn sign<M: Message>(message: M, key: &PrivateKeySigner) -> Signed<M> {
    let typed_data = TypedData::new(instance().domain, message).unwrap();
    let signature = key.sign_hash_sync(&typed_data.digest()).unwrap();
    Signed::new(
        typed_data,
        Signature::from_bytes(&signature.as_bytes()).unwrap(),
    )
}

pub(super) fn arguments() -> Value {
    json!({
        "accountProfile": {"kind": "eoa", "address": wallet().address(), "chainId": BASE},
        "chainId": BASE, "fromToken": USDC, "toToken": WETH,
        "fromAmount": AMOUNT.to_string(), "slippage": {"maxBps": 50},
    })
}
