//! Stage: would the payment settle now? It asks the settler, whose answer holds for this moment
//! only.

use credit::Cost;
use data_sources::Usage;
use ledger::Journal;
use route_catalog::Next;
use settlement::{Cause, Settler, Verification};
use x402_wire::{Payment, Reason};

use super::call::Presented;
use super::claim::Claimed;
use super::payer_credit::out_of_credit;
use super::recognise::Released;
use super::repeat::Stop;
use super::{Declined, Ended, PaidCall, PaymentProcessor, Refusal, Worker};
use crate::observe;

/// A call whose payment would settle.
pub(super) struct Verified(pub(super) Box<Claimed>);

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Asks the settler to verify the payment. A call that ends here releases its authorization.
    pub(super) async fn verify(
        &self,
        call: &PaidCall,
        mut claimed: Box<Claimed>,
    ) -> Result<Verified, Stop> {
        // A settler that asks over HTTP has large futures.
        let ended = match Box::pin(self.ask_settler(&mut claimed)).await {
            Err(cause) => Box::pin(self.unverified(*claimed, cause, Cost::ZERO)).await,
            Ok(Verification::Valid) => {
                if !claimed.open.presence.is_proven() {
                    claimed = Box::pin(self.enter(call, claimed)).await?;
                }
                claimed.open.presence.prove();
                let held = Box::pin(self.hold_for_proven(&mut claimed)).await;
                match held {
                    Ok(()) => return Ok(Verified(claimed)),
                    Err(refusal) => Box::pin(self.unaffordable(*claimed, refusal)).await,
                }
            }
            Ok(Verification::Invalid { reason, message }) => {
                Box::pin(self.invalid(*claimed, reason, message)).await
            }
            Ok(Verification::Unavailable { cause }) => {
                // A payload that makes the settler fail costs as much as a refused one.
                let spent = match cause.is_about_the_payment() {
                    true => self.shared.policy.credit.spent(Usage::default()),
                    false => Cost::ZERO,
                };
                Box::pin(self.unverified(*claimed, cause, spent)).await
            }
        };
        Err(ended.into())
    }

    /// Holds credit of a payer that this verification has proven. Until now the newcomers' pool has
    /// covered the call, or only its verification.
    async fn hold_for_proven(&self, claimed: &mut Claimed) -> Result<(), Refusal> {
        if !claimed.open.awaits_proof() {
            return Ok(());
        }
        let payer = claimed.payment.payer();
        // If the journal cannot be read, the payer has no credit.
        let _ = self.learn_credit(payer).await;
        let held = claimed.open.prove(payer, self.now_ms());
        held.map_err(|out| out_of_credit(claimed.work.operation, out))
    }

    async fn unverified(&self, claimed: Claimed, cause: Cause, spent: Cost) -> Ended {
        tracing::debug!(entry = %claimed.open.id, %cause, "a payment cannot be verified");
        let released = self.release(claimed.open, "verification_unavailable", spent);
        released.await;
        Refusal::SettlementUnavailable.into()
    }

    /// Returns the settler's verdict. An error means that the settler was not asked about the
    /// payment.
    async fn ask_settler(&self, claimed: &mut Claimed) -> Result<Verification, Cause> {
        let settler = self.settler();
        if settler.pays_gas() {
            let (expected, others) = self.shared.in_flight.expect_settlement();
            settler.affords(others).await?;
            claimed.open.settlement = Some(expected);
        }
        let (payment, committed) = (&claimed.payment, claimed.committed);
        let verified = settler.verify(payment, committed, self.now()).await;
        if verified != Verification::Valid || !claimed.work.is_private() {
            return Ok(verified);
        }
        // A facilitator or broker may call anything valid. What concerns the payer's own wallet
        // needs a proof of this process.
        Ok(match settler.proves_signer(payment).await {
            Ok(true) => Verification::Valid,
            Ok(false) => {
                let Declined {
                    reason, message, ..
                } = Declined::not_proven(payment.scheme());
                let message = Some(message);
                Verification::Invalid { reason, message }
            }
            Err(cause) => Verification::Unavailable { cause },
        })
    }

    /// Ends a call whose payment would settle, but whose work no credit covers. The payment stays
    /// valid for a later call.
    async fn unaffordable(&self, claimed: Claimed, refusal: Refusal) -> Ended {
        let spent = self.shared.policy.credit.spent(Usage::default());
        self.release(claimed.open, "out_of_credit", spent).await;
        refusal.into()
    }

    async fn invalid(&self, claimed: Claimed, reason: Reason, message: Option<String>) -> Ended {
        let spent = self.shared.policy.credit.spent(Usage::default());
        // The chain has just said that the nonce is used.
        let is_used = reason == Reason::InvalidExactEvmNonceAlreadyUsed;
        if is_used && let Some(refusal) = self.paid_before(&claimed.payment).await {
            self.release(claimed.open, "no_answer", spent).await;
            return refusal.into();
        }
        let released = Released::refused(&claimed);
        self.release(claimed.open, reason.as_str(), spent).await;
        let presented = Presented::of(&claimed.payment);
        let next = self.next_after(&reason, &presented).await;
        let declined = Declined::by_settler(reason, message).advising(next);
        if is_used {
            return Refusal::from(declined).into();
        }
        self.advise_after_release(released, declined).await.into()
    }

    /// Returns the refusal for a payment to this service that the chain shows and the journal does
    /// not have: the journal has lost its last commits, or the payer has sent the authorization
    /// itself. An answer may have been given for it, and a second one could differ, so the refusal
    /// has none. Credit pays for the request.
    async fn paid_before(&self, payment: &Payment) -> Option<Refusal> {
        let Presented {
            key,
            authorization,
            is_exact,
        } = Presented::of(payment);
        if !is_exact {
            return None;
        }
        let paid = self.settler().paid_by(&key, &authorization).await;
        let transaction = paid.ok().flatten()?;
        observe::payment_without_record();
        tracing::error!(
            authorization = %key, transaction,
            "the chain knows a payment to this service that the ledger does not: was an old copy restored, or has a replica \
             without the last commits taken over?"
        );
        let url = self.catalog().payment_url(&key);
        Some(Refusal::NoAnswer { transaction, url })
    }

    /// The payer's next step with a payment that would not settle.
    async fn next_after(&self, reason: &Reason, presented: &Presented) -> Next {
        match reason {
            // The payment settles as soon as the account has the amount.
            Reason::InsufficientFunds => Next::SendSameAgain { after_seconds: 5 },
            // The nonce was used outside of this server: money may have moved, unless the chain
            // shows otherwise.
            Reason::InvalidExactEvmNonceAlreadyUsed => match self.can_never_pay(presented).await {
                Ok(true) => Next::SignNew,
                Ok(false) | Err(_) => Next::LookUp {
                    url: self.catalog().payment_url(&presented.key),
                },
            },
            // By the server's clock it is valid, so the chain's newest block is a little older.
            Reason::InvalidExactEvmPayloadAuthorizationValidAfter => {
                Next::SendSameAgain { after_seconds: 5 }
            }
            _ => Next::SignNew,
        }
    }
}
