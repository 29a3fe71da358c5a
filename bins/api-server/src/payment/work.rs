//! Stage: the work that the payment pays for.

use std::time::Duration;

use data_sources::Meter;
use ledger::{Journal, PaidAnswer};
use route_catalog::ErrorCode;
use settlement::Settler;
use tokio::time::timeout;

use super::claim::Claimed;
use super::verify::Verified;
use super::{Ended, PaymentProcessor, Refusal, Worker};
use crate::reply::ErrorReply;

/// A call whose answer is made and not paid yet.
pub(super) struct Answered {
    pub(super) claimed: Box<Claimed>,
    pub(super) answer: PaidAnswer,
    /// The cost of the call if it is not charged after all.
    pub(super) spent: credit::Cost,
    /// The part of it for what stays.
    pub(super) stays: credit::Cost,
}

impl<S: Settler, J: Journal, W: Worker> PaymentProcessor<S, J, W> {
    /// Does the work within the operation's time limit. Work that ends without an answer releases
    /// the authorization, and the payer's credit pays its cost.
    pub(super) async fn work(&self, verified: Verified) -> Result<Answered, Ended> {
        let Verified(claimed) = verified;
        self.journal().start_work(claimed.open.id);
        let budget = Duration::from_secs(claimed.work.operation.route().work_seconds);
        let meter = Meter::new(claimed.open.caller());
        let work = self.shared.worker.answer(&claimed.work, claimed.request);
        let ended = timeout(budget, meter.scope(work)).await;
        let usage = meter.usage();
        let credit = &self.shared.policy.credit;
        let (spent, stays) = (credit.spent(usage), credit.stays(usage));
        let operation = claimed.work.operation;
        if spent > self.shared.policy.credit.held_for(operation) {
            tracing::debug!(%operation, ?usage, "the work of a call has cost more than the credit held for it");
        }
        let (refusal, reason) = match ended {
            Ok(Ok(answer)) => {
                return Ok(Answered {
                    claimed,
                    answer,
                    spent,
                    stays,
                });
            }
            Ok(Err(refusal)) => {
                let reason = refusal.code().code();
                (refusal, reason)
            }
            Err(_elapsed) => (timed_out(), "work_timed_out"),
        };
        Box::pin(self.release(claimed.open, reason, spent)).await;
        Err(Refusal::Work(refusal).into())
    }
}

fn timed_out() -> ErrorReply {
    ErrorReply::new(ErrorCode::UpstreamUnavailable, "the answer took too long")
        .detail("reason", "timed_out")
        .retry_after(5)
}
