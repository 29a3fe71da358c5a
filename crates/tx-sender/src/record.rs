//! The durable record of one transaction: its request, its state, and every signed form of it.

mod moves;

use alloy_primitives::{B256, Bytes, U256};
use serde::{Deserialize, Serialize};

pub use self::moves::IllegalMove;
use crate::{Fees, Lane, Request};

/// Everything that is known about one transaction. It is stored as a whole, and conditionally: a
/// store refuses a record whose [`revision`](Self::revision) differs from the stored one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The order in which the store accepted the records.
    pub id: u64,
    /// The caller's name of the request. Each key has one record.
    pub key: String,
    /// The chain, and the account that sends the transaction.
    pub lane: Lane,
    /// The request.
    pub request: Request,
    /// Its state.
    pub state: State,
    /// The nonce that this record has claimed. No other record of the lane that waits or is in a
    /// block has the same one.
    pub nonce: Option<u64>,
    /// Every transaction that was ever signed for the nonce, the oldest first. Each of them may
    /// reach a block.
    pub attempts: Vec<Attempt>,
    /// Why the request must not take effect any more. A transaction without effect then uses the
    /// nonce. `None` while the request may take effect.
    pub closing: Option<Closing>,
    /// Whether no later block can change the outcome. The record is then not checked any more.
    pub is_final: bool,
    /// A number that rises with each write.
    pub revision: u64,
    /// When the request was submitted, in Unix seconds of the sender's clock. It is for people
    /// only: no decision depends on it.
    pub submitted_at: u64,
    /// The highest nonce that the request may use, when the account sends one work at a time. It is
    /// the nonce after those of all earlier records. If a block has already used it, records were
    /// lost, and one of them may have sent this request. `None` for every other request.
    #[serde(default)]
    pub highest_nonce: Option<u64>,
}

/// The state of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// The record is durable. Nothing else has happened.
    Prepared,
    /// The record has a nonce.
    Claimed,
    /// Signed bytes are on disk. As far as is known, no node has seen them.
    Signed,
    /// A node may have the bytes.
    Broadcast,
    /// One of the transactions is in a canonical block that is not deep enough yet.
    Mined(Inclusion),
    /// The request has taken effect.
    Sealed(Inclusion),
    /// The transaction was executed without effect (reverted, out of gas). It has cost gas.
    Failed(Inclusion),
    /// Another transaction has used the nonce, so the request cannot take effect. The inclusion is
    /// the other transaction's.
    Replaced(Inclusion),
    /// The request was given up before it took effect. With an inclusion, a transaction without
    /// effect has used the nonce.
    Abandoned(Option<Inclusion>),
}

impl State {
    /// Returns a short name for logs and stores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prepared => "prepared",
            Self::Claimed => "claimed",
            Self::Signed => "signed",
            Self::Broadcast => "broadcast",
            Self::Mined(_) => "mined",
            Self::Sealed(_) => "sealed",
            Self::Failed(_) => "failed",
            Self::Replaced(_) => "replaced",
            Self::Abandoned(_) => "abandoned",
        }
    }

    /// Returns the block on which the state depends.
    #[must_use]
    pub const fn inclusion(self) -> Option<Inclusion> {
        match self {
            Self::Mined(inclusion)
            | Self::Sealed(inclusion)
            | Self::Failed(inclusion)
            | Self::Replaced(inclusion) => Some(inclusion),
            Self::Abandoned(inclusion) => inclusion,
            _ => None,
        }
    }

    /// Whether the state is an outcome. A reorganisation can still undo it until the record is
    /// final.
    #[must_use]
    pub const fn is_outcome(self) -> bool {
        matches!(
            self,
            Self::Sealed(_) | Self::Failed(_) | Self::Replaced(_) | Self::Abandoned(_)
        )
    }
}

/// Where a transaction is in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inclusion {
    /// The hash of the transaction.
    pub hash: B256,
    /// The number of the block.
    pub number: u64,
    /// The hash of the block.
    pub block: B256,
    /// Whether the transaction succeeded. That does not say what it did.
    pub succeeded: bool,
}

/// A signed transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The purpose for which it was signed.
    pub kind: Kind,
    /// The fee fields.
    pub fees: Fees,
    /// The hash.
    pub hash: B256,
    /// The signed bytes (EIP-2718).
    pub raw: Bytes,
    /// The most gas that a transaction without effect may use. Absent for other transactions, and
    /// in records of earlier versions.
    #[serde(default)]
    pub noop_gas: Option<u64>,
}

/// The purpose for which a transaction was signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// To make the request take effect.
    Request,
    /// To use up the nonce: an empty transfer to the account itself.
    Noop,
}

/// Why a request must not take effect any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Closing {
    /// The caller has cancelled it.
    Cancelled,
    /// The lane is being freed of all its requests.
    Freed,
    /// The chain's time has passed [`Request::not_after`].
    Expired,
    /// Every node refuses the request with this message.
    Refused(String),
    /// The fees of the request stay below the market's, and it blocks transactions that could be
    /// mined.
    InTheWay,
    /// The record is no caller's request. It fills a missing nonce.
    Gap,
}

impl Record {
    /// Makes the record of a new request. The store assigns its `id`.
    #[must_use]
    pub fn prepared(key: impl Into<String>, lane: Lane, request: Request, now: u64) -> Self {
        Self {
            id: 0,
            key: key.into(),
            lane,
            request,
            state: State::Prepared,
            nonce: None,
            attempts: Vec::new(),
            closing: None,
            is_final: false,
            revision: 0,
            submitted_at: now,
            highest_nonce: None,
        }
    }

    /// Makes a record that only uses up `nonce`. No other record has this nonce, and later ones
    /// wait for it.
    #[must_use]
    pub fn filler(lane: Lane, nonce: u64, now: u64) -> Self {
        let request = Request {
            to: lane.account,
            value: U256::ZERO,
            input: Bytes::new(),
            gas_limit: NOOP_GAS,
            max_fee_per_gas: None,
            not_after: None,
            confirmations: None,
        };
        Self {
            closing: Some(Closing::Gap),
            ..Self::prepared(format!("gap/{lane}/{nonce}/{now}"), lane, request, now)
        }
    }

    /// Whether the record fills a missing nonce and is not a caller's request.
    #[must_use]
    pub fn is_filler(&self) -> bool {
        self.closing == Some(Closing::Gap)
    }

    /// Returns the hashes of the signed transactions, the oldest first.
    pub fn hashes(&self) -> impl Iterator<Item = B256> {
        self.attempts.iter().map(|attempt| attempt.hash)
    }

    /// Returns the newest signed transaction.
    #[must_use]
    pub fn newest(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// Returns the main hash of the record: the hash of the transaction that is in a block,
    /// otherwise of the newest one that was signed for the request.
    #[must_use]
    pub fn hash(&self) -> Option<B256> {
        let own = |inclusion: &Inclusion| self.hashes().any(|hash| hash == inclusion.hash);
        if let Some(inclusion) = self.state.inclusion().filter(own) {
            return Some(inclusion.hash);
        }
        let requests = self.attempts.iter().rev();
        requests
            .filter(|attempt| attempt.kind == Kind::Request)
            .map(|attempt| attempt.hash)
            .next()
    }

    /// Returns the fees of every signed transaction, the oldest first.
    #[must_use]
    pub fn fees(&self) -> Vec<Fees> {
        self.attempts.iter().map(|attempt| attempt.fees).collect()
    }

    /// Whether the nonce waits for a block.
    #[must_use]
    pub const fn is_outstanding(&self) -> bool {
        matches!(
            self.state,
            State::Claimed | State::Signed | State::Broadcast
        )
    }

    /// Whether the nonce waits for a block after one in which the account has used `count` nonces.
    #[must_use]
    pub(crate) fn waits_for_block(&self, count: u64) -> bool {
        self.is_outstanding() && self.nonce.is_some_and(|nonce| nonce >= count)
    }

    /// Returns the most that one of the signed transactions can take from the account. It does not
    /// consider whether a block already has one.
    #[must_use]
    pub fn most_cost(&self) -> U256 {
        let cost = |attempt: &Attempt| match attempt.kind {
            Kind::Request => cost(&self.request, attempt.fees),
            Kind::Noop => noop_cost(attempt.noop_gas.unwrap_or(NOOP_GAS), attempt.fees),
        };
        self.attempts.iter().map(cost).max().unwrap_or_default()
    }
}

/// The gas of an empty transfer, on chains where gas pays for nothing else.
pub(crate) const NOOP_GAS: u64 = 21_000;

/// Computes the most that a transaction without effect can cost at these fees, in wei.
pub(crate) fn noop_cost(gas: u64, fees: Fees) -> U256 {
    U256::from(gas).saturating_mul(U256::from(fees.most()))
}

/// Computes the most that a request can cost at these fees, in wei.
pub(crate) fn cost(request: &Request, fees: Fees) -> U256 {
    U256::from(request.gas_limit)
        .saturating_mul(U256::from(fees.most()))
        .saturating_add(request.value)
}
