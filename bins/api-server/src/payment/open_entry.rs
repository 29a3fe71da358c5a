//! A journal entry that a call has claimed, until its end is recorded.
//!
//! A write that fails is tried again in the background. The entry keeps its owner meanwhile, so
//! that no sweep decides it.

use std::time::Duration;

use alloy_primitives::Address;
use credit::{Cost, OutOfCredit};
use data_sources::Caller;
use ledger::{EntryId, Journal, LedgerError, Spent, Undecided};
use settlement::Settler;
use tokio::sync::OwnedSemaphorePermit;

use super::credit_book::Hold;
use super::in_flight::{ExpectedSettlement, Presence};
use super::{PaymentProcessor, Worker};

/// Pauses, in seconds, between tries to record the end of an entry.
const TRY_AGAIN_AFTER: [u64; 6] = [1, 2, 5, 15, 60, 300];

/// The pauses between the tries. The last one is repeated for as long as the write fails. The entry
/// keeps its owner and its place meanwhile.
pub(super) fn pauses() -> impl Iterator<Item = u64> + Send {
    let [.., last] = TRY_AGAIN_AFTER;
    TRY_AGAIN_AFTER.into_iter().chain(std::iter::repeat(last))
}

/// An entry that a call has claimed. It keeps the call's place, its credit and its mark as owned
/// until the journal has recorded the end. So there are never more open entries than places.
pub(super) struct OpenEntry {
    pub(super) id: EntryId,
    /// The number of the instance under which this server reserved it.
    instance: i64,
    pub(super) presence: Presence,
    /// Set before the work if a settlement costs gas.
    pub(super) settlement: Option<ExpectedSettlement>,
    hold: Option<Hold>,
    _place: OwnedSemaphorePermit,
}

impl OpenEntry {
    pub(super) fn new(
        (id, instance): (EntryId, i64),
        mut presence: Presence,
        hold: Hold,
        place: OwnedSemaphorePermit,
    ) -> Self {
        presence.own(id);
        Self {
            id,
            instance,
            presence,
            settlement: None,
            hold: Some(hold),
            _place: place,
        }
    }

    /// Whether the newcomers' pool covers the call until its payer is proven.
    pub(super) fn awaits_proof(&self) -> bool {
        self.hold.as_ref().is_some_and(Hold::awaits_proof)
    }

    /// Whose work the call is, for the budgets of upstreams.
    pub(super) fn caller(&self) -> Caller {
        match self.hold.as_ref().is_some_and(Hold::is_of_payer) {
            true => Caller::Credited,
            false => Caller::Newcomer,
        }
    }

    /// Marks the payer as proven. Its own credit pays if it has enough.
    pub(super) fn prove(&mut self, payer: Address, now_ms: u64) -> Result<(), OutOfCredit> {
        match &mut self.hold {
            Some(hold) => hold.prove(payer, now_ms),
            None => Ok(()),
        }
    }

    /// Spends `spent` of the held credit, gives back the rest, and returns the purse that pays.
    pub(super) fn spend(&mut self, spent: Cost) -> Spent {
        let hold = self.hold.take();
        hold.map_or(Spent::NOTHING, |hold| hold.spend(spent))
    }
}

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Releases an authorization after work that cost `spent`. Returns whether the journal recorded
    /// it. If not, the write is tried again while the entry stays owned.
    pub(super) async fn release(&self, mut open: OpenEntry, reason: &str, spent: Cost) -> bool {
        let spent = open.spend(spent);
        let reserved = (open.id, open.instance);
        match self.try_release(reserved, reason, spent).await {
            Written::Yes => return true,
            Written::Never => return false,
            Written::NotYet => {}
        }
        let (processor, reason) = (self.clone(), reason.to_owned());
        self.shared.tasks.spawn(async move {
            // Moves the whole entry into the task; reading only the id would drop the rest now.
            let _owned = open;
            for seconds in pauses() {
                let closing = processor.pause(seconds).await;
                let written = processor.try_release(reserved, &reason, spent).await;
                if written != Written::NotYet || closing {
                    return;
                }
            }
        });
        false
    }

    /// Tries to release an entry. A server that has lost the entry no longer releases it, because
    /// others may have sent its payment.
    async fn try_release(
        &self,
        (entry, instance): (EntryId, i64),
        reason: &str,
        spent: Spent,
    ) -> Written {
        if self.journal().owner() != instance {
            return Written::Never;
        }
        let released = self.journal().release(entry, reason, spent, self.now());
        released.await.map_or_else(
            |error| {
                tracing::error!(%entry, code = error.code(), %error, "a payment cannot be released");
                Written::not_by_owner(&error)
            },
            |()| {
                self.shared.waiting.decided(entry);
                Written::Yes
            },
        )
    }

    /// Waits, and returns early with `true` when the processor is closed.
    pub(super) async fn pause(&self, seconds: u64) -> bool {
        let pause = tokio::time::sleep(Duration::from_secs(seconds));
        tokio::select! {
            biased;
            () = pause => false,
            () = self.shared.closing.cancelled() => true,
        }
    }
}

/// The result of a write to the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Yes,
    /// The write may succeed later: the disk is full, or busy.
    NotYet,
    /// The entry is in another state, belongs to another server, or is deleted.
    Never,
}

impl Written {
    /// The result of a failed write that only the owner of an entry may make.
    pub(super) fn not_by_owner(error: &LedgerError) -> Self {
        match error {
            LedgerError::TakenOver { .. } => Self::Never,
            error => Self::not(error),
        }
    }

    /// The result of a failed write that needs no owner.
    pub(super) fn not(error: &LedgerError) -> Self {
        match error {
            LedgerError::WrongState { .. } | LedgerError::NoSuchEntry { .. } => Self::Never,
            _ => Self::NotYet,
        }
    }
}

/// Reads an unknown entry. `None` when it has been decided meanwhile, and when another server
/// decides it.
pub(super) async fn one_undecided<J: Journal>(
    journal: &J,
    entry: EntryId,
) -> Result<Option<Undecided>, LedgerError> {
    // The page after the entry before it.
    let before = EntryId::new(entry.number().saturating_sub(1));
    let page = journal.undecided(Some(before), 1).await?;
    Ok(page.into_iter().find(|undecided| undecided.entry == entry))
}
