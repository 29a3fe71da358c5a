//! Verifies an audit offline, from its records alone.

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{AuditEntry, AuditError, AuditHead, AuditRecord, Event, digest, hash_of};
use crate::{Inputs, Mode, MoveKey, MoveOutcome, Pool, Proposal, Rules};

/// Verifies an audit offline. The records must be in order, from the first one on, as the server
/// returned them. Returns the head of the audit.
///
/// Each check is decided again from the inputs in its record. The inputs must have the rules of the
/// creation and the baseline of the check before. Each move must follow the check that requested
/// it, obey the rules, and end once. Records that are missing at the end cannot be found: compare
/// the head with an earlier one.
///
/// # Errors
/// The first invalid record, and why it is invalid.
pub fn verify<'a>(records: impl IntoIterator<Item = &'a Value>) -> Result<AuditHead, AuditError> {
    let mut head = AuditHead::EMPTY;
    let mut story = None;
    for value in records {
        let record = judge(value, head)?;
        let seq = record.seq;
        match &mut story {
            None => story = Some(Story::begin(&record)?),
            Some(story) => story.go_on(&record)?,
        }
        head = AuditHead {
            next_seq: seq.saturating_add(1),
            hash: record.hash,
        };
    }
    Ok(head)
}

/// Checks one record by itself, and that it follows `head`.
fn judge(value: &Value, head: AuditHead) -> Result<AuditRecord, AuditError> {
    let seq = head.next_seq;
    let malformed = || AuditError::Malformed { seq };
    let record: AuditRecord = serde_json::from_value(value.clone()).map_err(|_| malformed())?;
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
    if digest(record.action.get("inputs")) != Some(record.inputs_digest) {
        return Err(AuditError::Inputs { seq });
    }
    Ok(record)
}

/// Reads the inputs of a record as their expected type.
fn inputs<T: DeserializeOwned>(record: &AuditRecord) -> Result<T, AuditError> {
    let inputs = record.action.get("inputs").cloned().unwrap_or_default();
    serde_json::from_value(inputs).map_err(|_| AuditError::Malformed { seq: record.seq })
}

/// The parts of a creation with which later records are compared.
struct Creation {
    id: String,
    rules: Rules,
    mode: Mode,
}

/// The state after the records that were read so far.
struct Story {
    creation: Creation,
    at: Timestamp,
    last: Event,
    /// The number and the inputs of the record before, when that is a check and so may request a
    /// move.
    checked: Option<(u64, Inputs)>,
    baseline: Option<Pool>,
    /// The requested move that has not ended.
    open: Option<Proposal>,
    ended: bool,
}

impl Story {
    fn begin(record: &AuditRecord) -> Result<Self, AuditError> {
        let seq = record.seq;
        if record.decision != Event::Created {
            return Err(AuditError::Order { seq });
        }
        let member = |name: &str| record.action.pointer(name).cloned().unwrap_or_default();
        let malformed = |_| AuditError::Malformed { seq };
        Ok(Self {
            creation: Creation {
                id: serde_json::from_value(member("/inputs/id")).map_err(malformed)?,
                rules: serde_json::from_value(member("/inputs/rules")).map_err(malformed)?,
                mode: serde_json::from_value(member("/inputs/mode")).map_err(malformed)?,
            },
            at: record.at,
            last: record.decision,
            checked: None,
            baseline: None,
            open: None,
            ended: false,
        })
    }

    fn go_on(&mut self, record: &AuditRecord) -> Result<(), AuditError> {
        let seq = record.seq;
        if record.at < self.at {
            return Err(AuditError::Time { seq });
        }
        let event = record.decision;
        // After the end of a mandate, only the end of the move that was open may follow.
        if event == Event::Created || (self.ended && !event.ends_move()) {
            return Err(AuditError::Order { seq });
        }
        let checked = self.checked.take();
        if event.is_check() {
            self.check(record)?;
        } else if event == Event::MoveAsked {
            self.ask(record, checked)?;
        } else if event.ends_move() {
            self.conclude(record)?;
        } else {
            self.ended = true;
        }
        self.at = record.at;
        self.last = event;
        Ok(())
    }

    fn check(&mut self, record: &AuditRecord) -> Result<(), AuditError> {
        let seq = record.seq;
        let inputs: Inputs = inputs(record)?;
        if !AuditEntry::checked(&inputs).is(record) {
            return Err(AuditError::Decision { seq });
        }
        let acts = self.creation.mode == Mode::Auto;
        let follows = inputs.is_under(&self.creation.rules)
            && inputs.position.is_some() == acts
            && inputs.baseline == self.baseline;
        if !follows {
            return Err(AuditError::Continuity { seq });
        }
        if self.open.is_some() {
            return Err(AuditError::Move { seq });
        }
        self.baseline = inputs.next_baseline().cloned();
        self.checked = Some((seq, inputs));
        Ok(())
    }

    fn ask(
        &mut self,
        record: &AuditRecord,
        checked: Option<(u64, Inputs)>,
    ) -> Result<(), AuditError> {
        let refused = AuditError::Move { seq: record.seq };
        let proposal: Proposal = inputs(record)?;
        let Some((asked_by, checked)) = checked.filter(|_| self.last == Event::Opportunity) else {
            return Err(refused);
        };
        let key = MoveKey::new(&self.creation.id, asked_by);
        let expected = checked.proposal(key, &self.creation.rules);
        if expected.as_ref() != Some(&proposal)
            || !AuditEntry::asked(&proposal, record.at).is(record)
        {
            return Err(refused);
        }
        self.open = Some(proposal);
        Ok(())
    }

    fn conclude(&mut self, record: &AuditRecord) -> Result<(), AuditError> {
        let refused = AuditError::Move { seq: record.seq };
        let Some(open) = self.open.take() else {
            return Err(refused);
        };
        let stated = record.action.pointer("/inputs/outcome").cloned();
        let malformed = |_| AuditError::Malformed { seq: record.seq };
        let outcome: MoveOutcome =
            serde_json::from_value(stated.unwrap_or_default()).map_err(malformed)?;
        let within = match &outcome {
            MoveOutcome::Moved { moved_usd, .. } => moved_usd.0 <= open.max_move_usd.0,
            _ => true,
        };
        if !within || !AuditEntry::concluded(&open.key, &outcome, record.at).is(record) {
            return Err(refused);
        }
        Ok(())
    }
}
