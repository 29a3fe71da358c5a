//! Taking a payment: from a decoded payment header to an answer.
//!
//! [`PaymentProcessor::decide`] calls the stages in their order. Each stage is a file with one
//! method, which takes the result of the stage before it:
//!
//! 1. [`match_offer`]: does the payment pay for this request? Sends no request.
//! 2. [`admit`]: is there a place for the call, and credit for the highest cost of its work?
//! 3. [`claim`]: the journal reserves the authorization for this request, in one durable write.
//!    When its payer makes the same purchase already with another one, [`repeat`] ends the call.
//! 4. [`verify`]: would the payment settle now? Asks the settler.
//! 5. [`work`]: the operation makes the answer.
//! 6. [`settle`]: the answer is stored, the payment is settled, the charge is recorded.
//!
//! A stage that ends the call returns an [`Ended`], and [`deliver`] turns that into the HTTP reply.
//! Stages share the [`processor`], and know only the results of earlier stages.
//!
//! The rules of this module:
//! - Nothing is charged before there is an answer to deliver, and nothing is delivered before it is
//!   paid.
//! - The journal alone says what happened to a payment, never a variable.
//! - An unknown outcome is not a failure: it is never charged again, and never declared void by
//!   guessing.
//! - A payment that the journal knows never meets a refusal that could make its payer sign another
//!   one.
//! - A caller that hangs up changes nothing: each call runs in a task that its connection does not
//!   own.

// The stages.
mod admit;
mod claim;
mod match_offer;
mod settle;
mod verify;
mod work;

// Parts that the stages share.
mod advice;
mod call;
mod credit_book;
mod ended;
mod in_flight;
mod kept_call;
mod looks;
mod open_entry;
mod payer_credit;
mod privacy;
mod processor;
mod recognise;
mod record;
mod repeat;
mod waiting;
mod worker;

// Before the stages, after them, and beside them.
mod deliver;
mod forgo;
mod look_up;
mod read;
mod reconcile;
mod sweep;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ledger::{EntryId, Journal, State};
use settlement::Settler;
use tokio::time::Instant as Deadline;
use x402_wire::PaymentPayload;

pub(crate) use self::call::{PaidCall, Request};
pub(crate) use self::credit_book::CreditPolicy;
pub(crate) use self::deliver::deliver;
pub(crate) use self::ended::{Declined, Delivered, Ended, Refusal};
pub(crate) use self::kept_call::KeptCall;
pub(crate) use self::look_up::{PREFIX as PAYMENTS_PREFIX, answer as answer_look_up};
#[cfg(test)]
pub(crate) use self::processor::{MAX_IN_FLIGHT, MAX_UNPROVEN};
pub(crate) use self::processor::{PaymentPolicy, PaymentProcessor};
pub(crate) use self::read::payment as read_payment;
use self::repeat::Stop;
#[cfg(test)]
pub(crate) use self::waiting::MAX_WAITING;
pub(crate) use self::worker::Worker;
use crate::observe;

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Takes a payment in a task of its own, which goes on when the returned future is dropped.
    pub(crate) fn process(
        &self,
        call: PaidCall,
        payload: PaymentPayload,
    ) -> impl Future<Output = Ended> + Send + use<S, J, W> {
        let (request, started) = (call.request.id, Instant::now());
        let key = call.key();
        let carried = key.map(|key| self.shared.in_flight.carry(key));
        let (processor, catalog) = (self.clone(), Arc::clone(&self.shared.catalog));
        // Allocators keep small blocks apart for each thread: so the task and the stages of
        // `decide` are small, each by itself.
        let (call, payload) = (Box::new(call), Box::new(payload));
        let task = self.shared.tasks.spawn(async move {
            let _in_flight = observe::in_flight();
            let operation = call.request.operation;
            let ended = match processor.decide(&call, payload).await {
                Ok(delivered) => Ended::Delivered(delivered),
                // This call is refused, but another call with the same payment was in flight and
                // may be served: its caller must not sign anew.
                Err(ended) if ended.says_sign_new() && carried.is_some_and(|c| c.met_others()) => {
                    let state = State::Reserved;
                    Refusal::InFlight { state }.into()
                }
                Err(Ended::Refused(Refusal::Declined(declined))) => {
                    processor.unless_begun(&call, declined).await.into()
                }
                Err(ended) => ended,
            };
            let took = started.elapsed();
            observe::paid_call(operation, ended.name(), took);
            ended.log(request, operation, took);
            ended
        });
        async move {
            task.await.unwrap_or_else(|_panic| {
                // If the payment has an entry, the journal holds it open, and a sweep decides it.
                tracing::error!(request_id = %request, "a paid call ended early");
                let refusal = match key {
                    Some(key) => Refusal::pending(&catalog, &key, None),
                    // A payment on an unknown network is never claimed.
                    None => Refusal::LedgerUnavailable,
                };
                Ended::Refused(refusal)
            })
        }
    }

    /// Notes that the answer of an entry was written whole to a connection.
    pub(crate) fn delivered(&self, entry: EntryId) {
        self.journal().mark_delivered(entry);
    }

    /// Decides a call. While another authorization of the payer stands for the same purchase, the
    /// call waits for it, at most as long as the route's work may take, and begins again when that
    /// one counts no longer.
    async fn decide(
        &self,
        call: &PaidCall,
        mut payload: Box<PaymentPayload>,
    ) -> Result<Delivered, Ended> {
        let mut deadline = None;
        loop {
            let occupied = match Box::pin(self.attempt(call, payload)).await {
                Ok(delivered) => return Ok(delivered),
                Err(Stop::Ended(ended)) => return Err(ended),
                Err(Stop::Occupied(occupied)) => occupied,
            };
            let deadline = *deadline.get_or_insert_with(|| {
                let seconds = call.request.operation.route().work_seconds;
                Deadline::now() + Duration::from_secs(seconds)
            });
            if let Some(delivered) = Box::pin(self.repeat(call, &occupied, deadline)).await? {
                return Ok(delivered);
            }
            payload = Box::new(occupied.payload);
        }
    }

    /// The stages of a paid call, in their order.
    ///
    /// The claim is the one write that decides whether a payment is known. Stages before it could
    /// refuse a payment that the journal knows already, so [`Self::unless_known`] looks up every
    /// payment that they refuse.
    async fn attempt(
        &self,
        call: &PaidCall,
        payload: Box<PaymentPayload>,
    ) -> Result<Delivered, Stop> {
        let matched = self.match_offer(call, *payload);
        let matched = self.unless_known(call, matched).await?;
        let admitted = Box::pin(self.admit(call, &matched)).await;
        let admitted = match self.unless_known(call, admitted).await {
            Ok(admitted) => admitted,
            Err(ended) => {
                return Err(Box::pin(self.unless_occupied(call, &matched, ended)).await);
            }
        };
        let claimed = Box::pin(self.claim(call, matched, admitted)).await?;
        let verified = self.verify(call, claimed).await?;
        let answered = Box::pin(self.work(verified)).await?;
        let settled = Box::pin(self.settle(answered)).await?;
        Ok(settled)
    }
}

#[cfg(test)]
mod tests;
