//! What is to be done for an intent, by its record alone.

use super::{Intent, State, Status, Step};
use crate::StepKind;

/// Why an intent halts whose transaction was given up before it was signed.
pub(crate) const CANCELLED: &str = "cancelled";

/// The most transactions that take one allowance back.
const MOST_CLEARS: u8 = 3;

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// A planned transaction is checked and handed over.
    Order(usize),
    /// A transaction that was handed over is awaited.
    Await(usize),
    /// What is left of the allowance is read.
    ReadAllowance,
    /// The source chain is done: the mint is awaited from now on.
    Follow,
    /// The attested message is asked for and brought to the destination chain.
    Mint,
    /// It is over.
    End(State),
    /// Nothing.
    Nothing,
}

impl Intent {
    /// What is to be done next.
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

    /// Whether an approval of the intent may stand on the chain.
    fn may_be_allowed(&self) -> bool {
        self.steps.iter().any(|step| {
            step.kind == StepKind::Approve
                && !matches!(step.status, Status::Skipped | Status::Unsent)
        })
    }

    /// Whether any transaction of it stands in a block.
    fn stands(&self) -> bool {
        self.steps.iter().any(|step| step.status.at().is_some())
    }

    fn awaits_mint(&self) -> bool {
        let minted = |step: &Step| step.kind == StepKind::Mint;
        self.bridge
            .is_some_and(|bridge| !bridge.minted_by_others && !self.steps.iter().any(minted))
    }

    /// How it ends, when nothing is left to do.
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
