//! Decides settlements whose outcome is unknown.

use tx_sender::State;
use x402_wire::{Payment, Reason, Scheme};

use super::OnchainSettler;
use super::transactions::Known;
use crate::answer;
use crate::chain::{Finding, RECEIPT};
use crate::{Cause, Reconciliation, Settler as _};

impl OnchainSettler {
    /// Decides a payment whose outcome is unknown ([`Settler::reconcile`]). Reads the records
    /// first, then the chain. When the authorization is unused, it may send a new transaction.
    pub(super) async fn decide(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
        now: u64,
    ) -> Reconciliation {
        // Higher fees give a transaction another hash. The records know the hash that counts.
        let record = match self.known(payment).await {
            Ok(Known::Attempt(record)) => Some(record),
            Ok(Known::Next(_)) => None,
            Err(cause) => {
                let transaction = transaction.map(str::to_owned);
                return Reconciliation::Undecided { transaction, cause };
            }
        };
        let hash = record.as_ref().and_then(|record| record.hash());
        let hash = hash.map(|hash| hash.to_string());
        let transaction = hash.as_deref().or(transaction);
        let undecided = |cause| Reconciliation::Undecided {
            transaction: transaction.map(str::to_owned),
            cause,
        };
        // Another mode has stored this payment with the broker. The broker's batch does not use
        // this authorization.
        if payment.scheme() == Scheme::AggrDeferred {
            return undecided(Cause::inconclusive(&Reason::UnsupportedScheme)).ended(payment, now);
        }
        let finding = match self.chain.find(payment, transaction).await {
            Ok(Finding::Settled(receipt)) => return Reconciliation::Settled(receipt),
            Ok(finding) => finding,
            // The node has no logs of that time, and will not have them later.
            Err(cause @ Cause::NotLocated) => return undecided(cause).ended(payment, now),
            Err(cause) => return undecided(cause),
        };
        match self.failed(payment, transaction).await {
            // The transaction that used the authorization shows the reason.
            Ok(Some(Reconciliation::Failed { transaction, .. }))
                if matches!(finding, Finding::Spent) =>
            {
                return Reconciliation::Failed {
                    transaction,
                    reason: Reason::Cancelled,
                };
            }
            Ok(Some(failed)) => return failed,
            Ok(None) => {}
            Err(cause) => return undecided(cause),
        }
        match finding {
            Finding::Spent => {
                return Reconciliation::NotSettled {
                    reason: Reason::Cancelled,
                };
            }
            Finding::Expired => {
                return Reconciliation::NotSettled {
                    reason: Reason::InvalidExactEvmPayloadAuthorizationValidBefore,
                };
            }
            Finding::Settled(_) | Finding::Open => {}
        }
        // The authorization is unused and can still be used. The sender's pending transaction
        // reaches a block, or another end, without help.
        if record.is_some_and(|record| !matches!(record.state, State::Prepared)) {
            return undecided(Cause::Pending {
                call: RECEIPT,
                state: "waiting for a block".to_owned(),
            });
        }
        // The transaction is not in the records. If it is pending, waiting is better: a second one
        // would only waste gas.
        if let Some(hash) = transaction.and_then(|text| text.parse().ok()) {
            match self.waits(hash).await {
                Ok(true) => {
                    let state = "waiting for a block".to_owned();
                    return undecided(Cause::Pending {
                        call: RECEIPT,
                        state,
                    });
                }
                Ok(false) => {}
                Err(cause) => return undecided(cause),
            }
        }
        // An earlier transaction may have made the authorization public, so a refusal does not end
        // the payment.
        answer::after_resend(self.settle(payment).await, transaction).reopened()
    }
}
