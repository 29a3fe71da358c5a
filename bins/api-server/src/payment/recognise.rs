//! Phase: is this payment known to the journal?

use alloy_primitives::U256;
use ledger::{Journal, LedgerError, PaymentRecord, PaymentStatus, State};
use route_catalog::Next;
use settlement::Settler;
use x402_wire::{AuthorizationKey, Payment};

use super::ended::Pending;
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
        Err(Box::pin(self.refuse_unless_known(call, refusal)).await)
    }

    async fn refuse_unless_known(&self, call: &PaidCall, refusal: Refusal) -> Ended {
        match self.recognise(call).await {
            Ok(released) => self.advise(call, refusal, released).await.into(),
            Err(known) => known,
        }
    }

    /// Looks a payment up by its authorization, and ends the call when the journal knows it. What was released may be claimed
    /// again and does not count as known; its record is returned.
    pub(super) async fn recognise(&self, call: &PaidCall) -> Result<Option<PaymentRecord>, Ended> {
        let Some(key) = &call.key else {
            return Ok(None);
        };
        loop {
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
                // Released between the two questions, perhaps after a settlement: the record has to be read again.
                None => {}
                Some(PaymentStatus::Unknown { entry, .. }) => {
                    return Err(Box::pin(self.decide_and_answer(call, key, entry)).await);
                }
                Some(status) => return Err(self.known(key, status)),
            }
        }
    }

    /// What a call gets whose payment the journal knows.
    pub(super) fn known(&self, key: &AuthorizationKey, status: PaymentStatus) -> Ended {
        let url = || self.catalog().payment_url(key);
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
                key: other,
                same_request,
            } => Refusal::IdentifierTaken {
                transaction,
                url: other.map_or_else(url, |other| self.catalog().payment_url(&other)),
                same_request,
            },
            PaymentStatus::AnswerExpired { transaction } => Refusal::AnswerExpired {
                transaction,
                url: url(),
            },
            PaymentStatus::Unknown { transaction, .. } => self.pending(key, transaction),
            PaymentStatus::Undecidable { transaction, .. } => Refusal::Pending(Pending {
                network: key.network,
                payer: key.payer,
                transaction,
                url: url(),
                undecidable: true,
            }),
        };
        refusal.into()
    }

    /// An outcome that is not known.
    pub(super) fn pending(&self, key: &AuthorizationKey, transaction: Option<String>) -> Refusal {
        Refusal::pending(self.catalog(), key, transaction)
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
                let next = self.after_attempt(key, call.valid_before).await;
                declined.unless_signing_anew(next).into()
            }
            refusal => refusal,
        }
    }

    /// The same for a payment whose entry has just been released.
    pub(super) async fn advise_after_release(
        &self,
        payment: &Payment,
        declined: Declined,
    ) -> Refusal {
        let key = payment.key();
        match self.journal().look_up(&key).await {
            Ok(Some(record)) if record.attempted => {
                let next = self.after_attempt(&key, ends_at(payment)).await;
                declined.unless_signing_anew(next).into()
            }
            Ok(_) => declined.into(),
            Err(error) => unreadable(&error),
        }
    }

    /// What the payer of an authorization does that has left this server: signs a new one only when this one is void.
    pub(super) async fn after_attempt(&self, key: &AuthorizationKey, valid_before: u64) -> Next {
        match self.settler().is_void(key, U256::from(valid_before)).await {
            Ok(true) => Next::SignNew,
            Ok(false) | Err(_) => self.wait(key, valid_before),
        }
    }

    /// Wait until a payment can no longer be executed, and look it up then.
    pub(super) fn wait(&self, key: &AuthorizationKey, valid_before: u64) -> Next {
        let end = valid_before.saturating_add(VOID_MARGIN_SECONDS);
        let left = end.saturating_sub(self.now());
        Next::Wait {
            after_seconds: left.max(VOID_MARGIN_SECONDS),
            url: self.catalog().payment_url(key),
        }
    }
}

/// How long after its window a payment may still show up in a block that was made before.
const VOID_MARGIN_SECONDS: u64 = 60;

/// The end of a payment's window, in unix seconds.
pub(super) fn ends_at(payment: &Payment) -> u64 {
    u64::try_from(payment.authorization().valid_before).unwrap_or(u64::MAX)
}

pub(super) fn unreadable(error: &LedgerError) -> Refusal {
    tracing::error!(code = error.code(), %error, "the journal cannot be read");
    Refusal::LedgerUnavailable
}
