//! The credit of one payer: read from the journal when it is first needed.

use alloy_primitives::Address;
use credit::OutOfCredit;
use ledger::Journal;
use route_catalog::Operation;
use settlement::Settler;

use super::advice::unreadable;
use super::{PaymentProcessor, Refusal, Worker};
use crate::observe;

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Reads the payer's credit, unless the book knows it already.
    pub(super) async fn learn_credit(&self, payer: Address) -> Result<(), Refusal> {
        if self.credit().knows(payer) {
            return Ok(());
        }
        match self.journal().credit(payer).await {
            Ok(credit) => {
                self.credit().learn(payer, credit);
                Ok(())
            }
            Err(error) => Err(unreadable(&error)),
        }
    }
}

/// Refuses a call that no credit covers, and counts it.
pub(super) fn out_of_credit(operation: Operation, out: OutOfCredit) -> Refusal {
    observe::credit_refused(operation.route().work);
    Refusal::OutOfCredit {
        retry_after_seconds: out.retry_after_seconds,
    }
}
