//! Judges a settlement whose transaction is in a canonical block.

use alloy_primitives::B256;
use x402_wire::{Payment, Reason};

use super::OnchainSettler;
use crate::chain::{Finding, Proof, RpcFault, TransactionOutcome, proof};
use crate::reason::is_used;
use crate::{Cause, Receipt, Reconciliation, Settlement};

impl OnchainSettler {
    /// Returns the outcome of our own transaction that is in a canonical block.
    pub(super) async fn conclude(
        &self,
        payment: &Payment,
        outcome: &TransactionOutcome,
    ) -> Settlement {
        let transaction = outcome.transaction_hash.to_string();
        let proof = proof(payment, outcome);
        if proof == Proof::Paid {
            return Settlement::Settled(Receipt::of(payment, transaction));
        }
        let reason = match self.chain.why_refused(payment).await {
            Ok(reason) => named_failure(reason, outcome),
            Err(cause) => return unknown(transaction, cause),
        };
        match self.chain.find(payment, None).await {
            // Another party has sent the same authorization before us.
            Ok(Finding::Settled(receipt)) => unknown(receipt.transaction, Cause::UsedElsewhere),
            // Two nodes may share one address, and one of them may be behind.
            Ok(Finding::Open) if is_used(&reason) => {
                unknown(transaction, Cause::inconclusive(&reason))
            }
            Ok(Finding::Spent) => Settlement::Failed {
                transaction,
                reason: Reason::Cancelled,
            },
            Ok(Finding::Open | Finding::Expired) => Settlement::Failed {
                transaction,
                reason,
            },
            Err(cause) => unknown(transaction, cause),
        }
    }

    /// Returns the failure of our own transaction for this payment, when it is in a canonical block
    /// and did not make the payment. It is not sent again. `None` in every other case.
    pub(super) async fn failed(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
    ) -> Result<Option<Reconciliation>, Cause> {
        let Some(hash) = transaction.and_then(|text| text.parse().ok()) else {
            return Ok(None);
        };
        let outcome = self.chain.outcome(hash).await?;
        let ours = outcome.filter(|outcome| outcome.from == Some(self.address()));
        let Some(outcome) = ours.filter(|outcome| proof(payment, outcome) != Proof::Paid) else {
            return Ok(None);
        };
        let reason = self.chain.why_refused(payment).await?;
        Ok(Some(Reconciliation::Failed {
            transaction: hash.to_string(),
            reason: named_failure(reason, &outcome),
        }))
    }

    /// Whether the node has the transaction, and no block that counts contains it.
    pub(super) async fn waits(&self, hash: B256) -> Result<bool, Cause> {
        let known = self.chain.rpc().knows(hash).await;
        Ok(known.map_err(RpcFault::cause)? && self.chain.outcome(hash).await?.is_none())
    }
}

/// Returns the reason of a failed transaction: the reason why the token would refuse the payment
/// now, or a general one when the token states none.
fn named_failure(reason: Reason, outcome: &TransactionOutcome) -> Reason {
    match reason {
        Reason::InvalidExactEvmTransactionSimulationFailed if outcome.succeeded() => {
            Reason::InvalidExactEvmTransferEventMismatch
        }
        Reason::InvalidExactEvmTransactionSimulationFailed => Reason::TransactionFailed,
        other => other,
    }
}

fn unknown(transaction: String, cause: Cause) -> Settlement {
    Settlement::Unknown {
        transaction: Some(transaction),
        cause,
    }
}
