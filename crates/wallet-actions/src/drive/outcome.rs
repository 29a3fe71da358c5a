//! Follows a transaction that the sender has got.

use gas_funding::{Funds, Workload, demanded};
use tx_sender::{Inclusion, Lane, Record, Request, State as SenderState, TurnFence};

use super::order::COINS_COMING;
use super::{Driver, Fault, Step, note_hold};
use crate::Shared;
use crate::intent::{At, CANCELLED, Intent, Lost, Status};

impl Driver {
    /// Gives the transaction to the sender, unless the sender already has a record of it, and waits
    /// for its outcome. The sender identifies it by its key, so it takes effect at most once.
    pub(super) async fn outcome(
        &self,
        intent: &Intent,
        index: usize,
        turn: Option<TurnFence>,
    ) -> Result<Step, Fault> {
        let Some(step) = intent.steps.get(index) else {
            return Ok(Step::Wait(self.shared.pace.look));
        };
        let Status::Ordered { gas_limit } = step.status else {
            return Ok(Step::Wait(self.shared.pace.look));
        };
        let chain = self.shared.chain_of(step.chain_id)?;
        let ends = !intent.must_go_on(step.kind);
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
        let (sender, key) = (&self.shared.sender, intent.key(index));
        let mut watch = match sender.find(&key).await? {
            // The record may be of a transaction that was cancelled before the sender got it. The
            // sender sends nothing under its key.
            Some(_) => {
                sender.wake(lane)?;
                sender.watch(&key).await?
            }
            None => sender.submit_in_turn(&key, lane, request, turn).await?,
        };
        let record = loop {
            let look = self.shared.pace.after_fault;
            if let Ok(ended) = tokio::time::timeout(look, watch.outcome()).await {
                break ended?;
            }
            let until = watch.record().request.not_after;
            let reason = self.hold_of(intent, lane, turn).await?;
            let held = intent.hold(reason.map(|reason| (reason, until)), self.shared.now())?;
            if held != *intent {
                note_hold(intent, &held);
                return Ok(Step::Write(held));
            }
        };
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
                let reverted = intent.revert(index, at(inclusion))?;
                Step::Write(
                    match self.is_minted(intent, step, inclusion.number).await? {
                        true => reverted.found_minted()?,
                        false => reverted.halt("step_reverted")?,
                    },
                )
            }
            _ => Step::Write(intent.leave_unsent(index)?.halt(unsent(&record))?),
        })
    }

    /// Returns what holds the lane of an ordered transaction up. `None` when nothing does, or when
    /// another server works on the lane. Sends the coins that the transaction lacks, within the
    /// budgets.
    async fn hold_of<'intent>(
        &self,
        intent: &'intent Intent,
        lane: Lane,
        turn: Option<TurnFence>,
    ) -> Result<Option<&'intent str>, Fault> {
        let Some(hold) = self.shared.sender.status(lane).hold else {
            return Ok(None);
        };
        let Some(least) = demanded(&hold) else {
            return Ok(Some(hold.code()));
        };
        let need = (Workload::NONE, least);
        let funds = self.shared.fund(intent, lane.chain_id, need, turn);
        Ok(Some(match funds.await {
            Ok(Funds::Coming) => COINS_COMING,
            Ok(Funds::Missing(why)) => why.code(),
            Ok(Funds::Enough) => hold.code(),
            Err(fault) if fault.is_turn_lost() => return Err(fault),
            Err(fault) => {
                tracing::warn!(intent = %self.id, %fault, "an action gets no coins now");
                // What was found before is still the best that is known.
                let known = intent.held.as_ref();
                known.map_or(hold.code(), |known| known.reason.as_str())
            }
        }))
    }

    /// Returns the intent with its lost transactions back in `ordered`. `None` when no transaction
    /// has lost its block.
    pub(super) async fn reopened(&self, intent: &Intent) -> Result<Option<Intent>, Fault> {
        let (lost, _) = self.shared.lost_steps(intent).await?;
        if lost.is_empty() {
            return Ok(None);
        }
        Ok(Some(intent.reopen(&lost, self.shared.now())?))
    }
}

impl Shared {
    /// Compares the record of the intent with the sender's records. Returns the transactions that
    /// are not where the intent has them, and whether all existing records are final. The sender
    /// prunes only final records, so a missing record counts as final.
    pub(crate) async fn lost_steps(&self, intent: &Intent) -> Result<(Vec<Lost>, bool), Fault> {
        let (mut lost, mut is_final) = (Vec::new(), true);
        for (index, step) in intent.steps.iter().enumerate() {
            let Some(record) = self.sender.find(&intent.key(index)).await? else {
                continue;
            };
            is_final &= record.is_final;
            if !agrees(step.status, &record) {
                tracing::warn!(intent = %intent.id, step = index, "a transaction of an action has lost its block");
                let gas_limit = record.request.gas_limit;
                lost.push(Lost { index, gas_limit });
            }
        }
        Ok((lost, is_final))
    }
}

/// Whether the sender's record agrees with the status in the intent.
fn agrees(status: Status, record: &Record) -> bool {
    match (status, record.state) {
        (Status::Sealed { at: known, .. }, SenderState::Sealed(inclusion))
        | (Status::Reverted { at: known }, SenderState::Failed(inclusion)) => {
            at(inclusion) == known
        }
        (Status::Sealed { .. } | Status::Reverted { .. }, _) => false,
        (Status::Unsent, SenderState::Replaced(_) | SenderState::Abandoned(_)) => true,
        (Status::Unsent, _) => is_never_sent(record),
        (Status::Planned | Status::Ordered { .. } | Status::Skipped, _) => true,
    }
}

/// Whether a record was closed before its request was signed. The sender never signs the request
/// after that.
pub(crate) fn is_never_sent(record: &Record) -> bool {
    let requests = |attempt: &tx_sender::Attempt| attempt.kind == tx_sender::Kind::Request;
    record.closing.is_some() && !record.attempts.iter().any(requests)
}

fn unsent(record: &Record) -> &'static str {
    if let SenderState::Replaced(_) = record.state {
        return "step_displaced";
    }
    match record.closing {
        Some(tx_sender::Closing::Expired) => "deadline_passed",
        Some(tx_sender::Closing::Cancelled) if is_never_sent(record) => CANCELLED,
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
