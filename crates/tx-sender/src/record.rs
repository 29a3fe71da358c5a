//! A transaction's durable record, and its possible state changes.

mod moves;

use alloy_primitives::{B256, Bytes, U256};
use serde::{Deserialize, Serialize};

pub use self::moves::IllegalMove;
use crate::{Fees, Lane, Request};

/// All facts about one transaction. It is stored as a whole, in conditional writes: a store refuses
/// a record whose [`revision`](Self::revision) differs from the stored one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The order in which the store accepted the records.
    pub id: u64,
    /// The caller's name for the request: each key has one record.
    pub key: String,
    /// The account that sends it, and the chain.
    pub lane: Lane,
    /// The request.
    pub request: Request,
    /// Its state.
    pub state: State,
    /// The nonce that this record has claimed. No other live record of the lane has it.
    pub nonce: Option<u64>,
    /// Every transaction that was ever signed for the nonce, oldest first. Any of them may reach a
    /// block.
    pub attempts: Vec<Attempt>,
    /// The reason why the request must not take effect any more; its nonce is then used by a
    /// transaction without effect. `None` while the request stands.
    pub closing: Option<Closing>,
    /// Whether no later block can change its outcome. It is then not checked any more.
    pub is_final: bool,
    /// It rises with each write.
    pub revision: u64,
    /// When it was submitted, in Unix seconds of the sender's clock. For people only: no decision
    /// depends on it.
    pub submitted_at: u64,
    /// The highest nonce that the request may use, where the account sends one work at a time: the
    /// one after those of all earlier records. When a block has used it already, records were lost,
    /// and one of them may have sent this request. `None` for every other request.
    #[serde(default)]
    pub highest_nonce: Option<u64>,
}

/// The state of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// The record is durable, and nothing else has happened.
    Prepared,
    /// It has a nonce.
    Claimed,
    /// Signed bytes are on disk. As far as is known, no node has seen them.
    Signed,
    /// A node may have its bytes.
    Broadcast,
    /// One of its transactions is in a canonical block that is not deep enough yet.
    Mined(Inclusion),
    /// It has taken effect.
    Sealed(Inclusion),
    /// It was executed without effect (reverted, out of gas), and has cost gas.
    Failed(Inclusion),
    /// Another transaction has used its nonce, so it cannot take effect. The inclusion belongs to
    /// the other one.
    Replaced(Inclusion),
    /// It was given up before it took effect. With an inclusion, a transaction without effect has
    /// used its nonce.
    Abandoned(Option<Inclusion>),
}

impl State {
    /// A short name for logs and stores.
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

    /// The block that the state depends on.
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

    /// Whether the state is an outcome. Until the record is final, a reorganisation can still undo
    /// it.
    #[must_use]
    pub const fn is_outcome(self) -> bool {
        matches!(
            self,
            Self::Sealed(_) | Self::Failed(_) | Self::Replaced(_) | Self::Abandoned(_)
        )
    }
}

/// The place of a transaction in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inclusion {
    /// The transaction.
    pub hash: B256,
    /// The number of its block.
    pub number: u64,
    /// The hash of its block.
    pub block: B256,
    /// Whether its execution succeeded. That does not say what it did.
    pub succeeded: bool,
}

/// A signed transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its purpose.
    pub kind: Kind,
    /// Its fee fields.
    pub fees: Fees,
    /// Its hash.
    pub hash: B256,
    /// Its bytes (EIP-2718).
    pub raw: Bytes,
    /// The most gas that it may use, when it differs from the request's. Absent from records of
    /// earlier versions.
    #[serde(default)]
    pub noop_gas: Option<u64>,
}

/// The purpose of a signed transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// The request.
    Request,
    /// To use up the nonce: an empty transfer to the account itself.
    Noop,
}

/// The reason why a request must not take effect any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Closing {
    /// The caller has cancelled it.
    Cancelled,
    /// The lane is being freed.
    Freed,
    /// The chain's time has passed [`Request::not_after`].
    Expired,
    /// Every node refuses it, with this message.
    Refused(String),
    /// Its fees stay below the market's, and it blocks transactions that could be mined.
    InTheWay,
    /// It never was a request: it fills a missing nonce.
    Gap,
}

impl Record {
    /// The record of a new request. The store gives it its `id`.
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

    /// A record that only uses up `nonce`, which no other record uses while later ones wait.
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

    /// The signed transactions' hashes, oldest first.
    pub fn hashes(&self) -> impl Iterator<Item = B256> {
        self.attempts.iter().map(|attempt| attempt.hash)
    }

    /// The newest signed transaction.
    #[must_use]
    pub fn newest(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// The main hash of the transaction: of the one in a block, otherwise of the newest one that
    /// carries the request.
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

    /// The fees of every signed transaction, oldest first.
    #[must_use]
    pub fn fees(&self) -> Vec<Fees> {
        self.attempts.iter().map(|attempt| attempt.fees).collect()
    }

    /// Whether its nonce waits for a block.
    #[must_use]
    pub const fn is_outstanding(&self) -> bool {
        matches!(
            self.state,
            State::Claimed | State::Signed | State::Broadcast
        )
    }

    /// Whether its nonce waits for a block after one in which the account has used this many
    /// nonces.
    #[must_use]
    pub(crate) fn waits_for_block(&self, count: u64) -> bool {
        self.is_outstanding() && self.nonce.is_some_and(|nonce| nonce >= count)
    }

    /// The most that a block can still take from the account for it; zero once a block has it.
    #[must_use]
    pub fn most_cost(&self) -> U256 {
        let cost = |attempt: &Attempt| match attempt.kind {
            Kind::Request => cost(&self.request, attempt.fees),
            Kind::Noop => noop_cost(attempt.noop_gas.unwrap_or(NOOP_GAS), attempt.fees),
        };
        self.attempts.iter().map(cost).max().unwrap_or_default()
    }
}

/// The gas of an empty transfer, on chains whose gas pays for nothing else.
pub(crate) const NOOP_GAS: u64 = 21_000;

/// The most that a transaction without effect can cost at these fees, in wei.
pub(crate) fn noop_cost(gas: u64, fees: Fees) -> U256 {
    U256::from(gas).saturating_mul(U256::from(fees.most()))
}

/// The most that a request can cost at these fees, in wei.
pub(crate) fn cost(request: &Request, fees: Fees) -> U256 {
    U256::from(request.gas_limit)
        .saturating_mul(U256::from(fees.most()))
        .saturating_add(request.value)
}
