//! Taking a payment: the order of decisions of decisions section 2, from a payment header to a delivered answer.
//!
//! The rules that this module exists for:
//! - nothing is charged before there is an answer to deliver, and nothing is delivered before it is paid;
//! - what happened to a payment is what the journal says, never what a variable says;
//! - an outcome that is not known is not a failure: it is never charged again and never declared void by guessing.

mod admission;
mod outcome;
mod reconcile;
mod standing;
mod unstoppable;
mod visit;

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use data_sources::Clock;
use ledger::{Answer, Claim, EntryId, Journal, RequestBinding, Reservation, Standing};
use route_catalog::ErrorCode;
use settlement::{Settler, Verification};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use x402_wire::{Invalid, Payment, SignatureStanding};

pub(crate) use admission::{Declined, admit};
pub(crate) use outcome::Outcome;
use unstoppable::Unstoppable;

use crate::reply::ErrorReply;

/// How long the parts of a paid call may take.
#[derive(Debug, Clone, Copy)]
pub struct PaymentPolicy {
    /// Seconds that a settlement may take. A payment must outlive the work and this.
    pub settle_budget_seconds: u64,
    /// How long the settler's own time limits may take together. Only a settler that forgets them is cut off.
    pub settle_guard: Duration,
}

/// Paid calls under way at once, hung-up callers included.
const MOST_VISITS: usize = 4096;
/// Of these, calls whose signature only a chain or a facilitator can judge: forging one costs nothing.
const MOST_UNPROVEN_VISITS: usize = 64;

/// Where payments are taken. Cheap to clone.
pub struct Till<S, J> {
    shared: Arc<Shared<S, J>>,
}

struct Shared<S, J> {
    settler: S,
    journal: J,
    policy: PaymentPolicy,
    clock: Arc<dyn Clock>,
    /// Paid calls and what they leave to do: a caller that hangs up must not stop a settlement half-way.
    visits: TaskTracker,
    places: Arc<Semaphore>,
    unproven_places: Arc<Semaphore>,
    closing: CancellationToken,
    /// Entries that somebody is reconciling right now.
    reconciling: Mutex<HashSet<EntryId>>,
    /// When an undecided entry is looked at again, in unix seconds.
    next_look: Mutex<HashMap<EntryId, u64>>,
}

impl<S, J> Clone for Till<S, J> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

/// The work that a payment pays for, and how long it may take.
pub(crate) struct Work {
    pub(crate) budget_seconds: u64,
    pub(crate) answer: Pin<Box<dyn Future<Output = Result<Answer, ErrorReply>> + Send>>,
}

impl<S: Settler, J: Journal> Till<S, J> {
    /// A till over a settler and a journal.
    pub fn new(settler: S, journal: J, policy: PaymentPolicy, clock: Arc<dyn Clock>) -> Self {
        Self {
            shared: Arc::new(Shared {
                settler,
                journal,
                policy,
                clock,
                visits: TaskTracker::new(),
                places: Arc::new(Semaphore::new(MOST_VISITS)),
                unproven_places: Arc::new(Semaphore::new(MOST_UNPROVEN_VISITS)),
                closing: CancellationToken::new(),
                reconciling: Mutex::new(HashSet::new()),
                next_look: Mutex::new(HashMap::new()),
            }),
        }
    }

    /// The settler.
    #[must_use]
    pub fn settler(&self) -> &S {
        &self.shared.settler
    }

    /// The journal.
    #[must_use]
    pub fn journal(&self) -> &J {
        &self.shared.journal
    }

    /// Takes a payment for a request: verifies it, has the work done, settles and answers; or gives back what the same
    /// payment got before.
    pub(crate) async fn take(
        &self,
        payment: Payment,
        request: RequestBinding,
        work: Work,
    ) -> Outcome {
        let (proven, by_session) = match judge_offline(&payment) {
            Ok(SignatureStanding::Recovered) => (true, false),
            Ok(SignatureStanding::Contract(_)) => (false, false),
            Ok(SignatureStanding::Session) => (false, true),
            Err(invalid) => return Outcome::Declined(invalid.into()),
        };
        if by_session && let Some(refused) = self.unsupported(&payment).await {
            return refused;
        }
        let Some(place) = self.place(proven) else {
            let message = "too many paid calls are under way; the payment was not used";
            return Outcome::Refused(
                ErrorReply::new(ErrorCode::RateLimited, message).retry_after(1),
            );
        };
        let now = self.now();
        let needed = work
            .budget_seconds
            .saturating_add(self.shared.policy.settle_budget_seconds);
        let reservation = match payment.check_window(now, needed) {
            Ok(()) => {
                let claim = claim(&payment, request.clone(), now);
                self.shared.journal.reserve(claim).await
            }
            // Too late to pay with, but an answer that it did pay for can still be fetched.
            Err(late @ Invalid::EndsTooSoon { .. }) => {
                let key = payment.key();
                match self.shared.journal.find(&key, &request, now).await {
                    Ok(Some(standing)) => Ok(Reservation::Standing(standing)),
                    Ok(None) => return Outcome::Declined(late.into()),
                    Err(error) => Err(error),
                }
            }
            Err(invalid) => return Outcome::Declined(invalid.into()),
        };
        match reservation {
            Ok(Reservation::Reserved(entry)) => self.visit(entry, payment, work, place).await,
            Ok(Reservation::Standing(Standing::Unknown { entry, .. })) => {
                Box::pin(self.decide_and_answer(entry, &payment, &request)).await
            }
            Ok(Reservation::Standing(standing)) => standing::outcome(standing, &payment),
            Err(error) => {
                tracing::error!(code = error.code(), %error, "the journal cannot reserve a payment");
                Outcome::Refused(journal_failed())
            }
        }
    }

    async fn visit(
        &self,
        entry: EntryId,
        payment: Payment,
        work: Work,
        place: OwnedSemaphorePermit,
    ) -> Outcome {
        let (till, paid) = (self.clone(), payment.clone());
        let visit = async move {
            let outcome = visit::run(&till, entry, paid, work).await;
            drop(place);
            outcome
        };
        match Unstoppable::new(&self.shared.visits, visit).await {
            Ok(outcome) => outcome,
            // How far it came is not known here. The journal has the entry open; `Journal::abandon` decides it.
            Err(_panic) => {
                tracing::error!(%entry, "a paid call ended early");
                standing::pending(&payment, None)
            }
        }
    }

    /// Whether the settler takes this scheme at all, before anything is written down for it.
    async fn unsupported(&self, payment: &Payment) -> Option<Outcome> {
        let asked = Box::pin(self.shared.settler.supports(payment.scheme()));
        match asked.await {
            Verification::Valid => None,
            Verification::Invalid { reason, message } => {
                Some(Outcome::Declined(visit::declined(reason, message)))
            }
            Verification::Unavailable { .. } => {
                Some(Outcome::Refused(visit::settlement_unavailable()))
            }
        }
    }

    fn place(&self, proven: bool) -> Option<OwnedSemaphorePermit> {
        let places = if proven {
            &self.shared.places
        } else {
            &self.shared.unproven_places
        };
        places.clone().try_acquire_owned().ok()
    }

    /// Stops reconciling and waits until every paid call that was begun has come to its end.
    pub async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.visits.close();
        self.shared.visits.wait().await;
    }

    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.shared.clock.now().as_second()).unwrap_or_default()
    }

    /// Claims the right to reconcile an entry; `None` when somebody has it.
    pub(crate) fn begin_reconciling(&self, entry: EntryId) -> Option<Reconciling<'_>> {
        let set = &self.shared.reconciling;
        let fresh = set
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(entry);
        fresh.then_some(Reconciling { entry, set })
    }
}

/// The right to reconcile an entry, given back when dropped.
pub(crate) struct Reconciling<'a> {
    entry: EntryId,
    set: &'a Mutex<HashSet<EntryId>>,
}

impl Drop for Reconciling<'_> {
    fn drop(&mut self) {
        self.set
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.entry);
    }
}

/// Everything about a payment that needs neither a clock nor a network. A forged signature ends here, at the cost of one
/// recovery.
fn judge_offline(payment: &Payment) -> Result<SignatureStanding, Invalid> {
    payment.check_terms()?;
    payment.check_signature()
}

fn claim(payment: &Payment, request: RequestBinding, now: u64) -> Claim {
    let authorization = payment.authorization();
    Claim {
        key: payment.key(),
        request,
        payment_id: payment.payload().payment_id().map(str::to_owned),
        amount: payment.requirements().amount,
        valid_before: u64::try_from(authorization.valid_before).unwrap_or(u64::MAX),
        now,
    }
}

pub(crate) fn journal_failed() -> ErrorReply {
    ErrorReply::new(
        ErrorCode::Internal,
        "the payment journal is not available; send the same payment again, and do not sign a new one",
    )
    .retryable(true)
    .retry_after(5)
}
