//! Phase: is this payment known to the journal?

use alloy_primitives::U256;
use ledger::{Journal, LedgerError, PaymentRecord, PaymentStatus, State};
use route_catalog::Next;
use settlement::Settler;
use x402_wire::{AuthorizationKey, Payment};

use super::ended::{Pending, look_up_url};
use super::{Declined, Delivered, Ended, PaidCall, PaymentProcessor, Refusal, Worker};

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
        let record = self.journal().look_up(key).await;
        let record = record.map_err(|error| unreadable(&error))?;
        if record
            .as_ref()
            .is_none_or(|record| record.state == State::Released)
        {
            return Ok(record);
        }
        let found = self.journal().find(key, &call.binding, self.now()).await;
        match found.map_err(|error| unreadable(&error))? {
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
        record: Option<PaymentRecord>,
    ) -> Refusal {
        let Some(key) = &call.key else {
            return refusal;
        };
        match refusal {
            Refusal::Declined(declined) if record.is_some_and(|record| record.attempted) => {
                let next = self
                    .after_attempt(key, call.valid_before, self.wait(call))
                    .await;
                declined.unless_signing_anew(next).into()
            }
            refusal => refusal,
        }
    }

    /// The same for a payment whose entry has just been released.
    pub(super) async fn advise_after_release(
        &self,
        payment: &Payment,
        wait: Next,
        declined: Declined,
    ) -> Refusal {
        let key = payment.key();
        match self.journal().look_up(&key).await {
            Ok(Some(record)) if record.attempted => {
                let valid_before = payment.authorization().valid_before;
                let end = u64::try_from(valid_before).unwrap_or(u64::MAX);
                let next = self.after_attempt(&key, end, wait).await;
                declined.unless_signing_anew(next).into()
            }
            Ok(_) => declined.into(),
            Err(error) => unreadable(&error),
        }
    }

    /// What the payer of an authorization does that has left this server: signs a new one only when this one is void.
    pub(super) async fn after_attempt(
        &self,
        key: &AuthorizationKey,
        valid_before: u64,
        wait: Next,
    ) -> Next {
        match self.settler().is_void(key, U256::from(valid_before)).await {
            Ok(true) => Next::SignNew,
            Ok(false) | Err(_) => wait,
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

pub(super) fn unreadable(error: &LedgerError) -> Refusal {
    tracing::error!(code = error.code(), %error, "the journal cannot be read");
    Refusal::LedgerUnavailable
}
