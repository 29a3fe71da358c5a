//! Decides payments whose outcome is unknown.
//!
//! The settler says what happened, and the journal records it. A payment stays unknown until one of
//! its outcomes is proven.

use std::time::Duration;

use alloy_primitives::Address;
use ledger::{EntryId, Journal, LedgerError, Spent, Undecided};
use route_catalog::Operation;
use settlement::{Cause, Reconciliation, Settler};
use tokio::task::JoinSet;
use x402_wire::{Payment, Reason, Scheme};

use super::call::Presented;
use super::open_entry::one_undecided;
use super::record::Charge;
use super::{Declined, Ended, PaidCall, PaymentProcessor, Refusal, Worker};

/// Unknown payments that are looked at in parallel.
const LOOKS_AT_ONCE: u32 = 8;
/// The time limit of a look. A payment that takes longer is looked at again later.
const LOOK_LIMIT: Duration = Duration::from_secs(120);

/// The result of a look at an unknown payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    Settled,
    Released { reason: Reason },
    Undecidable,
    Undecided,
}

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Looks at unknown payments at every tick, until the processor is closed.
    pub(crate) async fn keep_reconciling(&self, every: Duration) {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let look = async {
            loop {
                ticks.tick().await;
                self.reconcile_all().await;
            }
        };
        // A look that has begun continues in a task of its own.
        self.shared.closing.run_until_cancelled(look).await;
    }

    /// Looks once at every unknown payment that is due.
    pub(super) async fn reconcile_all(&self) {
        if let Err(error) = self.look_at_all().await {
            tracing::error!(code = error.code(), %error, "unknown payments cannot be read");
        }
    }

    /// Looks once at every unknown payment that is due, a few at a time. A slow one does not delay
    /// the others. Returns the payments that were looked at.
    ///
    /// # Errors
    /// A journal that cannot be read. The looks that had begun are finished.
    pub(crate) async fn look_at_all(&self) -> Result<Vec<EntryId>, LedgerError> {
        let mut looks = JoinSet::new();
        let looked_at = self.begin_all(&mut looks).await;
        while looks.join_next().await.is_some() {}
        looked_at
    }

    async fn begin_all(&self, looks: &mut JoinSet<()>) -> Result<Vec<EntryId>, LedgerError> {
        let mut after = None;
        let mut looked_at = Vec::new();
        loop {
            let page = self.journal().undecided(after, LOOKS_AT_ONCE).await?;
            let Some(last) = page.last() else {
                return Ok(looked_at);
            };
            after = Some(last.entry);
            let now = self.now();
            for undecided in page {
                if !self.shared.looks.is_due(undecided.entry, now) {
                    continue;
                }
                let most = usize::try_from(LOOKS_AT_ONCE).unwrap_or(usize::MAX);
                if looks.len() >= most {
                    looks.join_next().await;
                }
                looked_at.push(undecided.entry);
                let look = self.begin(undecided);
                looks.spawn(async move {
                    let _ = look.await;
                });
            }
        }
    }

    /// Decides in a task of its own. Cancelling the task could lose a settlement, because a
    /// facilitator may settle although its answer is never read.
    pub(super) fn begin(
        &self,
        undecided: Undecided,
    ) -> impl Future<Output = Decision> + Send + use<S, J, W> {
        let processor = self.clone();
        let task = self.shared.tasks.spawn(async move {
            let look = tokio::time::timeout(LOOK_LIMIT, processor.reconcile(undecided));
            look.await.unwrap_or(Decision::Undecided)
        });
        async { task.await.unwrap_or(Decision::Undecided) }
    }

    /// Asks the settler for the outcome of one payment and records it.
    async fn reconcile(&self, undecided: Undecided) -> Decision {
        let entry = undecided.entry;
        let Some(_look) = self.shared.looks.begin(entry) else {
            return Decision::Undecided;
        };
        // A look counts even when it runs out of time.
        self.shared.looks.look_again(&undecided, self.now());
        let decision = self.look(&undecided).await;
        if decision != Decision::Undecided {
            self.shared.looks.forget(entry);
        }
        decision
    }

    async fn look(&self, undecided: &Undecided) -> Decision {
        let entry = undecided.entry;
        let payload = undecided.payload_json.as_bytes();
        let payment = match Payment::restore(payload, undecided.requirements_json.as_bytes()) {
            Ok(payment) => match operation_of(undecided) {
                Some(operation) => payment.with_bazaar(self.catalog().bazaar(operation)),
                None => payment,
            },
            Err(error) => {
                tracing::error!(%entry, %error, "a stored payment cannot be read");
                return Decision::Undecided;
            }
        };
        let known = undecided.transaction.as_deref();
        match self.settler().reconcile(&payment, known, self.now()).await {
            Reconciliation::Settled(receipt) => {
                tracing::info!(%entry, transaction = %receipt.transaction, "an unknown payment was settled");
                let charge = Charge::of(&payment, receipt);
                self.record(entry, &charge, None).await;
                Decision::Settled
            }
            Reconciliation::NotSettled { reason } => {
                let decision = self.give_back(entry, reason).await;
                if payment.scheme() == Scheme::AggrDeferred && decision != Decision::Undecided {
                    self.retire_refused(entry).await;
                }
                decision
            }
            Reconciliation::Failed {
                transaction,
                reason,
            } => {
                self.learn_transaction(undecided, Some(transaction), reason.as_str())
                    .await;
                self.charge_failure(entry, payment.payer()).await;
                match self.can_never_pay(&Presented::of(&payment)).await {
                    Ok(true) => self.give_back(entry, reason).await,
                    Ok(false) | Err(_) => {
                        tracing::debug!(%entry, %reason, "an own transaction has failed; waiting for the end of its window");
                        Decision::Undecided
                    }
                }
            }
            Reconciliation::Undecided { transaction, cause } => {
                tracing::debug!(%entry, %cause, "a payment is still unknown");
                if self.is_given_up(&payment, undecided) {
                    return self.leave_to_operator(undecided, transaction, &cause).await;
                }
                self.learn_transaction(undecided, transaction, &cause.to_string())
                    .await;
                Decision::Undecided
            }
            Reconciliation::Undecidable { transaction, cause } => {
                self.leave_to_operator(undecided, transaction, &cause).await
            }
        }
    }

    /// Whether the broker has not answered about a deferred payment for so long that it is left to
    /// the operator. Such an authorization may never expire.
    fn is_given_up(&self, payment: &Payment, undecided: &Undecided) -> bool {
        let limit = self.shared.policy.deferred_seconds;
        let until = undecided.since.saturating_add(limit);
        let until = until.min(Presented::of(payment).ends_at());
        payment.scheme() == Scheme::AggrDeferred && self.now() >= until
    }

    async fn leave_to_operator(
        &self,
        undecided: &Undecided,
        transaction: Option<String>,
        cause: &Cause,
    ) -> Decision {
        let entry = undecided.entry;
        tracing::error!(%entry, %cause, "only the operator can still decide this payment");
        let cause = cause.to_string();
        self.learn_transaction(undecided, transaction, &cause).await;
        let marked = self.journal().mark_undecidable(entry, &cause, self.now());
        match marked.await {
            Ok(()) => {
                self.shared.waiting.decided(entry);
                Decision::Undecidable
            }
            Err(error) => {
                tracing::error!(%entry, code = error.code(), %error, "a payment cannot be marked");
                Decision::Undecided
            }
        }
    }

    /// Retires a released deferred payment, because the broker has refused it for good. Returns
    /// whether its payer may sign a new one.
    pub(super) async fn retire_refused(&self, entry: EntryId) -> bool {
        match self.journal().retire(entry, true).await {
            Ok(retired) => retired,
            Err(error) => {
                tracing::error!(%entry, code = error.code(), %error, "a payment cannot be retired");
                false
            }
        }
    }

    /// Charges the payer for a failed transaction, when its call ended before the failure was seen.
    /// After a restart the same failure may be charged once more.
    async fn charge_failure(&self, entry: EntryId, payer: Address) {
        // Reads the credit before it changes; otherwise another call could read the old value from
        // the journal meanwhile.
        let known = self.learn_credit(payer).await;
        if known.is_ok() && self.shared.looks.learn_failure(entry) {
            let cost = self.shared.policy.credit.transaction;
            self.credit().charge(payer, cost);
            self.debit(payer, Spent::by_payer(cost.as_micro_usd()))
                .await;
        }
    }

    /// Releases a payment whose authorization can no longer move money.
    async fn give_back(&self, entry: EntryId, reason: Reason) -> Decision {
        tracing::info!(%entry, %reason, "an unknown payment was not settled");
        let released = self
            .journal()
            .release(entry, reason.as_str(), Spent::NOTHING, self.now());
        match released.await {
            Ok(()) => {
                self.shared.waiting.decided(entry);
                Decision::Released { reason }
            }
            Err(error) => {
                tracing::error!(%entry, code = error.code(), %error, "a payment cannot be released");
                Decision::Undecided
            }
        }
    }

    async fn learn_transaction(
        &self,
        undecided: &Undecided,
        transaction: Option<String>,
        cause: &str,
    ) {
        if transaction.is_some() && transaction != undecided.transaction {
            self.mark_unknown(undecided.entry, transaction, cause).await;
        }
    }

    /// Answers a caller who presents a payment whose outcome is unknown: decides it now if that is
    /// possible, then answers from the journal.
    pub(super) async fn decide_and_answer(
        &self,
        call: &PaidCall,
        presented: &Presented,
        entry: EntryId,
    ) -> Ended {
        let decision = match one_undecided(self.journal(), entry).await {
            Ok(Some(undecided)) => self.begin(undecided).await,
            Ok(None) => Decision::Undecided,
            Err(error) => {
                tracing::error!(%entry, code = error.code(), %error, "an entry cannot be read");
                Decision::Undecided
            }
        };
        if let Decision::Released { reason } = decision {
            let message =
                "the earlier settlement of this payment did not happen; nothing was charged";
            let next = self.after_attempt(presented).await;
            return Refusal::from(Declined::new(reason, message).advising(next)).into();
        }
        let key = &presented.key;
        match self.journal().find(key, &call.binding, self.now()).await {
            Ok(Some(status)) => self.tell(call, key, status).await,
            Ok(None) | Err(_) => self.pending(key, None).into(),
        }
    }
}

/// The operation that an undecided payment bought. `None` when this version has no such route.
fn operation_of(undecided: &Undecided) -> Option<Operation> {
    Operation::ALL.into_iter().find(|operation| {
        let route = operation.route();
        route.method.as_str() == undecided.method && route.path == undecided.path
    })
}
