//! The plan as one turn reads it, and the view that the state machine decides by.

use alloy_primitives::U256;
use delegation_fence::{Block, Event, Now, Report, Sending, Transaction, View};
use fence_server::{KeptSubmission, Lease};

use super::Driver;
use crate::{SealedBlock, SendingFault, key};

/// A plan as one turn has read it.
pub(crate) struct Snapshot {
    pub(crate) kept: KeptSubmission,
    pub(crate) sending: Sending,
    pub(crate) lease: Lease,
}

impl Snapshot {
    pub(super) fn key(&self, transaction: Transaction) -> String {
        key::of(&self.kept.admitted, transaction, &self.kept.events)
    }

    pub(super) fn report(&self) -> Report {
        self.sending.report(&self.kept.admitted)
    }

    /// The sealed transactions according to the events, with their blocks.
    pub(super) fn sealed(&self) -> Vec<(Transaction, Block)> {
        let mut sealed: Vec<(Transaction, Block)> = Vec::new();
        for event in &self.kept.events {
            match *event {
                Event::Sealed {
                    transaction, block, ..
                } => sealed.push((transaction, block)),
                Event::Gone(gone) => sealed.retain(|(transaction, _)| *transaction != gone),
                _ => {}
            }
        }
        sealed
    }

    /// The allowance that an executed plan leaves, as read at the block of its last transaction. A
    /// later block may already contain an approval of the account's next plan, when a
    /// reorganisation has moved this one.
    pub(super) fn left_by_execution(&self) -> Option<Event> {
        let sealed = self.sealed();
        let (last, block) = *sealed.iter().max_by_key(|(_, block)| block.number)?;
        let read = self
            .kept
            .events
            .iter()
            .rev()
            .find_map(|event| match *event {
                Event::Sealed {
                    transaction,
                    allowance,
                    ..
                } if transaction == last => Some(allowance),
                _ => None,
            });
        let allowance = read.filter(|_| is_executed(&self.report()))?;
        Some(Event::ReadBack { allowance, block })
    }

    /// The allowance of the last reading.
    pub(super) fn read_back(&self) -> Option<U256> {
        self.report().allowance_read_back.map(|(amount, _)| amount)
    }
}

impl Driver {
    /// Reads the present time, the confirmation, and the obstacle to a clearing that is due.
    pub(super) async fn view(
        &mut self,
        snapshot: &Snapshot,
        sealed: Option<&SealedBlock>,
    ) -> Result<View, SendingFault> {
        let wall = self.shared.now();
        let now = Now {
            wall,
            chain: sealed.map_or(wall, |sealed| sealed.at),
        };
        let report = snapshot.report();
        let ended = report.halted_at.is_some() || is_executed(&report);
        let confirmation = match ended {
            true => Ok(()),
            false => self.confirm(snapshot, now).await?,
        };
        let owes = ended && snapshot.read_back().is_some_and(|left| !left.is_zero());
        let clear = match sealed.filter(|_| owes) {
            Some(sealed) => self.clear_obstacle(snapshot, *sealed).await?,
            None => Ok(()),
        };
        Ok(View {
            now,
            confirmation,
            clear,
        })
    }
}

/// Whether all three steps took effect.
fn is_executed(report: &Report) -> bool {
    report
        .steps
        .iter()
        .all(|step| step.is_some_and(|(_, _, effective)| effective))
}
