//! What everybody saw: the material of the judgement.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alloy_primitives::{B256, keccak256};
use bench::exchange::HttpAnswer;
use x402_wire::SettlementResponse;

use crate::payment::Key;

/// What an honest buyer wanted once, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchase {
    /// Who wanted it.
    pub buyer: String,
    /// The request.
    pub target: String,
    /// Every authorization that was signed for it, oldest first.
    pub keys: Vec<Key>,
    /// How it ended.
    pub end: End,
}

/// How a purchase ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Not before the siege was over; what the server said last.
    Open(String),
    /// The buyer was told to wait for longer than the siege lasted, and did.
    Waiting,
    /// With its answer, by this authorization.
    Answered(Key),
    /// With a refusal that no repetition changes: status and code.
    Refused(String),
}

/// A 200 of a route that is paid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// To whom.
    pub caller: &'static str,
    /// For which authorization.
    pub key: Key,
    /// For which request.
    pub target: String,
    /// The transaction of its receipt.
    pub transaction: Option<B256>,
    /// Digest of the body.
    pub body: B256,
}

/// The phases in which honest buyers are timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No crowd.
    Peace,
    /// The crowd.
    Siege,
    /// No crowd, and nothing fails any more.
    Calm,
    /// Nobody asks any more.
    Over,
}

/// What was seen, shared by everybody.
#[derive(Debug, Default)]
pub struct Record(Mutex<Seen>);

/// What was seen.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// Purchases of honest buyers.
    pub purchases: Vec<Purchase>,
    /// Paid answers to anybody.
    pub served: Vec<Served>,
    /// Every authorization that was ever sent.
    pub keys: BTreeSet<Key>,
    /// What steady buyers waited for their answers without a crowd.
    pub peace: Vec<Duration>,
    /// And beside the crowd.
    pub siege: Vec<Duration>,
    /// What the crowd was answered: how often, by attack and status.
    pub crowd: BTreeMap<(&'static str, String), u64>,
    /// Plans that honest agents asked for at the rail, and what they got; an empty text is a plan.
    pub plans: Vec<String>,
}

impl Record {
    /// Reads or writes what was seen.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An authorization is going to be sent.
    pub fn sent(&self, key: Key) {
        self.seen().keys.insert(key);
    }

    /// An answer came to a call with a payment; counts when it is a 200.
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
            body: keccak256(&answer.body),
        };
        self.seen().served.push(served);
    }

    /// The crowd got an answer, or none.
    pub fn crowd(&self, attack: &'static str, outcome: impl Into<String>) {
        let mut seen = self.seen();
        let count = seen.crowd.entry((attack, outcome.into())).or_default();
        *count = count.saturating_add(1);
    }

    /// A steady buyer got its answer.
    pub fn timed(&self, phase: Phase, time: Duration) {
        match phase {
            Phase::Peace => self.seen().peace.push(time),
            Phase::Siege => self.seen().siege.push(time),
            Phase::Calm | Phase::Over => {}
        }
    }

    /// A purchase begins; its number.
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

    /// A payment was signed for a purchase.
    pub fn signed(&self, purchase: usize, key: Key) {
        let mut seen = self.seen();
        seen.keys.insert(key);
        if let Some(purchase) = seen.purchases.get_mut(purchase) {
            purchase.keys.push(key);
        }
    }

    /// A purchase stands so.
    pub fn stands(&self, purchase: usize, end: End) {
        if let Some(purchase) = self.seen().purchases.get_mut(purchase) {
            purchase.end = end;
        }
    }
}
