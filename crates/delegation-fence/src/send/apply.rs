//! The effect of an event on the state of a send, and the rules for which event may follow.

use calldata_checks::StepKind;

use super::{Event, Fate, Sending, Transaction, is_effective};

/// An event that does not follow from those before it: the list is not that of a send, and no
/// action may follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event that cannot follow: {event:?}")]
pub struct OutOfOrder {
    /// The event.
    pub event: Event,
}

impl Sending {
    /// Applies an event.
    ///
    /// # Errors
    /// [`OutOfOrder`]; the state is then unchanged.
    pub fn apply(&mut self, event: &Event) -> Result<(), OutOfOrder> {
        if !self.can_follow(event) {
            return Err(OutOfOrder { event: *event });
        }
        match *event {
            Event::Ordered(transaction) => {
                self.set(transaction, Fate::Open { signed: false });
                self.obstacle = None;
            }
            Event::Unsent(transaction) => self.set(transaction, Fate::None),
            Event::Sealed {
                transaction,
                hash,
                block,
                effective,
                allowance,
            } => {
                self.set(
                    transaction,
                    Fate::Sealed {
                        hash,
                        block,
                        effective,
                        allowance,
                    },
                );
                // Another party may have changed the allowance since that block: a decision needs a
                // new reading.
                self.read_back = None;
            }
            Event::Void(transaction) => self.set(transaction, Fate::Void),
            Event::Gone(transaction) => {
                self.set(transaction, Fate::Open { signed: true });
                self.read_back = None;
                self.obstacle = None;
                self.finished = false;
                if matches!(
                    transaction,
                    Transaction::Step(StepKind::Call) | Transaction::Swap
                ) {
                    self.landed = None;
                }
            }
            Event::Landed(amount) => self.landed = Some(amount),
            Event::Halting { at, reason } => self.halt = Some((at, reason)),
            Event::ReadBack { allowance, block } => {
                self.read_back = Some((allowance, block));
                self.obstacle = self.obstacle.filter(|_| !allowance.is_zero());
            }
            Event::ClearImpossible(obstacle) => self.obstacle = Some(obstacle),
            Event::Finished => self.finished = true,
        }
        Ok(())
    }

    fn can_follow(&self, event: &Event) -> bool {
        match *event {
            Event::Ordered(transaction) => {
                self.fate(transaction) == Fate::None
                    && !self.finished
                    && self.may_order(transaction)
            }
            Event::Unsent(transaction) => self.fate(transaction) == (Fate::Open { signed: false }),
            Event::Sealed { transaction, .. } | Event::Void(transaction) => {
                matches!(self.fate(transaction), Fate::Open { .. })
            }
            Event::Gone(transaction) => matches!(self.fate(transaction), Fate::Sealed { .. }),
            Event::Landed(_) => self.executed() && !self.finished,
            Event::Halting { .. } => self.halt.is_none() && !self.executed() && !self.finished,
            Event::ReadBack { .. } => (self.halt.is_some() || self.executed()) && !self.finished,
            // It is stated once: it holds until it changes or ends.
            Event::ClearImpossible(obstacle) => {
                self.owes_clear() && self.obstacle != Some(obstacle)
            }
            Event::Finished => {
                !self.finished
                    && !self.is_open()
                    && (self.halt.is_some() || (self.executed() && self.landed.is_some()))
                    && self.read_back.is_some()
                    && !self.owes_clear()
            }
        }
    }

    /// Whether the transaction may be ordered now. A step follows the one before it, or all steps
    /// go out together. No step follows a halt. A clear follows the end of everything else.
    fn may_order(&self, transaction: Transaction) -> bool {
        match transaction {
            Transaction::Step(kind) => {
                self.halt.is_none()
                    && !self.as_one
                    && StepKind::ALL
                        .into_iter()
                        .take_while(|before| *before != kind)
                        .all(|before| is_effective(self.step(before)))
            }
            Transaction::Swap => self.halt.is_none() && self.as_one,
            Transaction::Clear(_) => !self.is_open() && self.owes_clear(),
        }
    }

    /// Whether the last reading shows an allowance of this plan.
    fn owes_clear(&self) -> bool {
        (self.halt.is_some() || self.executed())
            && self.approved()
            && self
                .read_back
                .is_some_and(|(allowance, _)| !allowance.is_zero())
    }

    fn is_open(&self) -> bool {
        super::all().any(|transaction| matches!(self.fate(transaction), Fate::Open { .. }))
    }

    fn set(&mut self, transaction: Transaction, fate: Fate) {
        if let Some(place) = self.place_mut(transaction) {
            *place = fate;
        }
    }
}
