//! The account's grant, signed by its owner.

use alloy_primitives::{B256, U256};
use delegation_fence::onchain::{ChainTerms, Level, SignedDelegation};
use delegation_fence::{
    Domain, Grant, Instance, Message, Name, Policy, Signature, Signed, TypedData,
};
use dev_chain::base::CHAIN_ID;
use judges::Account;
use serde_json::Value;

use crate::base_chain::TRADER;
use crate::onchain::install;
use crate::sending::sample::policy;

const POLICY: &str = include_str!("../../../../../../docs/fence-policy.example.json");
const SALT: B256 = B256::repeat_byte(0x11);

pub(super) fn key(number: u8) -> keystore::Key {
    keystore::Key::from_bytes(&[number; 32]).unwrap()
}

pub(super) fn fence_policy() -> Policy {
    let mut document: Value = serde_json::from_str(POLICY).unwrap();
    document["fee_config_version"] = policy().fees.version.clone().into();
    Policy::parse(&document.to_string()).unwrap()
}

pub(super) fn instance() -> Instance {
    Instance {
        domain: Domain::new(CHAIN_ID, SALT),
        project_id: Name::new("shop").unwrap(),
    }
}

pub(super) fn sign<M: Message>(message: M, key: &keystore::Key) -> Signed<M> {
    let typed_data = TypedData::new(instance().domain, message).unwrap();
    let signature = key.sign(typed_data.digest()).unwrap();
    Signed::new(typed_data, Signature::from_bytes(&signature).unwrap())
}

/// The delegations of the grant, signed by its account.
pub(super) fn delegations(grant: &TypedData<Grant>, level: Level) -> Vec<SignedDelegation> {
    let policy = fence_policy();
    let terms = ChainTerms {
        grant,
        policy: &policy,
        redeemer: Account::SETTLER.address,
        level,
        nonce: U256::ZERO,
    };
    let promised = terms.delegations().unwrap().into_iter();
    promised
        .map(|(_, delegation)| {
            let signature = install::sign(TRADER, delegation.digest(CHAIN_ID));
            delegation.sign_with(signature)
        })
        .collect()
}
