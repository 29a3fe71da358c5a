//! The parts that every stage of a paid call uses: the settler, the journal, the worker, the clock,
//! and the state that calls in flight share. It knows no stage.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use data_sources::Clock;
use ledger::{EntryId, Journal, LedgerError, State};
use route_catalog::Catalog;
use settlement::Settler;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::call::PaidCall;
use super::credit_book::{CreditBook, CreditPolicy};
use super::in_flight::InFlight;
use super::looks::Looks;
use super::waiting::Waiting;
use super::worker::Worker;

/// The limits of time of a paid call, and the costs of uncharged work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PaymentPolicy {
    /// Seconds that a settlement may take. A payment must outlive the work and this.
    pub(crate) settle_budget_seconds: u64,
    /// The sum of the settler's own time limits. Only a settler that exceeds them is cut off.
    pub(crate) settle_guard: Duration,
    /// The time for which the settler keeps its own transactions: as long as the journal keeps
    /// payments.
    pub(crate) transaction_retention: Duration,
    /// For how many seconds after its settlement an answer about the payer's own wallet is given
    /// again.
    pub(crate) private_answer_seconds: u64,
    /// For how many seconds a deferred payment may stay without an answer of the broker.
    pub(crate) deferred_seconds: u64,
    /// The costs of uncharged work, and the credit that pays for it.
    pub(crate) credit: CreditPolicy,
}

/// The most paid calls in flight in this process, including those whose callers hung up.
pub(crate) const MAX_IN_FLIGHT: usize = 4096;
/// The most of them whose signature only a chain or a facilitator can judge, because forging one
/// costs nothing.
pub(crate) const MAX_UNPROVEN: usize = 64;

/// Processes payments for a catalog over a settler, a journal and a worker. Cheap to clone.
pub(crate) struct PaymentProcessor<S, J, W> {
    pub(super) shared: Arc<Shared<S, J, W>>,
}

/// The state that all calls of a processor share.
pub(super) struct Shared<S, J, W> {
    pub(super) catalog: Arc<Catalog>,
    pub(super) settler: S,
    pub(super) journal: J,
    pub(super) worker: W,
    pub(super) policy: PaymentPolicy,
    pub(super) clock: Arc<dyn Clock>,
    /// The tasks of calls, and of writes that calls left to do.
    pub(super) tasks: TaskTracker,
    pub(super) closing: CancellationToken,
    /// Whether calls stop to wait for other purchases. Also when the processor is closed.
    pub(super) stopping: CancellationToken,
    pub(super) places: Arc<Semaphore>,
    pub(super) unproven_places: Arc<Semaphore>,
    pub(super) in_flight: Arc<InFlight>,
    pub(super) credit: Arc<Mutex<CreditBook>>,
    pub(super) looks: Looks,
    pub(super) waiting: Arc<Waiting>,
}

impl<S, J, W> Clone for PaymentProcessor<S, J, W> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// A processor with these parts.
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        settler: S,
        journal: J,
        worker: W,
        policy: PaymentPolicy,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let now_ms = milliseconds(clock.as_ref());
        let credit = CreditBook::new(policy.credit, now_ms);
        let closing = CancellationToken::new();
        Self {
            shared: Arc::new(Shared {
                catalog,
                settler,
                journal,
                worker,
                policy,
                clock,
                tasks: TaskTracker::new(),
                stopping: closing.child_token(),
                closing,
                places: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
                unproven_places: Arc::new(Semaphore::new(MAX_UNPROVEN)),
                in_flight: Arc::default(),
                credit: Arc::new(Mutex::new(credit)),
                looks: Looks::default(),
                waiting: Arc::default(),
            }),
        }
    }

    /// Takes over the sum that newcomers have spent in earlier runs. Called at the start, before
    /// the first call.
    ///
    /// # Errors
    /// A journal that cannot be read.
    pub(crate) async fn restore_newcomers(&self) -> Result<(), LedgerError> {
        let missing = self.journal().missing(self.now()).await?;
        let now_ms = self.now_ms();
        self.credit().restore(missing, now_ms);
        Ok(())
    }

    /// The state of the call's payment; `None` when the journal does not know it.
    ///
    /// # Errors
    /// A journal that cannot be read.
    pub(crate) async fn state(&self, call: &PaidCall) -> Result<Option<State>, LedgerError> {
        let Some(key) = call.key() else {
            return Ok(None);
        };
        let record = self.journal().look_up(&key).await?;
        Ok(record.map(|record| record.state))
    }

    /// The settler.
    pub(crate) fn settler(&self) -> &S {
        &self.shared.settler
    }

    /// The journal.
    pub(crate) fn journal(&self) -> &J {
        &self.shared.journal
    }

    /// The known credit of payers, and the rest of the newcomers' pool.
    pub(super) fn credit(&self) -> MutexGuard<'_, CreditBook> {
        let credit = &self.shared.credit;
        credit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// Ends the calls that wait for another purchase of their payer, because the server shuts down.
    pub(crate) fn stop_waiting(&self) {
        self.shared.stopping.cancel();
    }

    /// Stops reconciling and waits for the end of every paid call.
    pub(crate) async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    /// The time in Unix seconds.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.shared.clock.now().as_second()).unwrap_or_default()
    }

    pub(super) fn now_ms(&self) -> u64 {
        milliseconds(self.shared.clock.as_ref())
    }

    /// Entries that a task of this process owns.
    pub(super) fn owned(&self) -> Vec<EntryId> {
        self.shared.in_flight.entries()
    }
}

fn milliseconds(clock: &dyn Clock) -> u64 {
    u64::try_from(clock.now().as_millisecond()).unwrap_or_default()
}
