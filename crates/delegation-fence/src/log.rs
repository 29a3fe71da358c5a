//! The log of a grant: the events under it, record by record, each with the hash of the one before
//! it.
//!
//! [`verify_log`] detects any change, gap or move of records. It cannot detect missing records at
//! the end; a [`RevocationReceipt`](crate::RevocationReceipt) can.

mod verify;

use alloy_primitives::{B256, U256};
use calldata_checks::UtcSeconds;
use plan_builder::wire::{Digits, Time, Word};
use serde::{Deserialize, Serialize};

pub use self::verify::{VerifiedLog, verify_log};
use crate::{Refusal, Rule, json, send::Transaction};

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogEvent {
    /// The grant was received.
    Granted,
    /// The grant was tightened.
    Limited,
    /// A plan was admitted: the use of the grant.
    Admitted,
    /// An order was refused, or a confirmation stopped a plan in flight.
    Refused,
    /// A transaction may be signed from now on.
    Ordered,
    /// A transaction is in a sealed block.
    Sealed,
    /// A transaction never takes effect, or its block is not canonical any more.
    Lost,
    /// The output was searched for.
    Landed,
    /// No further step goes out.
    Halted,
    /// The allowance was read.
    ReadBack,
    /// The allowance cannot be cleared by the service.
    ClearImpossible,
    /// The plan came to its end.
    Finished,
    /// The grant was revoked.
    Revoked,
}

/// The data of an event. `step` is `approve_reset`, `approve`, `call`, `swap`, `clear-0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The time, by the server's clock.
    pub at: UtcSeconds,
    /// The kind of event.
    pub event: LogEvent,
    /// The plan.
    pub payload_digest: Option<B256>,
    /// The transaction of the plan.
    pub step: Option<Transaction>,
    /// Its hash.
    pub tx_hash: Option<B256>,
    /// Its block, or the block of a reading.
    pub block_hash: Option<B256>,
    /// The value of a reading: an allowance, or the received output.
    pub read_back: Option<U256>,
    /// The rule that refused.
    pub refused_by: Option<Rule>,
}

impl LogEntry {
    /// An event without further data.
    #[must_use]
    pub const fn new(at: UtcSeconds, event: LogEvent) -> Self {
        Self {
            at,
            event,
            payload_digest: None,
            step: None,
            tx_hash: None,
            block_hash: None,
            read_back: None,
            refused_by: None,
        }
    }
}

/// A record in the form of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogRecord {
    pub(super) at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    block_hash: Option<Word>,
    pub(super) event: LogEvent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<Word>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload_digest: Option<Word>,
    prev_hash: Word,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_back: Option<Digits>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused_by: Option<String>,
    seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tx_hash: Option<Word>,
}

impl LogRecord {
    /// Its number, from 0.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// Its kind.
    #[must_use]
    pub const fn event(&self) -> LogEvent {
        self.event
    }

    /// Its time.
    #[must_use]
    pub const fn at(&self) -> UtcSeconds {
        self.at.0
    }

    /// Its hash: keccak-256 over the RFC 8785 bytes of the record without this member.
    #[must_use]
    pub fn hash(&self) -> B256 {
        self.hash.map_or(B256::ZERO, |hash| hash.0)
    }

    /// The hash of the record before it.
    #[must_use]
    pub const fn prev_hash(&self) -> B256 {
        self.prev_hash.0
    }

    /// Its plan.
    #[must_use]
    pub fn payload_digest(&self) -> Option<B256> {
        self.payload_digest.map(|digest| digest.0)
    }

    /// Its transaction: `approve_reset`, `approve`, `call`, `swap`, `clear-0`.
    #[must_use]
    pub fn step(&self) -> Option<&str> {
        self.step.as_deref()
    }

    /// The hash of the transaction.
    #[must_use]
    pub fn tx_hash(&self) -> Option<B256> {
        self.tx_hash.map(|hash| hash.0)
    }

    /// The value of a reading.
    #[must_use]
    pub fn read_back(&self) -> Option<U256> {
        self.read_back.map(|read| read.0)
    }

    /// The name of the rule that refused.
    #[must_use]
    pub fn refused_by(&self) -> Option<&str> {
        self.refused_by.as_deref()
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn computed_hash(&self) -> Result<B256, Refusal> {
        let without = Self {
            hash: None,
            ..self.clone()
        };
        json::digest(Rule::LogMalformed, &without)
    }
}

/// The end of a log: the number of its next record, and the hash of its last one.
///
/// # Example
/// ```
/// use delegation_fence::{LogEntry, LogHead, LogEvent, verify_log};
///
/// let at = "2026-11-21T07:00:00Z".parse().unwrap();
/// let mut head = LogHead::EMPTY;
/// let granted = head.append(LogEntry::new(at, LogEvent::Granted))?;
/// let revoked = head.append(LogEntry::new(at, LogEvent::Revoked))?;
/// assert_eq!(revoked.prev_hash(), granted.hash());
///
/// let log = format!("[{},{}]", granted.to_json(), revoked.to_json());
/// assert_eq!(verify_log([log.as_str()])?.head(), head);
/// # Ok::<(), delegation_fence::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogHead {
    /// The number of the next record.
    pub next_seq: u64,
    /// The hash of the last record; 32 zero bytes for an empty log.
    pub hash: B256,
}

impl LogHead {
    /// The head of an empty log.
    pub const EMPTY: Self = Self {
        next_seq: 0,
        hash: B256::ZERO,
    };

    /// Appends an event and returns its record. The record must be durable before it is shown.
    ///
    /// # Errors
    /// No entry can cause an error.
    pub fn append(&mut self, entry: LogEntry) -> Result<LogRecord, Refusal> {
        let mut record = LogRecord {
            at: Time(entry.at),
            block_hash: entry.block_hash.map(Word),
            event: entry.event,
            hash: None,
            payload_digest: entry.payload_digest.map(Word),
            prev_hash: Word(self.hash),
            read_back: entry.read_back.map(Digits),
            refused_by: entry.refused_by.map(|rule| rule.as_str().to_owned()),
            seq: self.next_seq,
            step: entry.step.map(Transaction::key),
            tx_hash: entry.tx_hash.map(Word),
        };
        let hash = record.computed_hash()?;
        record.hash = Some(Word(hash));
        *self = Self {
            next_seq: self.next_seq.saturating_add(1),
            hash,
        };
        Ok(record)
    }
}
