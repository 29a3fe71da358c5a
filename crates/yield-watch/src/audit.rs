//! The audit of a mandate: records of which each carries the hash of the one before it.

use alloy_primitives::{B256, keccak256};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use crate::{Decision, Inputs, Mandate, Rules};

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The mandate was created.
    Created,
    /// A check found enough of a gain.
    Opportunity,
    /// A check found none.
    NoChange,
    /// A check had only old data.
    StaleData,
    /// A check had nothing to compare.
    Unavailable,
    /// The owner cancelled the mandate.
    Cancelled,
    /// Its time is over.
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

impl Event {
    const fn is_check(self) -> bool {
        matches!(
            self,
            Self::Opportunity | Self::NoChange | Self::StaleData | Self::Unavailable
        )
    }

    const fn is_end(self) -> bool {
        matches!(self, Self::Cancelled | Self::Expired)
    }
}

/// An event that is to be recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    at: Timestamp,
    event: Event,
    action: Value,
}

impl Entry {
    /// The creation of a mandate.
    #[must_use]
    pub fn created(mandate: &Mandate) -> Self {
        let inputs = json!({
            "id": mandate.id,
            "owner": mandate.owner,
            "rules": mandate.rules,
            "mode": mandate.mode,
            "expires_at": mandate.expires_at,
        });
        Self {
            at: mandate.created_at,
            event: Event::Created,
            action: json!({"inputs": inputs}),
        }
    }

    /// A check. The action of an opportunity names the market and the gain as well.
    #[must_use]
    pub fn checked(inputs: &Inputs) -> Self {
        let decision = inputs.decide();
        let mut action = json!({"inputs": inputs});
        if let (Decision::Opportunity, Value::Object(members)) = (decision, &mut action) {
            members.insert("pool".to_owned(), json!(inputs.best));
            members.insert("delta_bps".to_owned(), json!(inputs.delta_bps()));
        }
        Self {
            at: inputs.checked_at,
            event: decision.into(),
            action,
        }
    }

    /// The end of a mandate: its owner cancelled it.
    #[must_use]
    pub fn cancelled(mandate: &Mandate, at: Timestamp) -> Self {
        Self {
            at,
            event: Event::Cancelled,
            action: json!({"inputs": {"id": mandate.id}}),
        }
    }

    /// The end of a mandate: its time is over.
    #[must_use]
    pub fn expired(mandate: &Mandate, at: Timestamp) -> Self {
        Self {
            at,
            event: Event::Expired,
            action: json!({"inputs": {"id": mandate.id, "expires_at": mandate.expires_at}}),
        }
    }
}

/// A record as it stands in the audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Its number, from 0.
    pub seq: u64,
    /// When, by the server's clock.
    pub at: Timestamp,
    /// What was decided.
    pub decision: Event,
    /// keccak-256 over the RFC 8785 bytes of `action.inputs`.
    pub inputs_digest: B256,
    /// What the decision used, and what came of it.
    pub action: Value,
    /// The transaction that was sent; none by a mandate that only notifies.
    pub tx_hash: Option<B256>,
    /// The hash of the record before it; 32 zero bytes of the first.
    pub prev_hash: B256,
    /// keccak-256 over the RFC 8785 bytes of the record without this member.
    pub hash: B256,
}

/// Where an audit ends: the number of its next record, and the hash of its last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The number of the next record.
    pub next_seq: u64,
    /// The hash of the last record.
    pub hash: B256,
}

/// Why an audit does not hold. `seq` is the number that the record must have had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AuditError {
    /// It is no record.
    #[error("record {seq} is malformed")]
    Malformed {
        /// The record.
        seq: u64,
    },
    /// Records were left out, added or moved.
    #[error("record {expected} has the number {observed}")]
    Sequence {
        /// The number that follows.
        expected: u64,
        /// The number that it has.
        observed: u64,
    },
    /// It does not follow the record before it.
    #[error("record {seq} does not follow the one before it")]
    Chain {
        /// The record.
        seq: u64,
    },
    /// It was changed.
    #[error("record {seq} has the hash {observed}, and its bytes have {expected}")]
    Hash {
        /// The record.
        seq: u64,
        /// What its bytes hash to.
        expected: B256,
        /// What it states.
        observed: B256,
    },
    /// Its inputs are not those of the digest.
    #[error("the inputs of record {seq} do not have its digest")]
    Inputs {
        /// The record.
        seq: u64,
    },
    /// Its inputs decide otherwise.
    #[error("the inputs of record {seq} decide otherwise")]
    Decision {
        /// The record.
        seq: u64,
    },
    /// Its inputs have other rules than the creation, or another baseline than the check before left.
    #[error("the inputs of record {seq} do not continue those before")]
    Continuity {
        /// The record.
        seq: u64,
    },
    /// The clock ran backwards.
    #[error("record {seq} is older than the one before it")]
    Time {
        /// The record.
        seq: u64,
    },
    /// The first record is no creation, a later one is, or something follows the end.
    #[error("record {seq} cannot stand at its place")]
    Order {
        /// The record.
        seq: u64,
    },
}

impl AuditError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "audit_malformed",
            Self::Sequence { .. } => "audit_sequence",
            Self::Chain { .. } => "audit_chain",
            Self::Hash { .. } => "audit_hash",
            Self::Inputs { .. } => "audit_inputs",
            Self::Decision { .. } => "audit_decision",
            Self::Continuity { .. } => "audit_continuity",
            Self::Time { .. } => "audit_time",
            Self::Order { .. } => "audit_order",
        }
    }
}

impl Head {
    /// Of an audit without records.
    pub const EMPTY: Self = Self {
        next_seq: 0,
        hash: B256::ZERO,
    };

    /// The record of an entry, behind which the audit ends now. It must be durable before it is shown.
    ///
    /// # Errors
    /// None that an entry can cause.
    pub fn append(&mut self, entry: Entry) -> Result<Record, AuditError> {
        let seq = self.next_seq;
        let malformed = AuditError::Malformed { seq };
        let mut record = Record {
            seq,
            at: entry.at,
            decision: entry.event,
            inputs_digest: digest(entry.action.get("inputs")).ok_or(malformed.clone())?,
            action: entry.action,
            tx_hash: None,
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

/// Verifies an audit offline: its records in their order from the first on, as the server gave them. Each check is decided
/// again from the inputs in its record, which must have the rules of the creation and the baseline of the check before. What was left out at the end it cannot see: compare the head with one read before.
///
/// # Errors
/// The first record that does not hold, and why.
pub fn verify<'a>(records: impl IntoIterator<Item = &'a Value>) -> Result<Head, AuditError> {
    let mut head = Head::EMPTY;
    let mut before: Option<(Timestamp, Event)> = None;
    let mut rules = None;
    let mut baseline = None;
    for value in records {
        let (record, inputs) = judge(value, head)?;
        let seq = record.seq;
        if before.is_some_and(|(at, _)| record.at < at) {
            return Err(AuditError::Time { seq });
        }
        let in_place = match before {
            None => record.decision == Event::Created,
            Some((_, last)) => record.decision != Event::Created && !last.is_end(),
        };
        if !in_place {
            return Err(AuditError::Order { seq });
        }
        if let Some(inputs) = inputs {
            let follows = rules.as_ref().is_some_and(|rules| inputs.is_under(rules));
            if !follows || inputs.baseline != baseline {
                return Err(AuditError::Continuity { seq });
            }
            baseline = inputs.next_baseline().cloned();
        } else if record.decision == Event::Created {
            let stated = record.action.pointer("/inputs/rules").cloned();
            let read: Option<Rules> = stated.and_then(|rules| serde_json::from_value(rules).ok());
            rules = Some(read.ok_or(AuditError::Malformed { seq })?);
        }
        before = Some((record.at, record.decision));
        head = Head {
            next_seq: seq.saturating_add(1),
            hash: record.hash,
        };
    }
    Ok(head)
}

/// One record, by itself and behind `head`.
fn judge(value: &Value, head: Head) -> Result<(Record, Option<Inputs>), AuditError> {
    let seq = head.next_seq;
    let malformed = || AuditError::Malformed { seq };
    let record: Record = serde_json::from_value(value.clone()).map_err(|_| malformed())?;
    let expected = hash_of(value.clone()).ok_or_else(malformed)?;
    if record.hash != expected {
        return Err(AuditError::Hash {
            seq,
            expected,
            observed: record.hash,
        });
    }
    if record.seq != seq {
        return Err(AuditError::Sequence {
            expected: seq,
            observed: record.seq,
        });
    }
    if record.prev_hash != head.hash {
        return Err(AuditError::Chain { seq });
    }
    let inputs = record.action.get("inputs");
    if digest(inputs) != Some(record.inputs_digest) {
        return Err(AuditError::Inputs { seq });
    }
    if record.decision.is_check() {
        let inputs = inputs.cloned().unwrap_or_default();
        let inputs: Inputs = serde_json::from_value(inputs).map_err(|_| malformed())?;
        let again = Entry::checked(&inputs);
        let same = again.event == record.decision && again.at == record.at;
        if !same || again.action != record.action {
            return Err(AuditError::Decision { seq });
        }
        return Ok((record, Some(inputs)));
    }
    Ok((record, None))
}

/// The hash of a record: of its bytes without `hash`.
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
