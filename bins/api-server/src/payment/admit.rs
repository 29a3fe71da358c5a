//! Stage: is there a place for the call, and credit for the highest cost of its work?
//!
//! A call that is refused here has cost nothing but a signature check, or at most one question
//! about an unproven signature. Nothing is written.

use ledger::Journal;
use settlement::{Settler, Verification};
use tokio::sync::OwnedSemaphorePermit;
use x402_wire::{Payment, Scheme};

use super::credit_book::Hold;
use super::in_flight::Presence;
use super::match_offer::{Matched, Proof};
use super::payer_credit::out_of_credit;
use super::{Declined, Ended, PaidCall, PaymentProcessor, Refusal, Worker};

/// The place of a matched payment, and credit for the highest cost of its call.
pub(super) struct Admitted {
    pub(super) place: OwnedSemaphorePermit,
    pub(super) presence: Presence,
    pub(super) hold: Hold,
}

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Takes a place and holds credit.
    ///
    /// This process cannot judge every signature. It asks the settler or the chain about one only
    /// when the journal does not know the payment, and when one of the few places for such calls is
    /// free.
    pub(super) async fn admit(
        &self,
        call: &PaidCall,
        matched: &Matched,
    ) -> Result<Admitted, Ended> {
        let Matched { payment, proof, .. } = matched;
        let proven = *proof == Proof::Recovered;
        let place = match proven {
            true => self.place(proven)?,
            false => Box::pin(self.place_for_unproven(call, payment, proof)).await?,
        };
        let payer = payment.payer();
        if proven {
            self.learn_credit(payer).await?;
        }
        let (presence, others) = self.shared.in_flight.enter(payer, proven);
        // The broker's answer does not prove the identity of the payer.
        let is_provable = payment.scheme() == Scheme::Exact && self.settler().reads_chain();
        let (book, client) = (&self.shared.credit, call.request.client);
        let (operation, now_ms) = (call.request.operation, self.now_ms());
        let hold = match proven || !is_provable {
            true => Hold::take(book, proven.then_some(payer), client, operation, now_ms),
            false => Hold::take_to_verify(book, client, operation, now_ms),
        };
        let hold = hold.map_err(|out| out_of_credit(operation, out))?;
        // Without credit and with a balance that cannot be read, the payer may be unable to pay
        // for two calls.
        if others > 0 && !hold.is_of_payer() && !self.settler().reads_chain() {
            return Err(Refusal::OneCallAtATime.into());
        }
        Ok(Admitted {
            place,
            presence,
            hold,
        })
    }

    async fn place_for_unproven(
        &self,
        call: &PaidCall,
        payment: &Payment,
        proof: &Proof,
    ) -> Result<OwnedSemaphorePermit, Ended> {
        self.recognise(call).await?;
        let place = self.place(false)?;
        self.ask_about(call, payment, proof).await?;
        Ok(place)
    }

    fn place(&self, proven: bool) -> Result<OwnedSemaphorePermit, Refusal> {
        let places = match proven {
            true => &self.shared.places,
            false => &self.shared.unproven_places,
        };
        let place = places.clone().try_acquire_owned();
        place.map_err(|_| Refusal::TooManyCalls)
    }

    /// Refuses a signature that this process cannot judge, unless a remote verification may accept
    /// it.
    async fn ask_about(
        &self,
        call: &PaidCall,
        payment: &Payment,
        proof: &Proof,
    ) -> Result<(), Refusal> {
        match proof {
            Proof::Recovered => Ok(()),
            Proof::WalletForm | Proof::Session => self.supports(call, payment).await,
            Proof::PerhapsWallet(invalid) => {
                match self.settler().accepts_wallet(payment.payer()).await {
                    Ok(true) => self.supports(call, payment).await,
                    Ok(false) => Err(Declined::from(invalid.clone()).into()),
                    Err(cause) => {
                        tracing::debug!(%cause, "the payer's code cannot be read");
                        Err(Refusal::SettlementUnavailable)
                    }
                }
            }
        }
    }

    async fn supports(&self, call: &PaidCall, payment: &Payment) -> Result<(), Refusal> {
        match self.settler().supports(payment.scheme()).await {
            Verification::Valid => Ok(()),
            Verification::Invalid { reason, message } => {
                let declined = Declined::by_settler(reason, message);
                Err(self.declined_for_now(call, declined).into())
            }
            Verification::Unavailable { cause } => {
                tracing::debug!(%cause, "the settler's supported schemes are unknown");
                Err(Refusal::SettlementUnavailable)
            }
        }
    }
}
