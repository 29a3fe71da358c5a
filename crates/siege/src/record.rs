//! Records what the participants have seen. The judgement uses nothing else of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alloy_primitives::{Address, B256, U256, keccak256};
use bench::exchange::HttpAnswer;
use serde_json::Value;
use x402_wire::SettlementResponse;

use crate::bank::Token;
use crate::payment::Key;

/// One purchase of an honest buyer, and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchase {
    /// The name of the buyer.
    pub buyer: String,
    /// The request.
    pub target: String,
    /// The keys of all authorizations that were signed for it, the oldest first.
    pub keys: Vec<Key>,
    /// Its end.
    pub end: End,
}

/// How a purchase ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It was unfinished when the siege was over. The text is the server's last answer.
    Open(String),
    /// The server asked the buyer to wait for longer than the siege lasted.
    Waiting,
    /// It was answered, for this authorization.
    Answered(Key),
    /// It was refused, and repeating the call would not help. The text is the status and the code.
    Refused(String),
    /// An action was not carried out for this payment, and nothing may be charged for it. Owners
    /// accept that. The text is the status and the code.
    Declined(String),
}

/// An order to a sub-wallet, and what it explains of its owner's money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The owner of the sub-wallet.
    pub owner: Address,
    /// Who ordered it.
    pub by: &'static str,
    /// What it takes from the sub-wallet at most.
    pub gives: (Token, U256),
    /// What the sub-wallet or its owner has at least when it is carried out.
    pub gets: (Token, U256),
    /// What became of it.
    pub fate: Fate,
}

/// What became of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// A server says at this path what became of it.
    At(String),
    /// It was carried out.
    Done,
    /// It was not carried out.
    Undone,
    /// Nobody can say: it may have been carried out.
    Unknown(String),
}

/// A 200 answer of a paid route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The caller.
    pub caller: &'static str,
    /// The key of the authorization.
    pub key: Key,
    /// The request.
    pub target: String,
    /// The transaction that its receipt names.
    pub transaction: Option<B256>,
    /// Whether the answer says that an earlier payment of the payer has bought it.
    pub repeats: bool,
    /// The digest of the body.
    pub body: B256,
}

/// The phases of a siege. The first two are those in which honest buyers' times are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Honest buyers only.
    Peace,
    /// Honest buyers and the crowd.
    Siege,
    /// The crowd has left, and no failures are injected any more.
    Calm,
    /// The end: nobody sends requests any more.
    Over,
}

/// The observations, shared by all participants.
#[derive(Debug, Default)]
pub struct Record(Mutex<Seen>);

/// The observations of the participants.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// The purchases of honest buyers.
    pub purchases: Vec<Purchase>,
    /// The paid answers to any caller.
    pub served: Vec<Served>,
    /// The keys of all authorizations that were ever sent.
    pub keys: BTreeSet<Key>,
    /// The times of steady buyers without a crowd.
    pub peace: Vec<Duration>,
    /// The times of steady buyers with the crowd.
    pub siege: Vec<Duration>,
    /// How many answers the crowd got, by attack and status.
    pub crowd: BTreeMap<(&'static str, String), u64>,
    /// The results of honest agents' requests for plans. An empty text stands for a plan.
    pub plans: Vec<String>,
    /// The wallet that each payer was told at some time.
    pub told: BTreeSet<(Address, Address)>,
    /// The orders to sub-wallets.
    pub orders: Vec<Order>,
    /// Where the servers show strangers' revocations that they have acknowledged.
    pub revoked: BTreeSet<String>,
}

impl Record {
    /// Gives access to what was seen.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the key of an authorization before it is sent.
    pub fn sent(&self, key: Key) {
        self.seen().keys.insert(key);
    }

    /// Records an answer to a call with a payment. It counts when its status is 200.
    pub fn answered(&self, caller: &'static str, key: Key, target: &str, answer: &HttpAnswer) {
        if answer.status != http::StatusCode::OK {
            return;
        }
        let receipt = answer.headers.get("payment-response");
        let receipt =
            receipt.and_then(|value| SettlementResponse::from_header(value.as_bytes()).ok());
        let served = Served {
            caller,
            key,
            target: target.to_owned(),
            transaction: receipt.and_then(|receipt| receipt.transaction.parse().ok()),
            repeats: answer.headers.contains_key("purchase-repeated"),
            body: keccak256(&answer.body),
        };
        let told = told(key.payer, target, answer);
        let mut seen = self.seen();
        seen.served.push(served);
        seen.told.extend(told);
    }

    /// Records an answer to the crowd, or that none came.
    pub fn crowd(&self, attack: &'static str, outcome: impl Into<String>) {
        let mut seen = self.seen();
        let count = seen.crowd.entry((attack, outcome.into())).or_default();
        *count = count.saturating_add(1);
    }

    /// Records how long a steady buyer waited for its answer.
    pub fn timed(&self, phase: Phase, time: Duration) {
        match phase {
            Phase::Peace => self.seen().peace.push(time),
            Phase::Siege => self.seen().siege.push(time),
            Phase::Calm | Phase::Over => {}
        }
    }

    /// Records that a purchase began. Returns its number.
    pub fn wanted(&self, buyer: &str, target: &str) -> usize {
        let mut seen = self.seen();
        seen.purchases.push(Purchase {
            buyer: buyer.to_owned(),
            target: target.to_owned(),
            keys: Vec::new(),
            end: End::Open("nothing yet".to_owned()),
        });
        seen.purchases.len().saturating_sub(1)
    }

    /// Records a payment that was signed for a purchase.
    pub fn signed(&self, purchase: usize, key: Key) {
        let mut seen = self.seen();
        seen.keys.insert(key);
        if let Some(purchase) = seen.purchases.get_mut(purchase) {
            purchase.keys.push(key);
        }
    }

    /// Returns how a purchase stands.
    pub fn end(&self, purchase: usize) -> End {
        let seen = self.seen();
        let found = seen.purchases.get(purchase);
        found.map_or(End::Open("nothing yet".to_owned()), |found| {
            found.end.clone()
        })
    }

    /// Records how a purchase stands, or how it ended.
    pub fn stands(&self, purchase: usize, end: End) {
        if let Some(purchase) = self.seen().purchases.get_mut(purchase) {
            purchase.end = end;
        }
    }
}

/// Reads the wallet that a payer was told.
fn told(payer: Address, target: &str, answer: &HttpAnswer) -> Option<(Address, Address)> {
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    let wallet = body.pointer("/data/sub_wallet")?.as_str()?.parse().ok()?;
    (target == "/sub-wallet").then_some((payer, wallet))
}
