//! Messages of the fence, with usual and with extreme values, and our hashes of them.

#![allow(dead_code, reason = "each test file compiles this module for itself")]

use alloy_primitives::{Address, B256, Bytes, U256};
use delegation_fence::onchain::{Caveat, Delegation};
use delegation_fence::{
    AccountKind, Domain, Grant, Limit, Message, Name, Order, Revocation, TypedData,
};

/// Well-known keys of local chains.
pub(crate) const KEYS: [&str; 2] = [
    "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
];

/// A message as typed data, with its hashes.
pub(crate) struct Case {
    pub(crate) json: String,
    pub(crate) domain_hash: B256,
    pub(crate) message_hash: B256,
    pub(crate) digest: B256,
}

fn case<M: Message>(domain: &Domain, message: M) -> Case {
    let typed_data = TypedData::new(domain.clone(), message).unwrap();
    Case {
        json: typed_data.to_json(),
        domain_hash: typed_data.domain_hash(),
        message_hash: typed_data.message_hash(),
        digest: typed_data.digest(),
    }
}

/// A delegation of the chain's framework, which the account signs together with a grant.
fn delegation(chain_id: u64, delegation: &Delegation) -> Case {
    Case {
        json: delegation.typed_data(chain_id).to_string(),
        domain_hash: Delegation::domain_hash(chain_id),
        message_hash: delegation.hash(),
        digest: delegation.digest(chain_id),
    }
}

/// All four messages and a delegation. Each occurs with values of several sizes.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (fill, chain_id, amount, time) in [
        (0x11, 8453, U256::from(5_000_000_000_u64), 1_795_222_800),
        (0x00, 1, U256::ZERO, 0),
        (0xff, u64::MAX >> 11, U256::MAX, 253_402_300_799),
        (0x80, 196, U256::from(u64::MAX) + U256::ONE, 1),
    ] {
        let (address, word) = (Address::repeat_byte(fill), B256::repeat_byte(fill));
        let domain = Domain::new(chain_id, word);
        let name = |text: &str| Name::new(text).unwrap();
        let grant = Grant {
            account: address,
            account_kind: AccountKind::ALL[usize::from(fill) % 4],
            chain_id,
            policy_name: name("svc-base-swap-fence.v3"),
            rules_digest: word,
            project_id: name(&"x".repeat(64)),
            capability: name("send_evm_transaction"),
            delegate: address,
            per_swap_cap: amount,
            grant_id: word,
            issued_at: time,
            not_before: time,
            expires_at: time,
        };
        let revocation = Revocation {
            account: address,
            chain_id,
            grant_id: word,
            project_id: name("svc base, swap"),
            revoked_at: time,
        };
        let limit = Limit {
            account: address,
            grant_id: word,
            per_swap_cap: amount,
            max_swaps: u64::MAX,
            outflow_24h: amount,
            issued_at: time,
        };
        let order = Order {
            account: address,
            grant_id: word,
            payload_digest: word,
            call_hash: word,
            output_token: address,
            min_amount_out: amount,
            deadline: time,
        };
        cases.push(case(&domain, grant));
        cases.push(case(&domain, revocation));
        cases.push(case(&domain, limit));
        cases.push(case(&domain, order));
        let caveat = |length: usize| Caveat {
            enforcer: address,
            terms: Bytes::from(vec![fill; length]),
        };
        let signed = Delegation {
            delegate: address,
            delegator: address,
            caveats: [0, 1, 32, 33].map(caveat).to_vec(),
            salt: amount,
        };
        cases.push(delegation(chain_id, &signed));
    }
    cases
}
