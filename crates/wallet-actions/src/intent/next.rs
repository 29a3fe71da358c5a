//! Decides the next step of an intent from its record alone. The driver carries the step out.

use super::{Intent, State, Status, Step};
use crate::StepKind;

/// The halt reason of an intent whose transaction was cancelled before it was signed.
pub(crate) const CANCELLED: &str = "cancelled";

/// The most transactions that clear one allowance.
const MOST_CLEARS: u8 = 3;

/// The next step of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Check a planned transaction and order it.
    Order(usize),
    /// Wait for the outcome of an ordered transaction.
    Await(usize),
    /// Read the rest of the allowance.
    ReadAllowance,
    /// The transactions on the source chain are done. Wait for the mint from now on.
    Follow,
    /// Ask for the attested message and submit it to the destination chain.
    Mint,
    /// End the intent.
    End(State),
    /// Do nothing.
    Nothing,
}

impl Intent {
    /// Decides the next step.
    pub(crate) fn next(&self) -> Next {
        if self.state.is_over() {
            return Next::Nothing;
        }
        let first = |is: fn(&Step) -> bool| self.steps.iter().position(is);
        if let Some(index) = first(|step| matches!(step.status, Status::Ordered { .. })) {
            return Next::Await(index);
        }
        if let Some(index) = first(|step| step.status == Status::Planned) {
            return Next::Order(index);
        }
        if !self.has_begun() {
            return Next::End(State::Failed);
        }
        if let Some(allowance) = &self.allowance {
            let unread = allowance.left.is_none();
            let left = allowance.left.is_some_and(|left| !left.is_zero());
            if self.may_be_allowed() && (unread || (left && allowance.clears < MOST_CLEARS)) {
                return Next::ReadAllowance;
            }
        }
        if self.halted.is_none() && self.awaits_mint() {
            return match self.state {
                State::Running => Next::Follow,
                _ => Next::Mint,
            };
        }
        Next::End(self.outcome())
    }

    /// Whether an approval of the intent may be in effect on the chain.
    fn may_be_allowed(&self) -> bool {
        self.steps.iter().any(|step| {
            step.kind == StepKind::Approve
                && !matches!(step.status, Status::Skipped | Status::Unsent)
        })
    }

    /// Whether any transaction of the intent is in a block.
    fn stands(&self) -> bool {
        self.steps.iter().any(|step| step.status.at().is_some())
    }

    fn awaits_mint(&self) -> bool {
        let minted = |step: &Step| step.kind == StepKind::Mint;
        self.bridge
            .is_some_and(|bridge| !bridge.minted_by_others && !self.steps.iter().any(minted))
    }

    /// Returns the state in which the intent ends, when nothing is left to do.
    fn outcome(&self) -> State {
        let decisive = |step: &&Step| {
            matches!(step.kind, StepKind::Call | StepKind::Transfer)
                && matches!(step.status, Status::Sealed { .. })
        };
        let left = self.allowance.and_then(|allowance| allowance.left);
        let is_cleared = left.is_none_or(|left| left.is_zero()) || !self.may_be_allowed();
        let is_delivered = self
            .received()
            .all(|(_, expected, received)| received >= expected.at_least);
        match self.steps.iter().find(decisive) {
            None if self.halted.as_deref() == Some(CANCELLED) && !self.stands() => State::Cancelled,
            None => State::Failed,
            Some(_) if self.halted.is_none() && is_cleared && is_delivered => State::Completed,
            Some(_) => State::Partial,
        }
    }
}
