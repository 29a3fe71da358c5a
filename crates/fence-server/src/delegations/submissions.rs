//! Plans that a grant's delegate orders.

use alloy_primitives::{Address, B256};
use delegation_fence::{
    Admitted, Class, Entry, LogEvent, Now, Order, Phase, Refusal, Rule, Signed, Submission,
};

use super::{ATTEMPTS, Delegations, grants::busy, refusal};
use crate::{Acceptance, Change, DelegationError, KeptSubmission, View};

/// Most refusals of a day that the log of a grant tells: its delegate could make any number.
const REFUSALS_A_DAY: u32 = 200;

/// A plan as it is submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ordered {
    /// The account.
    pub account: Address,
    /// Under which grant.
    pub grant_id: B256,
    /// The tool's arguments, as JSON text.
    pub request: String,
    /// The plan, as JSON text.
    pub envelope: String,
    /// The order of the grant's delegate.
    pub order: Signed<Order>,
}

/// A plan that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// With what happened to it.
    pub kept: KeptSubmission,
    /// Whether it was accepted before, by the same order.
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
    /// Accepts a plan to be sent: every confirmation holds, and nothing of it was accepted before.
    /// The identical order again is answered with what became of it, whatever holds now.
    ///
    /// # Errors
    /// The first confirmation that does not hold, by the names of
    /// [`admit`](delegation_fence::admit), then `order_too_small`, `gas_budget_exhausted`,
    /// `fence_price`, `balance_too_low` and `plan_would_revert`. Records, custody, prices or a
    /// chain that cannot be used.
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
    /// As [`Self::submit`]; `order_already_used` also for the identical order: nothing would be
    /// sent because of it.
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

    /// A plan that was accepted.
    ///
    /// # Errors
    /// [`DelegationError::NotReadBack`] when there is none. Records that cannot be used.
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

    /// Adds a refusal to the grant's log: the holder sees what the delegate tried. What anybody
    /// could make up is not in it, because the delegate's signature is not on it.
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
        let entry = Entry {
            payload_digest: Some(ordered.payload_digest()),
            refused_by: Some(*rule),
            ..Entry::new(now.wall, LogEvent::Refused)
        };
        let noted =
            self.store
                .note_refusal(ordered.account, ordered.grant_id, entry, REFUSALS_A_DAY);
        if let Err(error) = noted.await {
            tracing::warn!(code = error.code(), "a refusal is missing in a grant's log");
        }
    }
}
