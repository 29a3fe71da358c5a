//! The participants' observations: the material of the judgement.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alloy_primitives::{B256, keccak256};
use bench::exchange::HttpAnswer;
use x402_wire::SettlementResponse;

use crate::payment::Key;

/// One purchase of an honest buyer, and its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purchase {
    /// The buyer.
    pub buyer: String,
    /// The request.
    pub target: String,
    /// Every authorization that was signed for it, oldest first.
    pub keys: Vec<Key>,
    /// Its end.
    pub end: End,
}

/// The end of a purchase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Unfinished when the siege was over; the server's last answer.
    Open(String),
    /// The buyer had to wait for longer than the siege lasted.
    Waiting,
    /// Answered, by this authorization.
    Answered(Key),
    /// Refused in a way that no repetition changes: status and code.
    Refused(String),
}

/// A 200 answer of a paid route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The caller.
    pub caller: &'static str,
    /// The authorization.
    pub key: Key,
    /// The request.
    pub target: String,
    /// The transaction of its receipt.
    pub transaction: Option<B256>,
    /// Digest of the body.
    pub body: B256,
}

/// The phases in which honest buyers' times are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No crowd.
    Peace,
    /// The crowd.
    Siege,
    /// No crowd, and no injected failures any more.
    Calm,
    /// No requests any more.
    Over,
}

/// The shared observations.
#[derive(Debug, Default)]
pub struct Record(Mutex<Seen>);

/// The observations.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    /// Purchases of honest buyers.
    pub purchases: Vec<Purchase>,
    /// Paid answers to any caller.
    pub served: Vec<Served>,
    /// Every authorization that was ever sent.
    pub keys: BTreeSet<Key>,
    /// The waiting times of steady buyers without a crowd.
    pub peace: Vec<Duration>,
    /// The waiting times of steady buyers with the crowd.
    pub siege: Vec<Duration>,
    /// The answers to the crowd: their number, by attack and status.
    pub crowd: BTreeMap<(&'static str, String), u64>,
    /// The results of honest agents' plan requests; an empty text is a plan.
    pub plans: Vec<String>,
}

impl Record {
    /// Gives access to the observations.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an authorization before it is sent.
    pub fn sent(&self, key: Key) {
        self.seen().keys.insert(key);
    }

    /// Records an answer to a call with a payment; counts when it is a 200.
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

    /// Records an answer to the crowd, or its absence.
    pub fn crowd(&self, attack: &'static str, outcome: impl Into<String>) {
        let mut seen = self.seen();
        let count = seen.crowd.entry((attack, outcome.into())).or_default();
        *count = count.saturating_add(1);
    }

    /// Records the time of a steady buyer's answer.
    pub fn timed(&self, phase: Phase, time: Duration) {
        match phase {
            Phase::Peace => self.seen().peace.push(time),
            Phase::Siege => self.seen().siege.push(time),
            Phase::Calm | Phase::Over => {}
        }
    }

    /// Records the beginning of a purchase. Returns its number.
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

    /// Records the state of a purchase.
    pub fn stands(&self, purchase: usize, end: End) {
        if let Some(purchase) = self.seen().purchases.get_mut(purchase) {
            purchase.end = end;
        }
    }
}
