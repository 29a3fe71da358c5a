//! The state changes of an intent. Each function returns the changed record, or [`IllegalMove`]
//! when the current record does not allow the change. None of them writes anything.

use alloy_primitives::U256;
use thiserror::Error;

use super::{At, Hold, Intent, State, Status, Step};
use crate::StepKind;

/// A change that the current record does not allow. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the intent {id} is {state}, and cannot be {what}")]
pub struct IllegalMove {
    id: String,
    state: &'static str,
    what: &'static str,
}

type Moved = Result<Intent, IllegalMove>;

/// A transaction that is no longer where the intent's record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Its index in the intent.
    pub(crate) index: usize,
    /// Its gas limit.
    pub(crate) gas_limit: u64,
}

impl Intent {
    /// Changes a transaction from `planned` to `ordered`.
    pub(crate) fn order(&self, index: usize, gas_limit: u64) -> Moved {
        self.step_from(index, "ordered", |step| match step.status {
            Status::Planned => Some(Status::Ordered { gas_limit }),
            _ => None,
        })
    }

    /// Changes a transaction from `ordered` to `sealed`.
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

    /// Changes a transaction from `ordered` to `reverted`.
    pub(crate) fn revert(&self, index: usize, at: At) -> Moved {
        self.step_from(index, "reverted", |step| match step.status {
            Status::Ordered { .. } => Some(Status::Reverted { at }),
            _ => None,
        })
    }

    /// Changes a transaction from `ordered` to `unsent`.
    pub(crate) fn leave_unsent(&self, index: usize) -> Moved {
        self.step_from(index, "left unsent", |step| match step.status {
            Status::Ordered { .. } => Some(Status::Unsent),
            _ => None,
        })
    }

    /// Returns transactions that are no longer where the record says to `ordered`. Each of them
    /// must be `sealed`, `reverted` or `unsent`.
    /// An intent that was over continues. Its allowance and its result are read again.
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
        // Only the new branch shows which account has minted.
        let is_mint = |step: &Step| {
            step.kind == StepKind::Mint && matches!(step.status, Status::Ordered { .. })
        };
        if let Some(bridge) = &mut next.bridge
            && next.steps.iter().any(is_mint)
        {
            bridge.minted_by_others = false;
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
        next.held = None;
        if self.state.is_over() {
            next.state = State::Reopened;
            next.ended_at = None;
            next.is_final = false;
            next.reorganised_at = Some(now);
        }
        Ok(next)
    }

    /// Marks an intent that is over as final: no reorganisation can change its result.
    pub(crate) fn finish(&self) -> Moved {
        match self.state.is_over() {
            true => Ok(Self {
                is_final: true,
                ..self.clone()
            }),
            false => Err(self.illegal("final")),
        }
    }

    /// Halts the intent: its planned transactions are skipped. The first reason is kept.
    pub(crate) fn halt(&self, reason: &str) -> Moved {
        let mut next = self.running("halted")?;
        for step in &mut next.steps {
            if step.status == Status::Planned {
                step.status = Status::Skipped;
            }
        }
        next.halted.get_or_insert_with(|| reason.to_owned());
        next.held = None;
        Ok(next)
    }

    /// Records that the next transaction has no gas, and why. Other intents of the wallet can then
    /// run.
    pub(crate) fn wait_for_gas(&self, reason: &str, now: u64) -> Moved {
        let mut next = self.hold(Some((reason, None)), now)?;
        if next.state == State::Running {
            next.state = State::Following;
        }
        Ok(next)
    }

    /// Records what holds the intent up and until when, or that nothing does any more.
    pub(crate) fn hold(&self, held: Option<(&str, Option<u64>)>, now: u64) -> Moved {
        let mut next = self.running("held")?;
        next.held = held.map(|(reason, until)| {
            let known = self.held.as_ref().filter(|known| known.reason == reason);
            Hold {
                reason: reason.to_owned(),
                since: known.map_or(now, |known| known.since),
                until,
            }
        });
        Ok(next)
    }

    /// Records what is left of the allowance. Appends the transaction that clears it, if one is
    /// given.
    pub(crate) fn read_allowance(&self, left: U256, clear: Option<Step>) -> Moved {
        let mut next = self.running("read")?;
        if let Some(allowance) = &mut next.allowance {
            allowance.left = Some(left);
            if let Some(clear) = clear {
                allowance.clears = allowance.clears.saturating_add(1);
                // The allowance is read again after the clearing transaction.
                allowance.left = None;
                next.steps.push(clear);
            }
        }
        Ok(next)
    }

    /// Appends a transaction.
    pub(crate) fn append(&self, step: Step) -> Moved {
        let mut next = self.running("extended")?;
        next.steps.push(step);
        Ok(next)
    }

    /// Changes the intent from `running` to `following`: only the mint is missing.
    pub(crate) fn follow(&self) -> Moved {
        let mut next = self.running("followed")?;
        match next.bridge {
            Some(_) if next.state == State::Running => next.state = State::Following,
            _ => return Err(self.illegal("followed")),
        }
        Ok(next)
    }

    /// Records that another account has submitted the message to the destination chain. The
    /// intent's own mint is skipped if it is still planned. The minted amount is still forwarded to
    /// its receiver.
    pub(crate) fn found_minted(&self) -> Moved {
        let mut next = self.running("found minted")?;
        if let Some(bridge) = &mut next.bridge {
            bridge.minted_by_others = true;
        }
        for step in &mut next.steps {
            if step.kind == StepKind::Mint && step.status == Status::Planned {
                step.status = Status::Skipped;
            }
        }
        next.held = None;
        Ok(next)
    }

    /// Ends the intent in this state.
    pub(crate) fn end(&self, state: State, now: u64) -> Moved {
        let mut next = self.running("ended")?;
        if !state.is_over() {
            return Err(self.illegal("ended"));
        }
        next.state = state;
        next.ended_at = Some(now);
        // Without an order no transaction is in a block, so the end is final.
        next.is_final = !next.has_begun();
        Ok(next)
    }

    /// Cancels an intent of which nothing was ordered.
    pub(crate) fn cancel(&self, reason: &str, now: u64) -> Moved {
        if self.has_begun() {
            return Err(self.illegal("cancelled"));
        }
        self.halt(reason)?.end(State::Cancelled, now)
    }

    /// Cancels an intent whose ordered transaction is never signed. If nothing else was ordered,
    /// the end is final, because no transaction of the intent exists.
    pub(crate) fn withdraw(&self, index: usize, reason: &str, now: u64) -> Moved {
        if self.has_effect() {
            return Err(self.illegal("withdrawn"));
        }
        let halted = self.leave_unsent(index)?.halt(reason)?;
        let others = halted.steps.iter().enumerate();
        let mut others = others.filter(|(other, _)| *other != index);
        let is_final = others.all(|(_, step)| step.status == Status::Skipped);
        Ok(Self {
            is_final,
            ..halted.end(State::Cancelled, now)?
        })
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
        next.held = None;
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
