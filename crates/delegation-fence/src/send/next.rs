//! The next action of a send, from its events and the present state. Nothing is done here, and no
//! event is added.

use alloy_primitives::U256;
use calldata_checks::StepKind;

use super::{
    Action, ClearObstacle, Event, Fate, HaltReason, MOST_CLEARS, Sending, State, Transaction, View,
    all, is_over,
};
use crate::LEAST_LIFE_SECONDS;

impl Sending {
    /// The next action for the present state. The same events and the same view always give the
    /// same action.
    #[must_use]
    pub fn next(&self, view: &View) -> Action {
        if self.executed() {
            return self.conclude(view);
        }
        match self.halt {
            None if self.as_one => self.advance_at_once(view),
            None => self.advance(view),
            Some(_) => self.unwind(view),
        }
    }

    /// All three steps in one transaction, or the reason to halt.
    fn advance_at_once(&self, view: &View) -> Action {
        let at = StepKind::ApproveReset;
        let halt = |reason| Action::Append(Event::Halting { at, reason });
        match self.swap {
            Fate::Sealed {
                effective: false, ..
            } => halt(HaltReason::Reverted),
            Fate::Void => halt(HaltReason::Displaced),
            fate => match (self.reason_to_halt(at, view), fate) {
                (Some(reason), _) => halt(reason),
                (None, Fate::None) => Action::Order(Transaction::Swap),
                (None, _) => Action::Resolve(Transaction::Swap),
            },
        }
    }

    /// The next of the three steps, or the reason to halt.
    fn advance(&self, view: &View) -> Action {
        for kind in StepKind::ALL {
            let transaction = Transaction::Step(kind);
            let halt = |reason| Action::Append(Event::Halting { at: kind, reason });
            match self.fate(transaction) {
                Fate::Sealed {
                    effective: true,
                    allowance,
                    ..
                } => {
                    let expected = match kind {
                        StepKind::ApproveReset => Some(U256::ZERO),
                        StepKind::Approve => Some(self.amount),
                        StepKind::Call => None,
                    };
                    if expected.is_some_and(|expected| expected != allowance) {
                        return halt(HaltReason::Allowance);
                    }
                }
                Fate::Sealed { .. } => return halt(HaltReason::Reverted),
                Fate::Void => return halt(HaltReason::Displaced),
                // It was signed before, like the step after it: it is mined again by itself, and
                // nothing new is signed.
                Fate::Open { .. } if self.is_followed(kind) => return Action::Resolve(transaction),
                Fate::None | Fate::Open { .. } => {
                    if let Some(reason) = self.reason_to_halt(kind, view) {
                        return halt(reason);
                    }
                    return match self.fate(transaction) {
                        Fate::None => Action::Order(transaction),
                        _ => Action::Resolve(transaction),
                    };
                }
            }
        }
        // All three took effect: `next` has concluded.
        Action::ReadAllowance
    }

    /// Whether the next step was ordered. It was, when a reorganisation removed both, or the first
    /// of them, from their blocks.
    fn is_followed(&self, kind: StepKind) -> bool {
        StepKind::ALL
            .into_iter()
            .any(|later| later > kind && self.fate(Transaction::Step(later)) != Fate::None)
    }

    /// The reason that forbids a step now.
    fn reason_to_halt(&self, kind: StepKind, view: &View) -> Option<HaltReason> {
        if let Err(rule) = view.confirmation {
            return Some(HaltReason::Refused(rule));
        }
        let now = view.now.latest();
        let is_first = kind == StepKind::ApproveReset && self.step(kind) == Fate::None;
        // The enforcer of a plan that is sent as one transaction holds its block to the order's
        // deadline.
        let is_late = now.unix() > self.deadline && (is_first || self.as_one);
        let over = is_late
            || if is_first {
                is_over(now.saturating_add(LEAST_LIFE_SECONDS - 1), self.valid_until)
            } else {
                is_over(now, self.valid_until)
            };
        over.then_some(HaltReason::Over)
    }

    /// After a halt: open transactions are cancelled and awaited, then the allowance is read,
    /// cleared and read again.
    fn unwind(&self, view: &View) -> Action {
        let open = all().find(|transaction| matches!(self.fate(*transaction), Fate::Open { .. }));
        match open {
            Some(step @ (Transaction::Step(_) | Transaction::Swap)) => {
                return Action::Cancel(step);
            }
            // The clear in progress is wanted, so it is not cancelled.
            Some(clear @ Transaction::Clear(_)) => return Action::Resolve(clear),
            None => {}
        }
        self.settle_allowance(view)
    }

    /// After all three steps took effect: checks the received output, and that no allowance is
    /// left.
    fn conclude(&self, view: &View) -> Action {
        if self.landed.is_none() {
            return Action::ReadLanding;
        }
        let clear = all().find(|transaction| matches!(self.fate(*transaction), Fate::Open { .. }));
        if let Some(clear) = clear {
            return Action::Resolve(clear);
        }
        self.settle_allowance(view)
    }

    fn settle_allowance(&self, view: &View) -> Action {
        let Some((allowance, _)) = self.read_back else {
            return Action::ReadAllowance;
        };
        if allowance.is_zero() || !self.approved() {
            return self.finish();
        }
        let spare = (0..MOST_CLEARS)
            .map(Transaction::Clear)
            .find(|clear| self.fate(*clear) == Fate::None);
        let obstacle = match (spare, view.clear) {
            (Some(clear), Ok(())) => return Action::Order(clear),
            (Some(_), Err(obstacle)) => obstacle,
            (None, _) => ClearObstacle::Exhausted,
        };
        if self.obstacle == Some(obstacle) {
            return Action::Rest(State::HaltedDirty);
        }
        Action::Append(Event::ClearImpossible(obstacle))
    }

    fn finish(&self) -> Action {
        if self.finished {
            return Action::Rest(self.state());
        }
        Action::Append(Event::Finished)
    }
}
