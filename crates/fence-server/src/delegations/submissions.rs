//! Submissions: plans that a grant's delegate orders.
//!
//! An order is accepted at most once; the store decides between requests at the same time. The
//! sending is for `fence-sending`.

use alloy_primitives::{Address, B256};
use delegation_fence::{
    Admitted, Class, LogEntry, LogEvent, Now, Order, Phase, Refusal, Rule, Signed, Submission,
};

use super::{ATTEMPTS, Delegations, grants::busy, refusal};
use crate::{Acceptance, Change, DelegationError, KeptSubmission, View};

/// The most refusals in a grant's log for one day. A delegate could cause any number.
const REFUSALS_A_DAY: u32 = 200;

/// A submitted plan with its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordered {
    /// The account.
    pub account: Address,
    /// The id of the grant.
    pub grant_id: B256,
    /// The tool's arguments, as JSON text.
    pub request: String,
    /// The plan, as JSON text.
    pub envelope: String,
    /// The order of the grant's delegate.
    pub order: Signed<Order>,
}

/// An accepted plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The stored submission, with its events.
    pub kept: KeptSubmission,
    /// Whether the same order was accepted before.
    pub again: bool,
}

impl Ordered {
    fn payload_digest(&self) -> B256 {
        self.order.message().payload_digest
    }

    fn as_submission(&self) -> Submission<'_> {
        Submission {
            account: self.account,
            grant_id: self.grant_id,
            request: &self.request,
            envelope: &self.envelope,
            order: &self.order,
        }
    }

    fn is(&self, kept: &KeptSubmission) -> bool {
        let admitted = &kept.admitted;
        (admitted.account, admitted.grant_id) == (self.account, self.grant_id)
            && admitted.order_digest == self.order.digest()
    }
}

impl Delegations {
    /// Accepts a plan for sending, when every confirmation holds and no order for it was accepted
    /// before. The identical order again returns the stored submission, even when a confirmation
    /// fails now.
    ///
    /// # Errors
    /// The first confirmation that fails, named as in [`admit`](delegation_fence::admit); then
    /// `order_too_small`, `gas_budget_exhausted`, `fence_price`, `balance_too_low` and
    /// `plan_would_revert`. A store, custody, prices or a chain that cannot be used.
    pub async fn submit(&self, ordered: &Ordered) -> Result<Submitted, DelegationError> {
        let plan = ordered.payload_digest();
        for _ in 0..ATTEMPTS {
            if let Some(kept) = self.store.submission(plan).await?
                && ordered.is(&kept)
            {
                return Ok(Submitted { kept, again: true });
            }
            let now = self.now().await;
            let view = self.view_of(ordered).await?;
            let admitted = match self.judge(ordered, &view, now).await {
                Ok(admitted) => admitted,
                Err(error) => {
                    self.note(ordered, &view, &error, now).await;
                    return Err(error);
                }
            };
            let acceptance = Acceptance {
                order: ordered.order.clone(),
                request: ordered.request.clone(),
                envelope: ordered.envelope.clone(),
                admitted,
                budget: self.budget,
            };
            let change = Change::Accept(Box::new(acceptance));
            if self.write(&view, change, now).await? {
                self.accepted.notify_one();
                let kept = self.submission(plan).await?;
                return Ok(Submitted { kept, again: false });
            }
        }
        Err(busy(ordered.account))
    }

    /// Judges a plan as [`Self::submit`] does, and writes nothing.
    ///
    /// # Errors
    /// As [`Self::submit`]; `order_already_used` also for the identical order, because it would
    /// cause no send.
    pub async fn try_out(&self, ordered: &Ordered) -> Result<Admitted, DelegationError> {
        let now = self.now().await;
        let view = self.view_of(ordered).await?;
        let admitted = self.judge(ordered, &view, now).await?;
        if view.plan.is_some() {
            return Err(refusal(
                Rule::OrderAlreadyUsed,
                "the plan was ordered before, by this order; a plan is sent at most once",
                "a plan that was not ordered",
                ordered.payload_digest(),
            )
            .into());
        }
        Ok(admitted)
    }

    /// An accepted plan.
    ///
    /// # Errors
    /// [`DelegationError::NotReadBack`] when there is none. A store that cannot be used.
    pub async fn submission(
        &self,
        payload_digest: B256,
    ) -> Result<KeptSubmission, DelegationError> {
        let kept = self.store.submission(payload_digest).await?;
        kept.ok_or(DelegationError::NotReadBack)
    }

    async fn view_of(&self, ordered: &Ordered) -> Result<View, DelegationError> {
        let plan = Some(ordered.payload_digest());
        let view = self.store.view(ordered.account, ordered.grant_id, plan);
        Ok(view.await?)
    }

    async fn judge(
        &self,
        ordered: &Ordered,
        view: &View,
        now: Now,
    ) -> Result<Admitted, DelegationError> {
        let submission = ordered.as_submission();
        let admitted = self
            .confirm(view, &submission, Phase::Begin, now, 0)
            .await?;
        self.budget.require_size(&admitted)?;
        let spent = self.store.gas_spent(ordered.account, now.wall).await?;
        self.budget.require_gas(spent)?;
        self.require_worth(&admitted).await?;
        self.require_feasible(&admitted).await?;
        Ok(admitted)
    }

    /// Adds a refusal to the grant's log, so that the holder sees the delegate's attempts.
    /// Submissions without the delegate's signature are left out, because anybody could make them
    /// up.
    async fn note(&self, ordered: &Ordered, view: &View, error: &DelegationError, now: Now) {
        let DelegationError::Refused(Refusal { rule, .. }) = error else {
            return;
        };
        let told = matches!(rule.class(), Class::Refused | Class::Conflict);
        let is_delegates = view.grant.as_ref().is_some_and(|grant| {
            let domain = ordered.order.typed_data().domain();
            self.instance().domain == *domain
                && ordered.order.message().account == ordered.account
                && ordered.order.message().grant_id == ordered.grant_id
                && ordered.order.signer() == Ok(grant.signed.message().delegate)
        });
        if !told || !is_delegates {
            return;
        }
        let entry = LogEntry {
            payload_digest: Some(ordered.payload_digest()),
            refused_by: Some(*rule),
            ..LogEntry::new(now.wall, LogEvent::Refused)
        };
        let noted =
            self.store
                .note_refusal(ordered.account, ordered.grant_id, entry, REFUSALS_A_DAY);
        if let Err(error) = noted.await {
            tracing::warn!(code = error.code(), "a refusal is missing in a grant's log");
        }
    }
}
