//! Phase: is this payment known to the journal?

use alloy_primitives::U256;
use ledger::{Journal, LedgerError, PaymentRecord, PaymentStatus, State};
use route_catalog::Next;
use settlement::Settler;

use super::ended::{Pending, look_up_url};
use super::{Delivered, Ended, PaidCall, PaymentProcessor, Refusal, Worker};

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Passes on what a phase before the claim came to, unless it is a refusal and the payment is known: then the caller is
    /// told what the journal says.
    pub(super) async fn unless_known<T>(
        &self,
        call: &PaidCall,
        phase: Result<T, impl Into<Ended>>,
    ) -> Result<T, Ended> {
        let refusal = match phase.map_err(Into::into) {
            Err(Ended::Refused(refusal)) => refusal,
            ended_or_not => return ended_or_not,
        };
        let released = self.recognise(call).await?;
        Err(self.advise(call, refusal, released).await.into())
    }

    /// Looks a payment up by its authorization, and ends the call when the journal knows it. What was released may be claimed
    /// again and does not count as known; its record is returned.
    pub(super) async fn recognise(&self, call: &PaidCall) -> Result<Option<PaymentRecord>, Ended> {
        let Some(key) = &call.key else {
            return Ok(None);
        };
        let unreadable = |error: LedgerError| {
            tracing::error!(code = error.code(), %error, "the journal cannot be read");
            Refusal::LedgerUnavailable
        };
        let record = self.journal().look_up(key).await.map_err(unreadable)?;
        if record
            .as_ref()
            .is_none_or(|record| record.state == State::Released)
        {
            return Ok(record);
        }
        let found = self.journal().find(key, &call.binding, self.now()).await;
        match found.map_err(unreadable)? {
            // Released since.
            None => Ok(None),
            Some(PaymentStatus::Unknown { entry, .. }) => {
                Err(Box::pin(self.decide_and_answer(call, entry)).await)
            }
            Some(status) => Err(self.known(call, status)),
        }
    }

    /// What a call gets whose payment the journal knows.
    pub(super) fn known(&self, call: &PaidCall, status: PaymentStatus) -> Ended {
        let url = || look_up_url(self.catalog(), call);
        let refusal = match status {
            PaymentStatus::Answered(stored) => {
                return Ended::Delivered(Delivered {
                    stored,
                    again: true,
                });
            }
            PaymentStatus::InFlight { state, .. } => Refusal::InFlight { state },
            PaymentStatus::BoundElsewhere => Refusal::BoundElsewhere { url: url() },
            PaymentStatus::IdentifierTaken {
                transaction,
                key,
                same_request,
            } => Refusal::IdentifierTaken {
                transaction,
                url: key.map_or_else(url, |key| self.catalog().payment_url(&key)),
                same_request,
            },
            PaymentStatus::AnswerExpired { transaction } => Refusal::AnswerExpired {
                transaction,
                url: url(),
            },
            PaymentStatus::Unknown { transaction, .. } => self.pending(call, transaction, false),
            PaymentStatus::Undecidable { transaction, .. } => self.pending(call, transaction, true),
        };
        refusal.into()
    }

    pub(super) fn pending(
        &self,
        call: &PaidCall,
        transaction: Option<String>,
        undecidable: bool,
    ) -> Refusal {
        Refusal::Pending(Pending {
            network: call.key.as_ref().map(|key| key.network),
            payer: call.key.as_ref().map(|key| key.payer).unwrap_or_default(),
            transaction,
            url: look_up_url(self.catalog(), call),
            undecidable,
        })
    }

    /// Withdraws the advice to sign a new payment when the present one has come to a settlement before and can still be
    /// executed by whoever saw it.
    async fn advise(
        &self,
        call: &PaidCall,
        refusal: Refusal,
        released: Option<PaymentRecord>,
    ) -> Refusal {
        let (Refusal::Declined(declined), Some(key)) = (&refusal, &call.key) else {
            return refusal;
        };
        let was_attempted = released.is_some_and(|record| record.attempted);
        if declined.next != Next::SignNew || !was_attempted {
            return refusal;
        }
        let valid_before = U256::from(call.valid_before);
        match self.settler().is_void(key, valid_before).await {
            Ok(true) => refusal,
            Ok(false) | Err(_) => declined.clone().advising(self.wait(call)).into(),
        }
    }

    /// Wait until the call's payment can no longer be executed, and look it up then.
    pub(super) fn wait(&self, call: &PaidCall) -> Next {
        let end = call.valid_before.saturating_add(VOID_MARGIN_SECONDS);
        let left = end.saturating_sub(self.now());
        Next::Wait {
            after_seconds: left.max(VOID_MARGIN_SECONDS),
            url: look_up_url(self.catalog(), call),
        }
    }
}

/// How long after its window a payment may still show up in a block that was made before.
const VOID_MARGIN_SECONDS: u64 = 60;
