//! A policy, an account with a grant, and an ordered plan. Everything is valid until a test changes
//! it.

use alloy_primitives::{Address, B256, U256, address, b256, keccak256};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use calldata_checks::UtcSeconds;
use delegation_fence::{
    Account, AccountKind, Admitted, Confirmation, Domain, Fence, Grant, Instance, Limit, Message,
    Name, Now, Order, Peg, Phase, Policy, ReadBack, Refusal, Revocation, Rule, Signature, Signed,
    Submission, TypedData, admit,
};
use serde_json::Value;

use crate::attacks::sample::{ACCOUNT, BASE, Draft, NOW, WETH, arguments, build, policy};

pub(crate) const GRANT_ID: B256 = B256::repeat_byte(0x22);
pub(crate) const SALT: B256 = B256::repeat_byte(0x11);
pub(crate) const PROJECT: &str = "3f2c9b1e-5a44-4d0a-9a52-0c6f3a9b7e11";
pub(crate) const DAY: u64 = 86_400;
/// The policy that comes with the service.
pub(crate) const EXAMPLE: &str = include_str!("../../../../../docs/fence-policy.example.json");
pub(crate) const CAP: u64 = 5_000_000_000;
pub(crate) const OWNER: Address = address!("70997970C51812dc3A010C7d01b50e0d17dc79C8");
pub(crate) const DELEGATE: Address = address!("3C44CdDdB6a900fa2b585dd299e03d12FA4293BC");

/// The owner of the account, by the local chain's test key 1.
pub(crate) fn owner() -> PrivateKeySigner {
    key(b256!(
        "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
    ))
}

/// The delegate, by the local chain's test key 2.
pub(crate) fn delegate() -> PrivateKeySigner {
    key(b256!(
        "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
    ))
}

/// An unrelated key.
pub(crate) fn stranger() -> PrivateKeySigner {
    key(B256::repeat_byte(0x77))
}

fn key(key: B256) -> PrivateKeySigner {
    PrivateKeySigner::from_bytes(&key).unwrap()
}

pub(crate) fn domain() -> Domain {
    Domain::new(BASE, SALT)
}

pub(crate) fn at(unix: u64) -> UtcSeconds {
    UtcSeconds::from_unix(unix)
}

pub(crate) fn now() -> Now {
    Now::offline(at(NOW))
}

pub(crate) fn sign_in<M: Message>(domain: Domain, message: M, key: &PrivateKeySigner) -> Signed<M> {
    let typed_data = TypedData::new(domain, message).unwrap();
    let signature = key.sign_hash_sync(&typed_data.digest()).unwrap();
    let signature = Signature::from_bytes(&signature.as_bytes()).unwrap();
    Signed::new(typed_data, signature)
}

pub(crate) fn sign<M: Message>(message: M, key: &PrivateKeySigner) -> Signed<M> {
    sign_in(domain(), message, key)
}

pub(crate) fn instance() -> Instance {
    Instance {
        domain: domain(),
        project_id: Name::new(PROJECT).unwrap(),
    }
}

/// The policy for the fees that the plans of these tests are built with.
pub(crate) fn fence_policy() -> Policy {
    edited_policy(|_| {}).unwrap()
}

/// A policy with one member changed: `edit` gets the document.
pub(crate) fn edited_policy(edit: impl FnOnce(&mut Value)) -> Result<Policy, Refusal> {
    let mut document: Value = serde_json::from_str(EXAMPLE).unwrap();
    document["fee_config_version"] = policy().fees.version.clone().into();
    edit(&mut document);
    Policy::parse(&document.to_string())
}

pub(crate) fn fence() -> Fence {
    Fence::new(instance(), fence_policy()).unwrap()
}

pub(crate) fn grant() -> Grant {
    let policy = fence_policy();
    Grant {
        account: ACCOUNT,
        account_kind: AccountKind::SubWallet,
        chain_id: BASE,
        policy_name: policy.name().clone(),
        rules_digest: policy.digest(),
        project_id: Name::new(PROJECT).unwrap(),
        capability: policy.capability().clone(),
        delegate: DELEGATE,
        per_swap_cap: U256::from(CAP),
        grant_id: GRANT_ID,
        issued_at: NOW - 10,
        not_before: NOW - 10,
        expires_at: NOW - 10 + 90 * DAY,
    }
}

pub(crate) fn revocation() -> Revocation {
    Revocation {
        account: ACCOUNT,
        chain_id: BASE,
        grant_id: GRANT_ID,
        project_id: Name::new(PROJECT).unwrap(),
        revoked_at: NOW,
    }
}

pub(crate) fn limit() -> Limit {
    Limit {
        account: ACCOUNT,
        grant_id: GRANT_ID,
        per_swap_cap: U256::ZERO,
        max_swaps: 0,
        outflow_24h: U256::ZERO,
        issued_at: NOW,
    }
}

/// All inputs of a submission's judgement.
pub(crate) struct Stage {
    pub(crate) fence: Fence,
    pub(crate) read_back: ReadBack,
    pub(crate) account: Account,
    pub(crate) owner: Address,
    pub(crate) plans: plan_builder::Policy,
    pub(crate) peg: Option<Peg>,
    pub(crate) now: Now,
    pub(crate) request: String,
    pub(crate) envelope: String,
    pub(crate) order: Signed<Order>,
    pub(crate) submitted: Address,
    pub(crate) grant_id: B256,
}

impl Stage {
    /// A plan for [`arguments`], ordered under [`grant`].
    pub(crate) fn new() -> Self {
        Self::with(grant(), &arguments())
    }

    pub(crate) fn with(grant: Grant, arguments: &Value) -> Self {
        Self::with_quote(grant, arguments, |_| {})
    }

    pub(crate) fn with_quote(
        grant: Grant,
        arguments: &Value,
        edit: impl Fn(&mut Draft) + Send + Sync,
    ) -> Self {
        let envelope = build(arguments, edit).unwrap().into_json();
        let grant_id = grant.grant_id;
        let mut account = Account::new(ACCOUNT);
        let received = fence()
            .receive(sign(grant, &owner()), OWNER, now())
            .unwrap();
        account.receive(received).unwrap();
        Self {
            fence: fence(),
            read_back: ReadBack::of(&fence_policy()),
            account,
            owner: OWNER,
            plans: policy(),
            peg: None,
            now: now(),
            request: arguments.to_string(),
            order: sign(order(&envelope), &delegate()),
            envelope,
            submitted: ACCOUNT,
            grant_id,
        }
    }

    /// Signs the order again after `edit`.
    pub(crate) fn reorder(&mut self, edit: impl FnOnce(&mut Order)) {
        let mut changed = self.order.message().clone();
        edit(&mut changed);
        self.order = sign(changed, &delegate());
    }

    pub(crate) fn admit(&self) -> Result<Admitted, Refusal> {
        self.admit_in(Phase::Begin)
    }

    pub(crate) fn admit_in(&self, phase: Phase) -> Result<Admitted, Refusal> {
        let confirmation = Confirmation {
            fence: &self.fence,
            read_back: &self.read_back,
            account: &self.account,
            owner: self.owner,
            plans: &self.plans,
            peg: self.peg,
            now: self.now,
        };
        let submission = Submission {
            account: self.submitted,
            grant_id: self.grant_id,
            request: &self.request,
            envelope: &self.envelope,
            order: &self.order,
        };
        admit(&confirmation, &submission, phase)
    }

    pub(crate) fn refused_by(&self) -> Rule {
        self.admit().unwrap_err().rule
    }
}

/// The order over a plan, as its delegate makes it.
pub(crate) fn order(envelope: &str) -> Order {
    let plan: Value = serde_json::from_str(envelope).unwrap();
    let call = plan["payload"]["steps"][2]["data"].as_str().unwrap();
    let call = alloy_primitives::hex::decode(call).unwrap();
    let minimum = plan["payload"]["quote"]["to_amount_min"].as_str().unwrap();
    Order {
        account: ACCOUNT,
        grant_id: GRANT_ID,
        payload_digest: digest_of(&plan),
        call_hash: keccak256(call),
        output_token: WETH,
        min_amount_out: minimum.parse().unwrap(),
        deadline: NOW + 25,
    }
}

fn digest_of(plan: &Value) -> B256 {
    plan["submission"]["payload_digest"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

/// The rule that refuses a grant.
pub(crate) fn grant_refused(edit: impl FnOnce(&mut Grant)) -> Option<Rule> {
    let mut changed = grant();
    edit(&mut changed);
    let signed = sign(changed, &owner());
    fence()
        .receive(signed, OWNER, now())
        .err()
        .map(|refusal| refusal.rule)
}
