//! What became of a transaction that was handed over.

use tx_sender::{Inclusion, Lane, Record, Request, State as SenderState};

use super::{Driver, Fault, Step};
use crate::StepKind;
use crate::intent::{At, Intent, Status};

impl Driver {
    /// Hands the transaction over, once more where it was, and waits for its outcome. The sender of
    /// transactions knows it by its key, so that it takes effect at most once.
    pub(super) async fn outcome(&self, intent: &Intent, index: usize) -> Result<Step, Fault> {
        let Some(step) = intent.steps.get(index) else {
            return Ok(Step::Wait(self.shared.pace.look));
        };
        let Status::Ordered { gas_limit } = step.status else {
            return Ok(Step::Wait(self.shared.pace.look));
        };
        let chain = self.shared.chain_of(step.chain_id)?;
        let ends = matches!(
            step.kind,
            StepKind::Principal | StepKind::ApproveReset | StepKind::Approve | StepKind::Call
        );
        let request = Request {
            to: step.to,
            value: alloy_primitives::U256::ZERO,
            input: step.input.clone(),
            gas_limit,
            max_fee_per_gas: None,
            not_after: ends.then_some(intent.not_after),
            confirmations: Some(chain.confirmations()),
        };
        let lane = Lane {
            chain_id: step.chain_id,
            account: intent.wallet,
        };
        let mut watch = self
            .shared
            .sender
            .submit(&intent.key(index), lane, request)
            .await?;
        let record = watch.outcome().await?;
        Ok(match record.state {
            SenderState::Sealed(inclusion) => {
                let at = at(inclusion);
                let received = match step.expects {
                    None => None,
                    Some(expected) => {
                        let moved = chain.moved(
                            expected.token,
                            expected.receiver,
                            at.transaction,
                            at.block(),
                        );
                        match moved.await? {
                            Some(moved) => Some(moved.received),
                            // No node has the receipt in this block now.
                            None => return Ok(Step::Wait(self.shared.pace.look)),
                        }
                    }
                };
                Step::Write(intent.seal(index, at, received)?)
            }
            SenderState::Failed(inclusion) => {
                Step::Write(intent.revert(index, at(inclusion))?.halt("step_reverted")?)
            }
            _ => Step::Write(intent.leave_unsent(index)?.halt(unsent(&record))?),
        })
    }

    /// The intent with a sealed transaction put back whose block is gone.
    pub(super) async fn reopened(&self, intent: &Intent) -> Result<Option<Intent>, Fault> {
        for (index, step) in intent.steps.iter().enumerate() {
            let Status::Sealed { at: known, .. } = step.status else {
                continue;
            };
            let record = self.shared.sender.find(&intent.key(index)).await?;
            let stands = |record: &Record| match record.state {
                SenderState::Sealed(inclusion) => at(inclusion) == known,
                _ => false,
            };
            // A record that is gone was final, and pruned.
            if record.as_ref().is_some_and(|record| !stands(record)) {
                tracing::warn!(intent = %intent.id, step = index, "a transaction of an action has lost its block");
                return Ok(Some(intent.reopen(index)?));
            }
        }
        Ok(None)
    }
}

fn unsent(record: &Record) -> &'static str {
    match record.closing {
        Some(tx_sender::Closing::Expired) => "deadline_passed",
        Some(tx_sender::Closing::Cancelled) => "cancelled",
        Some(tx_sender::Closing::Refused(_)) => "step_refused_by_nodes",
        _ => "step_not_sent",
    }
}

const fn at(inclusion: Inclusion) -> At {
    At {
        transaction: inclusion.hash,
        number: inclusion.number,
        block: inclusion.block,
    }
}
