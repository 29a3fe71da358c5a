//! The moves of an intent. Each returns the record to be written, or says why it is none of its
//! moves.

use alloy_primitives::U256;
use thiserror::Error;

use super::{At, Intent, State, Status, Step};

/// A move that the intent's record does not allow. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the intent {id} is {state}, and cannot be {what}")]
pub struct IllegalMove {
    id: String,
    state: &'static str,
    what: &'static str,
}

type Moved = Result<Intent, IllegalMove>;

/// A transaction that is not where the record has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Which of the intent's.
    pub(crate) index: usize,
    /// The most gas that it might use.
    pub(crate) gas_limit: u64,
}

impl Intent {
    /// `planned → ordered`.
    pub(crate) fn order(&self, index: usize, gas_limit: u64) -> Moved {
        self.step_from(index, "ordered", |step| match step.status {
            Status::Planned => Some(Status::Ordered { gas_limit }),
            _ => None,
        })
    }

    /// `ordered → sealed`.
    pub(crate) fn seal(&self, index: usize, at: At, received: Option<U256>) -> Moved {
        self.step_from(index, "sealed", |step| match step.status {
            Status::Ordered { gas_limit } => Some(Status::Sealed {
                at,
                gas_limit,
                received,
            }),
            _ => None,
        })
    }

    /// `ordered → reverted`.
    pub(crate) fn revert(&self, index: usize, at: At) -> Moved {
        self.step_from(index, "reverted", |step| match step.status {
            Status::Ordered { .. } => Some(Status::Reverted { at }),
            _ => None,
        })
    }

    /// `ordered → unsent`.
    pub(crate) fn leave_unsent(&self, index: usize) -> Moved {
        self.step_from(index, "left unsent", |step| match step.status {
            Status::Ordered { .. } => Some(Status::Unsent),
            _ => None,
        })
    }

    /// `sealed | reverted | unsent → ordered`: they are not where the record has them. An intent
    /// that was over goes on. What follows from them is read again: the allowance, and whether the
    /// intent did what was asked.
    pub(crate) fn reopen(&self, lost: &[Lost], now: u64) -> Moved {
        let mut next = self.clone();
        for Lost { index, gas_limit } in lost {
            let step = next.steps.get_mut(*index);
            match step.map(|step| &mut step.status) {
                Some(
                    status @ (Status::Sealed { .. } | Status::Reverted { .. } | Status::Unsent),
                ) => {
                    *status = Status::Ordered {
                        gas_limit: *gas_limit,
                    };
                }
                _ => return Err(self.illegal("reopened")),
            }
        }
        let keeps_from_completion = |step: &Step| {
            matches!(
                step.status,
                Status::Reverted { .. } | Status::Unsent | Status::Skipped
            )
        };
        if !next.steps.iter().any(keeps_from_completion) {
            next.halted = None;
        }
        if let Some(allowance) = &mut next.allowance {
            allowance.left = None;
        }
        if self.state.is_over() {
            next.state = State::Reopened;
            next.ended_at = None;
            next.is_final = false;
            next.reorganised_at = Some(now);
        }
        Ok(next)
    }

    /// No block can change what it says any more.
    pub(crate) fn finish(&self) -> Moved {
        match self.state.is_over() {
            true => Ok(Self {
                is_final: true,
                ..self.clone()
            }),
            false => Err(self.illegal("final")),
        }
    }

    /// It does not go on as planned: what is planned is skipped. The first reason stands.
    pub(crate) fn halt(&self, reason: &str) -> Moved {
        let mut next = self.running("halted")?;
        for step in &mut next.steps {
            if step.status == Status::Planned {
                step.status = Status::Skipped;
            }
        }
        next.halted.get_or_insert_with(|| reason.to_owned());
        Ok(next)
    }

    /// What is left of the allowance; a transaction that takes it back, if there is one to send.
    pub(crate) fn read_allowance(&self, left: U256, clear: Option<Step>) -> Moved {
        let mut next = self.running("read")?;
        if let Some(allowance) = &mut next.allowance {
            allowance.left = Some(left);
            if let Some(clear) = clear {
                allowance.clears = allowance.clears.saturating_add(1);
                // It is read again after the transaction.
                allowance.left = None;
                next.steps.push(clear);
            }
        }
        Ok(next)
    }

    /// One more transaction.
    pub(crate) fn append(&self, step: Step) -> Moved {
        let mut next = self.running("extended")?;
        next.steps.push(step);
        Ok(next)
    }

    /// `running → following`: the mint is awaited.
    pub(crate) fn follow(&self) -> Moved {
        let mut next = self.running("followed")?;
        match next.bridge {
            Some(_) if next.state == State::Running => next.state = State::Following,
            _ => return Err(self.illegal("followed")),
        }
        Ok(next)
    }

    /// Somebody else has brought the message to the destination chain.
    pub(crate) fn found_minted(&self) -> Moved {
        let mut next = self.running("found minted")?;
        if let Some(bridge) = &mut next.bridge {
            bridge.minted_by_others = true;
        }
        Ok(next)
    }

    /// It is over.
    pub(crate) fn end(&self, state: State, now: u64) -> Moved {
        let mut next = self.running("ended")?;
        if !state.is_over() {
            return Err(self.illegal("ended"));
        }
        next.state = state;
        next.ended_at = Some(now);
        // What was never handed over is in no block.
        next.is_final = !next.has_begun();
        Ok(next)
    }

    /// It is given up before anything was begun.
    pub(crate) fn cancel(&self, reason: &str, now: u64) -> Moved {
        if self.has_begun() {
            return Err(self.illegal("cancelled"));
        }
        self.halt(reason)?.end(State::Cancelled, now)
    }

    /// It is given up after a transaction was handed over that is never signed.
    pub(crate) fn withdraw(&self, index: usize, reason: &str, now: u64) -> Moved {
        if self.has_effect() {
            return Err(self.illegal("withdrawn"));
        }
        let unsent = self.leave_unsent(index)?;
        unsent.halt(reason)?.end(State::Cancelled, now)
    }

    fn running(&self, what: &'static str) -> Moved {
        match self.state.is_over() {
            true => Err(self.illegal(what)),
            false => Ok(self.clone()),
        }
    }

    fn step_from(
        &self,
        index: usize,
        what: &'static str,
        to: impl FnOnce(&Step) -> Option<Status>,
    ) -> Moved {
        let mut next = self.running(what)?;
        let step = next.steps.get_mut(index);
        let status = step.as_ref().and_then(|step| to(step));
        match (step, status) {
            (Some(step), Some(status)) => step.status = status,
            _ => return Err(self.illegal(what)),
        }
        Ok(next)
    }

    fn illegal(&self, what: &'static str) -> IllegalMove {
        IllegalMove {
            id: self.id.to_string(),
            state: self.state.as_str(),
            what,
        }
    }
}
