//! An account with delegation code, its messages, and a chain that a test directs.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_signer::SignerSync as _;
use delegation_fence::onchain::{
    ChainReading, ChainTerms, GrantFile, IMPLEMENTATION, Level, SignedDelegation,
};
use delegation_fence::{AccountKind, Block, Grant, Order, Signature, Signed};
use fence_server::{
    Chain, ChainQuestion, Delegations, Ordered, Parts, PortError, PortFuture, Store,
};
use serde_json::{Value, json};

use super::{
    sample::{BASE, USDC, WETH, build, policy},
    stage::{BUDGET, fence, fence_policy, grant, order, owner, sign},
    world::{Clock, Custody},
};

pub(crate) const REDEEMER: Address = Address::repeat_byte(0x99);
pub(crate) const ENFORCER: Address = Address::repeat_byte(0xfe);
pub(crate) const LEVELS: [Level; 2] = [Level::Stock, Level::Enforcer(ENFORCER)];

/// The account: it signs for itself.
pub(crate) fn account() -> Address {
    owner().address()
}

/// The chain's answers.
pub(crate) struct ChainAnswers {
    pub(crate) is_away: bool,
    pub(crate) code: Vec<u8>,
    pub(crate) nonce: u64,
    pub(crate) disabled: Vec<B256>,
    pub(crate) allowances: BTreeMap<Address, u64>,
    pub(crate) block: u64,
}

impl ChainAnswers {
    /// All inputs of a grant.
    pub(crate) fn fresh() -> Self {
        Self {
            is_away: false,
            code: [&[0xef, 0x01, 0x00], IMPLEMENTATION.as_slice()].concat(),
            nonce: 0,
            disabled: Vec::new(),
            allowances: BTreeMap::new(),
            block: 7,
        }
    }
}

#[derive(Clone)]
pub(crate) struct Node {
    answers: Arc<Mutex<ChainAnswers>>,
    level: Level,
}

impl Node {
    pub(crate) fn new(level: Level) -> Self {
        Self {
            answers: Arc::new(Mutex::new(ChainAnswers::fresh())),
            level,
        }
    }

    pub(crate) fn change(&self, edit: impl FnOnce(&mut ChainAnswers)) {
        edit(&mut self.answers.lock().unwrap());
    }

    pub(crate) fn block(&self) -> Block {
        let number = self.answers.lock().unwrap().block;
        Block {
            number,
            hash: B256::repeat_byte(0xb1),
        }
    }
}

impl Chain for Node {
    fn redeemer(&self) -> Address {
        REDEEMER
    }

    fn level(&self) -> Level {
        self.level
    }

    fn tokens(&self) -> &[Address] {
        &[WETH]
    }

    fn read(&self, asked: ChainQuestion) -> PortFuture<'_, Result<ChainReading, PortError>> {
        let block = self.block();
        let answers = self.answers.lock().unwrap();
        let answer = if answers.is_away || answers.block < asked.at_least {
            Err(PortError {
                reason: "no node answers".to_owned(),
            })
        } else {
            let hashes = asked.hashes.into_iter();
            let of = |token| U256::from(answers.allowances.get(&token).copied().unwrap_or(0));
            Ok(ChainReading {
                block,
                code: Bytes::from(answers.code.clone()),
                nonce: U256::from(answers.nonce),
                disabled: hashes.filter(|h| answers.disabled.contains(h)).collect(),
                allowances: asked.tokens.into_iter().map(|t| (t, of(t))).collect(),
            })
        };
        Box::pin(async move { answer })
    }
}

pub(crate) async fn delegated_desk(
    store: Arc<dyn Store>,
    clock: &Clock,
    custody: &Custody,
    node: &Node,
) -> Delegations {
    let parts = delegated_parts(store, clock, custody, node);
    Delegations::install(parts).await.unwrap()
}

/// The parts of such a server, for a test that changes one.
pub(crate) fn delegated_parts(
    store: Arc<dyn Store>,
    clock: &Clock,
    custody: &Custody,
    node: &Node,
) -> Parts {
    Parts {
        fence: fence().with_service_keys(vec![REDEEMER]),
        plans: policy(),
        budget: BUDGET,
        store,
        accounts: Arc::new(custody.clone()),
        clocks: Arc::new(clock.clone()),
        prices: None,
        chain: None,
        delegated: Some(Arc::new(node.clone())),
        strangers_revocations: 1000,
    }
}

pub(crate) fn delegated_grant(grant_id: B256) -> Grant {
    Grant {
        account: account(),
        account_kind: AccountKind::Eoa7702,
        ..grant(grant_id)
    }
}

/// Makes the delegations of a grant, signed by its account.
pub(crate) fn delegations(
    signed: &Signed<Grant>,
    redeemer: Address,
    level: Level,
    nonce: u64,
) -> Vec<SignedDelegation> {
    let policy = fence_policy(1);
    let terms = ChainTerms {
        grant: signed.typed_data(),
        policy: &policy,
        redeemer,
        level,
        nonce: U256::from(nonce),
    };
    let promised = terms.delegations().unwrap().into_iter();
    promised
        .map(|(_, delegation)| {
            let signature = owner().sign_hash_sync(&delegation.digest(BASE)).unwrap();
            delegation.sign_with(Signature::from_bytes(&signature.as_bytes()).unwrap())
        })
        .collect()
}

/// Makes the file that the holder submits.
pub(crate) fn file(grant: Grant, level: Level) -> GrantFile {
    let signed = sign(grant, &owner());
    GrantFile {
        delegations: delegations(&signed, REDEEMER, level, 0),
        signed,
    }
}

/// Makes a file with one of its delegations edited and signed again.
pub(crate) fn edited(
    file: &GrantFile,
    edit: impl FnOnce(&mut delegation_fence::onchain::Delegation),
) -> GrantFile {
    let mut file = file.clone();
    let mut delegation = file.delegations[0].delegation.clone();
    edit(&mut delegation);
    let signature = owner().sign_hash_sync(&delegation.digest(BASE)).unwrap();
    let signature = Signature::from_bytes(&signature.as_bytes()).unwrap();
    file.delegations[0] = delegation.sign_with(signature);
    file
}

/// Makes a plan of an amount for the account, ordered under its grant.
pub(crate) fn delegated_order(amount: u64, grant_id: B256) -> Ordered {
    let arguments: Value = json!({
        "accountProfile": {"kind": "eoa", "address": account(), "chainId": BASE},
        "chainId": BASE,
        "fromToken": USDC,
        "toToken": WETH,
        "fromAmount": amount.to_string(),
        "slippage": {"maxBps": 50},
    });
    let envelope = build(&arguments, |_| {}).unwrap().into_json();
    let of_another: Signed<Order> = order(&envelope, grant_id);
    let message = Order {
        account: account(),
        ..of_another.message().clone()
    };
    Ordered {
        account: account(),
        grant_id,
        request: arguments.to_string(),
        envelope,
        order: sign(message, &super::stage::delegate()),
    }
}
