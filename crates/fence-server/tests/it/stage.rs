//! An account with its keys, its signed messages, and its ordered plans.

use std::path::PathBuf;
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_signer::SignerSync as _;
use alloy_signer_local::PrivateKeySigner;
use calldata_checks::UtcSeconds;
use delegation_fence::{
    AccountKind, Admitted, Budget, Confirmation, Domain, Fence, Grant, Instance, Limit, Message,
    Name, Now, Order, Phase, Policy, ReadBack, ReceivedGrant, Revocation, Signature, Signed,
    Submission, TypedData, admit,
};
use fence_server::{Acceptance, PostgresStore, SqliteStore, Store, View, Write};
use serde_json::{Value, json};
use test_support::postgres::Schema;
use test_support::wait;

use super::sample::{ACCOUNT, BASE, NOW, USDC, WETH, build, policy};

pub(crate) const GRANT_ID: B256 = B256::repeat_byte(0x22);
pub(crate) const PROJECT: &str = "3f2c9b1e-5a44-4d0a-9a52-0c6f3a9b7e11";
pub(crate) const DAY: u64 = 86_400;
const EXAMPLE: &str = include_str!("../../../../docs/fence-policy.example.json");

/// A budget that is enough for any test that is not about gas.
pub(crate) const BUDGET: Budget = Budget {
    least_amount: U256::ZERO,
    of_plan: 50_000,
    of_account: 1_000_000,
    of_all: 20_000_000,
};

/// Makes the key with a number.
pub(crate) fn key(number: u8) -> PrivateKeySigner {
    PrivateKeySigner::from_bytes(&B256::repeat_byte(number)).unwrap()
}

pub(crate) fn owner() -> PrivateKeySigner {
    key(0x51)
}

pub(crate) fn delegate() -> PrivateKeySigner {
    key(0x52)
}

pub(crate) fn at(unix: u64) -> UtcSeconds {
    UtcSeconds::from_unix(unix)
}

pub(crate) fn now() -> Now {
    Now::offline(at(NOW))
}

pub(crate) fn instance() -> Instance {
    Instance {
        domain: Domain::new(BASE, B256::repeat_byte(0x11)),
        project_id: Name::new(PROJECT).unwrap(),
    }
}

/// The example's policy for the fees that plans are built with here, in a version.
pub(crate) fn fence_policy(version: u64) -> Policy {
    let mut document: Value = serde_json::from_str(EXAMPLE).unwrap();
    document["fee_config_version"] = policy().fees.version.clone().into();
    document["version"] = version.into();
    Policy::parse(&document.to_string()).unwrap()
}

/// Makes a policy of another name.
pub(crate) fn named_policy(name: &str, version: u64) -> Policy {
    let text = fence_policy(version).canonical().to_owned();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    document["name"] = name.into();
    Policy::parse(&document.to_string()).unwrap()
}

pub(crate) fn fence() -> Fence {
    Fence::new(instance(), fence_policy(1)).unwrap()
}

pub(crate) fn sign<M: Message>(message: M, key: &PrivateKeySigner) -> Signed<M> {
    sign_in(instance().domain, message, key)
}

/// Makes the domain of another service.
pub(crate) fn sign_in<M: Message>(domain: Domain, message: M, key: &PrivateKeySigner) -> Signed<M> {
    let typed_data = TypedData::new(domain, message).unwrap();
    let signature = key.sign_hash_sync(&typed_data.digest()).unwrap();
    let signature = Signature::from_bytes(&signature.as_bytes()).unwrap();
    Signed::new(typed_data, signature)
}

pub(crate) fn grant(grant_id: B256) -> Grant {
    let policy = fence_policy(1);
    Grant {
        account: ACCOUNT,
        account_kind: AccountKind::SubWallet,
        chain_id: BASE,
        policy_name: policy.name().clone(),
        rules_digest: policy.digest(),
        project_id: Name::new(PROJECT).unwrap(),
        capability: policy.capability().clone(),
        delegate: delegate().address(),
        per_swap_cap: policy.per_swap_cap(),
        grant_id,
        issued_at: NOW - 10,
        not_before: NOW - 10,
        expires_at: NOW - 10 + 90 * DAY,
    }
}

pub(crate) fn received(grant: Grant) -> ReceivedGrant {
    let signed = sign(grant, &owner());
    fence().receive(signed, owner().address(), now()).unwrap()
}

pub(crate) fn revocation(grant_id: B256, revoked_at: u64) -> Signed<Revocation> {
    let message = Revocation {
        account: ACCOUNT,
        chain_id: BASE,
        grant_id,
        project_id: Name::new(PROJECT).unwrap(),
        revoked_at,
    };
    sign(message, &owner())
}

pub(crate) fn limit(per_swap_cap: u64) -> Signed<Limit> {
    let message = Limit {
        account: ACCOUNT,
        grant_id: GRANT_ID,
        per_swap_cap: U256::from(per_swap_cap),
        max_swaps: 0,
        outflow_24h: U256::ZERO,
        issued_at: NOW,
    };
    sign(message, &owner())
}

/// A plan of an amount, with its request.
pub(crate) fn plan(amount: u64) -> (String, String) {
    plan_into(WETH, amount)
}

/// A plan that ends in a token, with its request.
pub(crate) fn plan_into(token: Address, amount: u64) -> (String, String) {
    let arguments = json!({
        "accountProfile": {"kind": "eoa", "address": ACCOUNT, "chainId": BASE},
        "chainId": BASE,
        "fromToken": USDC,
        "toToken": token,
        "fromAmount": amount.to_string(),
        "slippage": {"maxBps": 50},
    });
    let envelope = build(&arguments, |_| {}).unwrap().into_json();
    (arguments.to_string(), envelope)
}

/// Makes the order over a plan, as its delegate does.
pub(crate) fn order(envelope: &str, grant_id: B256) -> Signed<Order> {
    let plan: Value = serde_json::from_str(envelope).unwrap();
    let text = |pointer: &str| plan.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    let call = alloy_primitives::hex::decode(text("/payload/steps/2/data")).unwrap();
    let message = Order {
        account: ACCOUNT,
        grant_id,
        payload_digest: text("/submission/payload_digest").parse().unwrap(),
        call_hash: keccak256(call),
        output_token: WETH,
        min_amount_out: text("/payload/quote/to_amount_min").parse().unwrap(),
        deadline: NOW + 25,
    };
    sign(message, &delegate())
}

/// Admits a submission by the records of the store.
pub(crate) fn acceptance(view: &View, amount: u64) -> Result<Acceptance, &'static str> {
    let (request, envelope) = plan(amount);
    let order = order(&envelope, view.grant_id);
    let fence = fence();
    let account = view
        .account(&instance())
        .map_err(|refusal| refusal.code())?;
    let confirmation = Confirmation {
        fence: &fence,
        read_back: &ReadBack::of(fence.policy()),
        account: &account,
        owner: owner().address(),
        plans: &policy(),
        peg: None,
        now: now(),
    };
    let submission = Submission {
        account: ACCOUNT,
        grant_id: view.grant_id,
        request: &request,
        envelope: &envelope,
        order: &order,
    };
    let admitted: Admitted =
        admit(&confirmation, &submission, Phase::Begin).map_err(|refusal| refusal.code())?;
    Ok(Acceptance {
        order,
        request,
        envelope,
        admitted,
        budget: BUDGET,
    })
}

/// Makes a write on the version that was read.
pub(crate) fn write(view: &View, change: fence_server::Change) -> Write {
    Write {
        account: view.account,
        version: view.version,
        lease: None,
        at: at(NOW),
        changes: vec![change],
    }
}

/// The place of an empty store, which any number of processes can open.
pub(crate) enum StoreLocation {
    /// A folder.
    File(tempfile::TempDir),
    /// A schema of a database.
    Database(Schema),
}

impl StoreLocation {
    /// Makes a place in the suite's database where there is one, otherwise in a SQLite file.
    pub(crate) fn new() -> Self {
        Schema::new().map_or_else(Self::in_file, Self::Database)
    }

    /// Makes a place in a SQLite file, whatever store the suite uses.
    pub(crate) fn in_file() -> Self {
        Self::File(tempfile::tempdir().unwrap())
    }

    /// The SQLite file.
    pub(crate) fn file(&self) -> PathBuf {
        match self {
            Self::File(folder) => folder.path().join("service.fence.db"),
            Self::Database(_) => panic!("the records are in no file"),
        }
    }

    /// Opens another handle on the same records, as another process would.
    pub(crate) fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::File(_) => Arc::new(SqliteStore::open(self.file()).unwrap()),
            Self::Database(schema) => {
                Arc::new(wait(PostgresStore::open(schema.connect())).unwrap())
            }
        }
    }
}

/// Reads the store's view of the account and the usual grant.
pub(crate) async fn look(store: &dyn Store) -> View {
    store.view(ACCOUNT, GRANT_ID, None).await.unwrap()
}

/// The address of an unknown account.
pub(crate) const NOBODY: Address = Address::repeat_byte(0x0e);
