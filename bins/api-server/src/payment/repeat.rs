//! A second signature is not a second charge: the end of a call whose payer makes the same purchase
//! already with another authorization.
//!
//! The journal decides which purchases are the same. Here the call waits for the earlier one if
//! that is not decided, and then gets its answer, goes on, or is refused.

use ledger::{Claim, EntryId, Journal, Occupant, PaymentStatus, Purchase, Repeated, State};
use route_catalog::Operation;
use settlement::Settler;
use tokio::time::{Instant, sleep, sleep_until};
use x402_wire::{AuthorizationKey, Payment, PaymentPayload};

use super::advice::unreadable;
use super::call::Presented;
use super::match_offer::{Matched, Proof};
use super::open_entry::one_undecided;
use super::waiting::LOOK_EVERY;
use super::{Delivered, Ended, PaidCall, PaymentProcessor, Refusal, Worker};
use crate::call::Call;
use crate::observe::{self, Repetition};

/// The reason with which an authorization is released when it gives way to another one of the same
/// purchase.
pub(super) const GIVES_WAY: &str = "purchase_in_progress";

/// Why a stage does not go on.
pub(super) enum Stop {
    /// The call has ended.
    Ended(Ended),
    /// Another authorization stands for the purchase.
    Occupied(Box<Occupied>),
}

impl From<Ended> for Stop {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Ended(refusal.into())
    }
}

/// A proven payment for a purchase for which another authorization stands.
pub(super) struct Occupied {
    pub(super) payload: PaymentPayload,
    pub(super) claim: Claim,
    pub(super) occupant: Occupant,
}

impl Occupied {
    pub(super) fn stop(payment: &Payment, claim: Claim, occupant: Occupant) -> Stop {
        Stop::Occupied(Box::new(Self {
            payload: payment.payload().clone(),
            claim,
            occupant,
        }))
    }
}

/// The decision about an earlier purchase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waited {
    Settled,
    /// It counts no longer.
    Over,
    Undecided,
}

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// The claim of a payment for the call's request. An unproven one counts as no purchase, and
    /// takes no identifier.
    pub(super) fn claim_of(
        &self,
        call: &PaidCall,
        payment: &Payment,
        work: &Call,
        proven: bool,
    ) -> Claim {
        let presented = Presented::of(payment);
        let identifier = payment.payload().payment_id().filter(|_| proven);
        Claim {
            key: presented.key,
            request: call.binding.clone(),
            payment_id: identifier.map(str::to_owned),
            amount: payment.requirements().amount,
            valid_before: presented.ends_at(),
            purchase: match work.begins_something() {
                _ if !proven => Purchase::Unproven,
                true => Purchase::Action,
                false => Purchase::Reading,
            },
            now: self.now(),
        }
    }

    /// Ends a call that has no place or no credit, unless it repeats a purchase: that needs
    /// neither.
    pub(super) async fn unless_occupied(
        &self,
        call: &PaidCall,
        matched: &Matched,
        ended: Ended,
    ) -> Stop {
        let needs_room = matches!(
            ended,
            Ended::Refused(
                Refusal::OutOfCredit { .. } | Refusal::OneCallAtATime | Refusal::TooManyCalls
            )
        );
        if !needs_room || matched.proof != Proof::Recovered {
            return ended.into();
        }
        let claim = self.claim_of(call, &matched.payment, &matched.work, true);
        match self.journal().occupant(claim.clone()).await {
            Ok(Some(PaymentStatus::Occupied(occupant))) => {
                Occupied::stop(&matched.payment, claim, occupant)
            }
            Ok(_) => ended.into(),
            Err(error) => unreadable(&error).into(),
        }
    }

    /// Answers a call that repeats a purchase. `None` when the earlier purchase counts no longer,
    /// so that the call goes on. The call waits until `deadline` or a shutdown.
    pub(super) async fn repeat(
        &self,
        call: &PaidCall,
        occupied: &Occupied,
        deadline: Instant,
    ) -> Result<Option<Delivered>, Ended> {
        let Occupied {
            claim, occupant, ..
        } = occupied;
        let operation = call.request.operation;
        let url = self.url_of(occupant, &claim.key);
        let kind = match (occupant.is_undecided(), occupant.by_identifier) {
            (true, _) => Repetition::Waited,
            (false, true) => Repetition::Identifier,
            (false, false) if occupant.is_action && occupant.is_delivered => {
                observe::action_repeated(operation);
                return Err(self.action_repeated(occupant, url).await.into());
            }
            (false, false) => Repetition::Undelivered,
        };
        if kind == Repetition::Waited {
            match self.wait_for(occupant, &claim.key, deadline).await? {
                Waited::Settled => {}
                Waited::Over => return Ok(None),
                Waited::Undecided => return Err(undecided(operation, url)),
            }
        }
        let repetition = Claim {
            now: self.now(),
            ..claim.clone()
        };
        let repeated = self.journal().repeat(repetition, occupant.entry).await;
        match repeated.map_err(|error| unreadable(&error))? {
            Repeated::Answered(stored) => {
                observe::repetition(kind);
                Ok(Some(Delivered {
                    stored,
                    again: true,
                }))
            }
            Repeated::TooMany => Err(Refusal::TooManyRepetitions { url }.into()),
            Repeated::Expired { transaction } => {
                Err(Refusal::AnswerExpired { transaction, url }.into())
            }
            Repeated::Known(status) => Err(self.tell(call, &claim.key, status).await),
            // The entry has changed since it was read. The next claim reads it again.
            Repeated::NotSettled if !self.is_over(deadline) => {
                sleep(LOOK_EVERY).await;
                Ok(None)
            }
            Repeated::NotSettled => Err(undecided(operation, url)),
        }
    }

    fn url_of(&self, occupant: &Occupant, own: &AuthorizationKey) -> String {
        let key = occupant.key.as_ref().unwrap_or(own);
        self.catalog().payment_url(key)
    }

    async fn action_repeated(&self, occupant: &Occupant, url: String) -> Refusal {
        let began = match &occupant.key {
            Some(key) => self.shared.worker.began(key.digest()).await,
            None => None,
        };
        Refusal::ActionRepeated {
            began: began.unwrap_or_default(),
            url,
        }
    }

    /// Waits until an earlier purchase is decided.
    async fn wait_for(
        &self,
        occupant: &Occupant,
        own: &AuthorizationKey,
        deadline: Instant,
    ) -> Result<Waited, Refusal> {
        let Some(waiter) = self.shared.waiting.join(own.payer, occupant.entry) else {
            return Ok(Waited::Undecided);
        };
        if occupant.state == State::Unknown && waiter.is_first {
            self.look_at(occupant.entry).await;
        }
        let mut is_told = true;
        loop {
            let decided = waiter.decided();
            if (is_told || waiter.looks_now())
                && let Some(waited) = self.decision(occupant).await?
            {
                if !is_told {
                    waiter.tell_others();
                }
                return Ok(waited);
            }
            if self.is_over(deadline) {
                return Ok(Waited::Undecided);
            }
            let next = deadline.min(Instant::now() + LOOK_EVERY);
            is_told = tokio::select! {
                biased;
                () = decided => true,
                () = self.shared.stopping.cancelled() => false,
                () = sleep_until(next) => false,
            };
        }
    }

    /// Whether a call waits no longer: its time is over, or the server shuts down.
    fn is_over(&self, deadline: Instant) -> bool {
        Instant::now() >= deadline || self.shared.stopping.is_cancelled()
    }

    /// The decision about an earlier purchase, by the journal. `None` while there is none.
    async fn decision(&self, occupant: &Occupant) -> Result<Option<Waited>, Refusal> {
        let Some(key) = &occupant.key else {
            return Ok(Some(Waited::Undecided));
        };
        let record = self.journal().look_up(key).await;
        let record = record.map_err(|error| unreadable(&error))?;
        let record = record.filter(|record| record.entry == occupant.entry);
        Ok(match record.map(|record| record.state) {
            Some(State::Settled) => Some(Waited::Settled),
            // An identifier stays with its purchase.
            Some(State::Undecidable) if occupant.by_identifier => Some(Waited::Undecided),
            Some(State::Released | State::Undecidable) | None => Some(Waited::Over),
            Some(_) => None,
        })
    }

    /// Begins to decide an entry whose outcome is unknown, in a task of its own.
    async fn look_at(&self, entry: EntryId) {
        match one_undecided(self.journal(), entry).await {
            Ok(Some(undecided)) => drop(self.begin(undecided)),
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%entry, code = error.code(), %error, "an entry cannot be read");
            }
        }
    }
}

fn undecided(operation: Operation, url: String) -> Ended {
    observe::purchase_undecided(operation);
    Refusal::PurchaseUndecided { url }.into()
}
