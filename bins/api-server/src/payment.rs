//! Taking a payment: from a decoded payment header to an answer.
//!
//! [`PaymentProcessor::decide`] is the order of decisions. Each phase is a file of its own and a
//! function from the previous phase's result to the next one's; a phase that ends the call says so
//! with an [`Ended`]. What the caller gets is rendered in one place, [`deliver`].
//!
//! The rules that this module exists for:
//! - Nothing is charged before there is an answer to deliver, and nothing is delivered before it is
//!   paid.
//! - What happened to a payment is what the journal says, never what a variable says.
//! - An outcome that is not known is not a failure: it is never charged again and never declared
//!   void by guessing.
//! - A payment that the journal knows never meets a refusal that could make its payer sign another
//!   one.
//! - A caller that hangs up changes nothing: everything runs in a task that the connection does not
//!   own.

mod admit;
mod advice;
mod call;
mod claim;
mod credit_book;
mod deliver;
mod ended;
mod in_flight;
mod look_up;
mod match_offer;
mod open_entry;
mod privacy;
mod read;
mod recognise;
mod reconcile;
mod settle;
mod sweep;
mod verify;
mod work;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use data_sources::Clock;
use ledger::{EntryId, Journal, LedgerError, State};
use route_catalog::Catalog;
use settlement::Settler;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use x402_wire::PaymentPayload;

pub(crate) use self::call::{PaidCall, Request};
use self::credit_book::CreditBook;
pub(crate) use self::credit_book::CreditPolicy;
pub(crate) use self::deliver::deliver;
pub(crate) use self::ended::{Declined, Delivered, Ended, Refusal};
use self::in_flight::InFlight;
pub(crate) use self::look_up::{PREFIX as PAYMENTS_PREFIX, answer as answer_look_up};
pub(crate) use self::read::payment as read_payment;
use self::reconcile::Looks;
pub(crate) use self::work::Worker;
use crate::observe;

/// How long the parts of a paid call may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PaymentPolicy {
    /// Seconds that a settlement may take. A payment must outlive the work and this.
    pub(crate) settle_budget_seconds: u64,
    /// How long the settler's own time limits may take together. Only a settler that forgets them
    /// is cut off.
    pub(crate) settle_guard: Duration,
    /// How long the settler keeps its own transactions: as long as the journal keeps payments.
    pub(crate) transaction_retention: Duration,
    /// For how many seconds after its settlement an answer about the payer's own wallet is given
    /// again.
    pub(crate) private_answer_seconds: u64,
    /// What uncharged work costs, and who pays for it.
    pub(crate) credit: CreditPolicy,
}

/// Paid calls in flight at once in this process, those of callers that hung up included.
pub(crate) const MAX_IN_FLIGHT: usize = 4096;
/// Of these, calls whose signature only a chain or a facilitator can judge: forging one costs
/// nothing.
pub(crate) const MAX_UNPROVEN: usize = 64;

/// Takes payments for a catalog over a settler, a journal and a worker. Cheap to clone.
pub(crate) struct PaymentProcessor<S, J, W> {
    shared: Arc<Shared<S, J, W>>,
}

struct Shared<S, J, W> {
    catalog: Arc<Catalog>,
    settler: S,
    journal: J,
    worker: W,
    policy: PaymentPolicy,
    clock: Arc<dyn Clock>,
    /// Calls and what they leave to do.
    tasks: TaskTracker,
    closing: CancellationToken,
    places: Arc<Semaphore>,
    unproven_places: Arc<Semaphore>,
    in_flight: Arc<InFlight>,
    credit: Arc<Mutex<CreditBook>>,
    looks: Looks,
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
        Self {
            shared: Arc::new(Shared {
                catalog,
                settler,
                journal,
                worker,
                policy,
                clock,
                tasks: TaskTracker::new(),
                closing: CancellationToken::new(),
                places: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
                unproven_places: Arc::new(Semaphore::new(MAX_UNPROVEN)),
                in_flight: Arc::default(),
                credit: Arc::new(Mutex::new(credit)),
                looks: Looks::default(),
            }),
        }
    }

    /// At the start, before the first call: takes over what newcomers have spent in earlier runs.
    ///
    /// # Errors
    /// A journal that cannot be read.
    pub(crate) async fn restore_newcomers(&self) -> Result<(), LedgerError> {
        let missing = self.journal().missing(self.now()).await?;
        let now_ms = self.now_ms();
        self.credit().restore(missing, now_ms);
        Ok(())
    }

    /// Takes a payment in a task of its own, which goes on when the returned future is dropped.
    pub(crate) fn process(
        &self,
        call: PaidCall,
        payload: PaymentPayload,
    ) -> impl Future<Output = Ended> + Send + use<S, J, W> {
        let (request, started) = (call.request.id, Instant::now());
        let key = call.key();
        let carried = key.map(|key| self.shared.in_flight.carry(key));
        let (processor, catalog) = (self.clone(), Arc::clone(&self.shared.catalog));
        // Allocators keep small blocks apart for each thread: so the task and the phases of
        // `decide` are small, each by itself.
        let (call, payload) = (Box::new(call), Box::new(payload));
        let task = self.shared.tasks.spawn(async move {
            let _in_flight = observe::in_flight();
            let operation = call.request.operation;
            let ended = match processor.decide(&call, payload).await {
                Ok(delivered) => Ended::Delivered(delivered),
                // The other call may be served where this one is refused.
                Err(ended) if ended.says_sign_new() && carried.is_some_and(|c| c.met_others()) => {
                    let state = State::Reserved;
                    Refusal::InFlight { state }.into()
                }
                Err(ended) => ended,
            };
            let took = started.elapsed();
            observe::paid_call(operation, ended.name(), took);
            ended.log(request, operation, took);
            ended
        });
        async move {
            task.await.unwrap_or_else(|_panic| {
                // The journal has the entry open, if there is one; a sweep decides it.
                tracing::error!(request_id = %request, "a paid call ended early");
                let refusal = match key {
                    Some(key) => Refusal::pending(&catalog, &key, None),
                    // A payment of no network that is known here is never claimed.
                    None => Refusal::LedgerUnavailable,
                };
                Ended::Refused(refusal)
            })
        }
    }

    /// The order of decisions.
    ///
    /// The claim is the one write that decides whether a payment is known. So that a known payment
    /// meets no refusal before it, whatever would be refused earlier is looked up first
    /// ([`Self::unless_known`]).
    async fn decide(
        &self,
        call: &PaidCall,
        payload: Box<PaymentPayload>,
    ) -> Result<Delivered, Ended> {
        let matched = self.match_offer(call, *payload);
        let matched = self.unless_known(call, matched).await?;
        let admitted = Box::pin(self.admit(call, matched)).await;
        let admitted = self.unless_known(call, admitted).await?;
        let claimed = Box::pin(self.claim(call, admitted)).await?;
        let verified = self.verify(claimed).await?;
        let answered = Box::pin(self.work(verified)).await?;
        let settled = Box::pin(self.settle(answered)).await?;
        Ok(settled)
    }

    /// Where the call's payment stands; `None` when the journal does not know it.
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

    fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// Stops reconciling and waits until every paid call that was begun has come to its end.
    pub(crate) async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    /// Unix seconds.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.shared.clock.now().as_second()).unwrap_or_default()
    }

    fn now_ms(&self) -> u64 {
        milliseconds(self.shared.clock.as_ref())
    }

    /// Entries that a task of this process owns.
    fn owned(&self) -> Vec<EntryId> {
        self.shared.in_flight.entries()
    }
}

fn milliseconds(clock: &dyn Clock) -> u64 {
    u64::try_from(clock.now().as_millisecond()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
