//! A mandate with the head of its audit. Each event returns its record, and changes the mandate.
//!
//! The caller stores the records and the changed mandate together. Nothing here reads a clock, a
//! store or a wallet.

use jiff::{SignedDuration, Timestamp};
use readings::Figure;
use serde::{Deserialize, Serialize};

use crate::{
    AuditEntry, AuditError, AuditHead, AuditRecord, Decision, Ended, Inputs, Mandate, MoveBounds,
    MoveKey, MoveOutcome, Pool, Position, Proposal, Snapshot, State,
};

/// The time in which moves are counted.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A mandate, with all data on which its next record depends. A record counts only once it is
/// stored together with the state after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watched {
    mandate: Mandate,
    head: AuditHead,
    /// The time of the last record. No record is older.
    recorded_at: Timestamp,
    baseline: Option<Pool>,
    last_decision: Option<Decision>,
    opportunity: Option<AnnouncedOpportunity>,
    open_move: Option<Proposal>,
    last_move: Option<(MoveKey, MoveOutcome)>,
    /// When the moves of the last day were requested, except those that never began.
    #[serde(default)]
    moves: Vec<Timestamp>,
}

/// The last opportunity, which the owner can read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnnouncedOpportunity {
    /// The number of its record.
    pub seq: u64,
    /// The time of the check.
    pub at: Timestamp,
    /// The market.
    pub pool: Pool,
    /// The gain, in basis points. `None` when there was nothing to compare with.
    pub delta_bps: Option<i64>,
}

/// The facts that a check has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The time of the check.
    pub at: Timestamp,
    /// The snapshot. `None` when there is none.
    pub snapshot: Option<Snapshot>,
    /// The best allowed market in the snapshot. `None` when there is none.
    pub best: Option<Pool>,
    /// The position of the wallet's money. A mandate that acts needs it. A mandate that only
    /// notifies must not have it.
    pub position: Option<Position>,
    /// The estimated cost of a move, in dollars. `None` when the wallet was not read.
    pub cost_usd: Option<Figure>,
}

impl Watched {
    /// Creates a mandate with its first record.
    ///
    /// # Errors
    /// The same as [`AuditHead::append`].
    pub fn create(mandate: Mandate) -> Result<(Self, AuditRecord), AuditError> {
        let entry = AuditEntry::created(&mandate);
        let mut watched = Self {
            recorded_at: mandate.created_at,
            mandate,
            head: AuditHead::EMPTY,
            baseline: None,
            last_decision: None,
            opportunity: None,
            open_move: None,
            last_move: None,
            moves: Vec::new(),
        };
        let record = watched.append(entry)?;
        Ok((watched, record))
    }

    /// Returns the mandate.
    #[must_use]
    pub const fn mandate(&self) -> &Mandate {
        &self.mandate
    }

    /// Returns the head of the audit.
    #[must_use]
    pub const fn head(&self) -> AuditHead {
        self.head
    }

    /// Returns the decision of the last check. `None` before the first check.
    #[must_use]
    pub const fn last_decision(&self) -> Option<Decision> {
        self.last_decision
    }

    /// Returns the last opportunity. `None` when there was none.
    #[must_use]
    pub const fn opportunity(&self) -> Option<&AnnouncedOpportunity> {
        self.opportunity.as_ref()
    }

    /// Returns the requested move that has not ended. `None` when there is none.
    #[must_use]
    pub const fn open_move(&self) -> Option<&Proposal> {
        self.open_move.as_ref()
    }

    /// Returns the last move that ended. `None` when none has ended.
    #[must_use]
    pub const fn last_move(&self) -> Option<&(MoveKey, MoveOutcome)> {
        self.last_move.as_ref()
    }

    /// Returns when the next work is due, apart from an open move. `None` after the end.
    #[must_use]
    pub fn due_at(&self) -> Option<Timestamp> {
        let is_over = self.mandate.ended.is_some();
        (!is_over).then(|| self.mandate.next_check_at().min(self.mandate.expires_at))
    }

    /// Whether a check can be recorded at `now`: the mandate is active, it has no open move, and
    /// the clock was not set back before the last record.
    #[must_use]
    pub fn may_check(&self, now: Timestamp) -> bool {
        let is_active = self.mandate.state(now) == State::Active;
        is_active && self.open_move.is_none() && now >= self.recorded_at
    }

    /// Records a check. After an opportunity of a mandate that acts, also records the requested
    /// move. When [`Self::may_check`] is false, changes nothing and returns no record.
    ///
    /// # Errors
    /// The same as [`AuditHead::append`].
    pub fn check(&mut self, reading: Reading) -> Result<Vec<AuditRecord>, AuditError> {
        let at = reading.at;
        if !self.may_check(at) {
            return Ok(Vec::new());
        }
        self.moves.retain(|moved| at.duration_since(*moved) < DAY);
        let bounds = reading.cost_usd.map(|cost| self.bounds(at, cost));
        let rules = &self.mandate.rules;
        let inputs = Inputs {
            checked_at: at,
            allowed_protocols: rules.allowed_protocols.clone(),
            min_apy_delta_bps: rules.min_apy_delta_bps,
            snapshot: reading.snapshot,
            baseline: self.baseline.clone(),
            best: reading.best,
            position: reading.position,
            bounds,
        };
        let seq = self.head.next_seq;
        let decision = inputs.decide();
        let proposal = inputs.proposal(MoveKey::new(&self.mandate.id, seq), rules);
        let mut records = vec![self.append(AuditEntry::checked(&inputs))?];
        self.mandate.last_check_at = Some(at);
        self.last_decision = Some(decision);
        self.baseline = inputs.next_baseline().cloned();
        if let (Decision::Opportunity, Some(pool)) = (decision, &inputs.best) {
            self.opportunity = Some(AnnouncedOpportunity {
                seq,
                at,
                pool: pool.clone(),
                delta_bps: inputs.delta_bps(),
            });
        }
        if let Some(proposal) = proposal {
            records.push(self.append(AuditEntry::asked(&proposal, at))?);
            self.open_move = Some(proposal);
            self.moves.push(at);
        }
        Ok(records)
    }

    /// The bounds of a move at `at`.
    fn bounds(&self, at: Timestamp, cost_usd: Figure) -> MoveBounds {
        let rules = &self.mandate.rules;
        let left = self.mandate.expires_at.duration_since(at).as_secs();
        MoveBounds {
            max_moves_per_day: rules.max_moves_per_day,
            moved_within_day: u32::try_from(self.moves.len()).unwrap_or(u32::MAX),
            min_gain_usd: rules.min_gain_usd,
            max_move_usd: rules.max_move_usd,
            seconds_left: u64::try_from(left).unwrap_or_default(),
            cost_usd,
        }
    }

    /// Records the end of the open move. Returns no record when no move is open.
    ///
    /// # Errors
    /// The same as [`AuditHead::append`].
    pub fn conclude(
        &mut self,
        outcome: MoveOutcome,
        now: Timestamp,
    ) -> Result<Option<AuditRecord>, AuditError> {
        let Some(open) = self.open_move.clone() else {
            return Ok(None);
        };
        let at = now.max(self.recorded_at);
        let record = self.append(AuditEntry::concluded(&open.key, &outcome, at))?;
        self.open_move = None;
        // A move that never began does not count.
        if let MoveOutcome::Refused { .. } | MoveOutcome::Stopped { .. } = outcome {
            self.moves.pop();
        }
        self.last_move = Some((open.key, outcome));
        Ok(Some(record))
    }

    /// Ends the mandate at `now`: cancels it, or records that its time is over. Returns no record
    /// when it had ended before. An open move stays open.
    ///
    /// # Errors
    /// The same as [`AuditHead::append`].
    pub fn end(&mut self, now: Timestamp) -> Result<Option<AuditRecord>, AuditError> {
        if self.mandate.ended.is_some() {
            return Ok(None);
        }
        let at = now.max(self.recorded_at);
        let Ended { state, .. } = self.mandate.cancel(at);
        let entry = match state {
            State::Expired => AuditEntry::expired(&self.mandate, at),
            State::Active | State::Cancelled => AuditEntry::cancelled(&self.mandate, at),
        };
        self.append(entry).map(Some)
    }

    fn append(&mut self, entry: AuditEntry) -> Result<AuditRecord, AuditError> {
        let record = self.head.append(entry)?;
        self.recorded_at = record.at;
        Ok(record)
    }
}

#[cfg(test)]
mod tests;
