//! The audit of a mandate: a list of records. Each record contains the hash of the one before it.
//!
//! This module appends records and computes their hashes. It leaves their storage to the caller.
//! [`verify()`](crate::verify) checks an audit offline.

mod error;
mod verify;

use alloy_primitives::{B256, keccak256};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use self::error::AuditError;
pub use self::verify::verify;
use crate::{Decision, Inputs, Mandate, MoveKey, MoveOutcome, Proposal};

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The mandate was created.
    Created,
    /// A check found a sufficient gain.
    Opportunity,
    /// A check found no sufficient gain.
    NoChange,
    /// A check had only old data.
    StaleData,
    /// A check had no data to compare.
    Unavailable,
    /// A mandate that acts requests a move. This is recorded before the move begins.
    MoveAsked,
    /// The money was moved.
    Moved,
    /// The move was refused before anything was signed.
    MoveRefused,
    /// The move has begun, and did not complete.
    MoveFailed,
    /// The move was stopped before anything was signed.
    MoveStopped,
    /// The owner cancelled the mandate.
    Cancelled,
    /// The mandate's time is over.
    Expired,
}

impl From<Decision> for Event {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Opportunity => Self::Opportunity,
            Decision::NoChange => Self::NoChange,
            Decision::StaleData => Self::StaleData,
            Decision::Unavailable => Self::Unavailable,
        }
    }
}

impl From<&MoveOutcome> for Event {
    fn from(outcome: &MoveOutcome) -> Self {
        match outcome {
            MoveOutcome::Moved { .. } => Self::Moved,
            MoveOutcome::Refused { .. } => Self::MoveRefused,
            MoveOutcome::Failed { .. } => Self::MoveFailed,
            MoveOutcome::Stopped { .. } => Self::MoveStopped,
        }
    }
}

impl Event {
    const fn is_check(self) -> bool {
        matches!(
            self,
            Self::Opportunity | Self::NoChange | Self::StaleData | Self::Unavailable
        )
    }

    const fn ends_move(self) -> bool {
        matches!(
            self,
            Self::Moved | Self::MoveRefused | Self::MoveFailed | Self::MoveStopped
        )
    }
}

/// An event that is not recorded yet.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditEntry {
    at: Timestamp,
    event: Event,
    action: Value,
    tx_hash: Option<B256>,
}

impl AuditEntry {
    fn new(at: Timestamp, event: Event, action: Value) -> Self {
        Self {
            at,
            event,
            action,
            tx_hash: None,
        }
    }

    /// Makes the entry of a mandate's creation.
    #[must_use]
    pub fn created(mandate: &Mandate) -> Self {
        let inputs = json!({
            "id": mandate.id,
            "owner": mandate.owner,
            "rules": mandate.rules,
            "mode": mandate.mode,
            "expires_at": mandate.expires_at,
        });
        Self::new(
            mandate.created_at,
            Event::Created,
            json!({"inputs": inputs}),
        )
    }

    /// Makes the entry of a check. For an opportunity, its action also names the market and the
    /// gain.
    #[must_use]
    pub fn checked(inputs: &Inputs) -> Self {
        let decision = inputs.decide();
        let mut action = json!({"inputs": inputs});
        if let (Decision::Opportunity, Value::Object(members)) = (decision, &mut action) {
            members.insert("pool".to_owned(), json!(inputs.best));
            members.insert("delta_bps".to_owned(), json!(inputs.delta_bps()));
        }
        Self::new(inputs.checked_at, decision.into(), action)
    }

    /// Makes the entry of a move that is about to begin.
    #[must_use]
    pub fn asked(proposal: &Proposal, at: Timestamp) -> Self {
        Self::new(at, Event::MoveAsked, json!({"inputs": proposal}))
    }

    /// Makes the entry of a move's end.
    #[must_use]
    pub fn concluded(key: &MoveKey, outcome: &MoveOutcome, at: Timestamp) -> Self {
        let inputs = json!({"key": key, "outcome": outcome});
        Self {
            tx_hash: outcome.tx_hash(),
            ..Self::new(at, outcome.into(), json!({"inputs": inputs}))
        }
    }

    /// Makes the entry of a cancellation by the owner.
    #[must_use]
    pub fn cancelled(mandate: &Mandate, at: Timestamp) -> Self {
        let inputs = json!({"id": mandate.id});
        Self::new(at, Event::Cancelled, json!({"inputs": inputs}))
    }

    /// Makes the entry of a mandate's expiry.
    #[must_use]
    pub fn expired(mandate: &Mandate, at: Timestamp) -> Self {
        let inputs = json!({"id": mandate.id, "expires_at": mandate.expires_at});
        Self::new(at, Event::Expired, json!({"inputs": inputs}))
    }

    /// Whether a record states exactly this entry.
    fn is(&self, record: &AuditRecord) -> bool {
        let same = (self.at, self.event, self.tx_hash);
        same == (record.at, record.decision, record.tx_hash) && self.action == record.action
    }
}

/// A record of the audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuditRecord {
    /// Its number, from 0.
    pub seq: u64,
    /// The time, by the server's clock.
    pub at: Timestamp,
    /// The decision or event.
    pub decision: Event,
    /// keccak-256 over the RFC 8785 bytes of `action.inputs`.
    pub inputs_digest: B256,
    /// The inputs of the decision, and its result.
    pub action: Value,
    /// The last transaction of a move. `None` for every other record.
    pub tx_hash: Option<B256>,
    /// The hash of the record before it. The first record has 32 zero bytes.
    pub prev_hash: B256,
    /// keccak-256 over the RFC 8785 bytes of the record without this member.
    pub hash: B256,
}

/// The end of an audit: the number of its next record, and the hash of its last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// The number of the next record.
    pub next_seq: u64,
    /// The hash of the last record.
    pub hash: B256,
}

impl AuditHead {
    /// The head of an empty audit.
    pub const EMPTY: Self = Self {
        next_seq: 0,
        hash: B256::ZERO,
    };

    /// Appends an entry and returns its record. The record must be durable before anybody sees it.
    ///
    /// # Errors
    /// [`AuditError::Malformed`] when the entry has no canonical JSON. No entry causes it.
    pub fn append(&mut self, entry: AuditEntry) -> Result<AuditRecord, AuditError> {
        let seq = self.next_seq;
        let malformed = AuditError::Malformed { seq };
        let mut record = AuditRecord {
            seq,
            at: entry.at,
            decision: entry.event,
            inputs_digest: digest(entry.action.get("inputs")).ok_or(malformed.clone())?,
            action: entry.action,
            tx_hash: entry.tx_hash,
            prev_hash: self.hash,
            hash: B256::ZERO,
        };
        let value = serde_json::to_value(&record).ok();
        record.hash = value.and_then(hash_of).ok_or(malformed)?;
        *self = Self {
            next_seq: seq.saturating_add(1),
            hash: record.hash,
        };
        Ok(record)
    }
}

/// Computes the hash of a record, over its canonical bytes without `hash`.
fn hash_of(mut record: Value) -> Option<B256> {
    record.as_object_mut()?.remove("hash");
    digest(Some(&record))
}

fn digest(value: Option<&Value>) -> Option<B256> {
    let bytes = serde_json_canonicalizer::to_vec(value?).ok()?;
    Some(keccak256(bytes))
}

#[cfg(test)]
mod tests;
