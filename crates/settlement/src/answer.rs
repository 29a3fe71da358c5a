//! Reads the answers to `/verify` and `/settle` (x402 v2 sections 7.1 and 7.2). The JSON counts
//! before the HTTP status. An answer that contradicts its payment decides nothing.

use alloy_primitives::{Address, B256};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use x402_wire::{Payment, Reason, Scheme};

use crate::http::Reply;
use crate::reason::{Weight, is_failed, is_used, weight};
use crate::text::{clip, clip_message};
use crate::{Cause, Malformation, Receipt, Reconciliation, RemoteCall, Settlement, Verification};

/// The longest JSON that a facilitator may add to a receipt, in bytes. Receipts travel in a header,
/// so longer JSON is dropped.
const MAX_FOREIGN_JSON: usize = 2_048;

/// The answer to one `/settle` request.
#[derive(Debug)]
pub(crate) enum SettleAnswer {
    /// The outcome.
    Final(Settlement),
    /// The settlement was sent and is not final. The answer is `settlement_pending`, or has a state
    /// of the broker that is not the last one.
    Pending { transaction: String, state: String },
}

/// A settlement as facilitators write it. A member that does not apply is absent, empty or null.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SettleBody {
    success: bool,
    error_reason: Option<String>,
    error_message: Option<String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    transaction: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    network: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    payer: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    amount: String,
    status: Option<String>,
    extensions: Option<Box<RawValue>>,
    extra: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VerifyBody {
    is_valid: bool,
    invalid_reason: Option<String>,
    invalid_message: Option<String>,
    #[serde(default, deserialize_with = "null_is_empty")]
    payer: String,
}

/// Reads an answer to `/verify`.
pub(crate) fn verification(payment: &Payment, reply: &Reply) -> Verification {
    let unavailable = |cause| Verification::Unavailable { cause };
    let Ok(body) = serde_json::from_slice::<VerifyBody>(&reply.body) else {
        return unavailable(not_protocol(RemoteCall::Verify, reply));
    };
    if let Err(cause) = same_payer(RemoteCall::Verify, payment, &body.payer) {
        return unavailable(cause);
    }
    let status = Cause::Status {
        call: RemoteCall::Verify,
        status: reply.status,
    };
    if body.is_valid {
        return if reply.is_success() {
            Verification::Valid
        } else {
            unavailable(status)
        };
    }
    let reason = body
        .invalid_reason
        .as_deref()
        .map_or(Reason::UnexpectedVerifyError, Reason::from);
    if reply.status >= 500 && weight(&reason) == Weight::Vague {
        return unavailable(status);
    }
    Verification::Invalid {
        reason,
        message: body.invalid_message.map(clip_message),
    }
}

/// Reads an answer to `/settle`.
pub(crate) fn settlement(payment: &Payment, reply: &Reply) -> SettleAnswer {
    match serde_json::from_slice::<SettleBody>(&reply.body) {
        Ok(body) => body.read(payment, reply.status),
        Err(_) => unknown(None, not_protocol(RemoteCall::Settle, reply)),
    }
}

impl SettleBody {
    /// Judges a parsed answer. `status` is its HTTP status.
    pub(crate) fn read(self, payment: &Payment, status: u16) -> SettleAnswer {
        let named = (!self.transaction.is_empty()).then(|| clip(&self.transaction));
        if let Err(cause) = self.same_payment(payment) {
            return unknown(named, cause);
        }
        if self.success {
            self.read_success(payment, status)
        } else {
            self.read_refusal(payment, status)
        }
    }

    fn read_success(self, payment: &Payment, status: u16) -> SettleAnswer {
        let named = (!self.transaction.is_empty()).then(|| clip(&self.transaction));
        let malformed = |detail| Cause::Malformed {
            call: RemoteCall::Settle,
            detail,
        };
        if !(200..300).contains(&status) {
            return unknown(named, malformed(Malformation::SuccessWithErrorStatus));
        }
        // A deferred payment is only stored now. It gets its transaction with its batch.
        if payment.scheme() == Scheme::Exact {
            if self.transaction.is_empty() {
                return unknown(None, malformed(Malformation::NoTransaction));
            }
            if self.transaction.parse::<B256>().is_err() {
                return unknown(named, malformed(Malformation::TransactionHash));
            }
        }
        if let Some(reason) = self.error_reason.as_deref().filter(|text| !text.is_empty()) {
            let contradiction = Cause::Contradiction {
                call: RemoteCall::Settle,
                member: "errorReason",
                expected: "nothing beside a success".to_owned(),
                observed: clip(reason),
            };
            return unknown(named, contradiction);
        }
        let transaction = clip(&self.transaction);
        match self.status.as_deref() {
            Some(state) if !state.is_empty() && !is_finished(state) => SettleAnswer::Pending {
                transaction,
                state: clip(state),
            },
            status => SettleAnswer::Final(Settlement::Settled(Receipt {
                status: status.map(clip),
                extensions: self.extensions.filter(|json| is_short(json)),
                extra: self.extra.filter(|json| is_short(json)),
                ..Receipt::of(payment, transaction)
            })),
        }
    }

    fn read_refusal(self, payment: &Payment, status: u16) -> SettleAnswer {
        let reason = self
            .error_reason
            .as_deref()
            .map_or(Reason::UnexpectedSettleError, Reason::from);
        let named = (!self.transaction.is_empty()).then(|| clip(&self.transaction));
        if reason == Reason::SettlementPending {
            let state = reason.as_str().to_owned();
            return match named {
                Some(transaction) => SettleAnswer::Pending { transaction, state },
                None => unknown(
                    None,
                    Cause::Pending {
                        call: RemoteCall::Settle,
                        state,
                    },
                ),
            };
        }
        let call = RemoteCall::Settle;
        let vague = weight(&reason) == Weight::Vague;
        if vague && status >= 500 {
            return unknown(named, Cause::Status { call, status });
        }
        // The broker may have stored a deferred payment before it failed, and no block shows that.
        if vague && payment.scheme() == Scheme::AggrDeferred {
            return unknown(named, Cause::inconclusive(&reason));
        }
        // A transaction that the answer names was broadcast. It may still make the payment, or has
        // made it, unless the reason is its own failure or one that precedes a broadcast.
        if named.is_some() && vague && !is_failed(&reason) {
            return unknown(named, Cause::inconclusive(&reason));
        }
        refused(reason, self.error_message.map(clip_message), named)
    }

    fn same_payment(&self, payment: &Payment) -> Result<(), Cause> {
        let ours = payment.requirements();
        let contradiction = |member, expected: String, observed: &str| Cause::Contradiction {
            call: RemoteCall::Settle,
            member,
            expected,
            observed: clip(observed),
        };
        // A refusal may omit the network; a success may not.
        if (self.success || !self.network.is_empty()) && self.network != ours.network.to_string() {
            return Err(contradiction(
                "network",
                ours.network.to_string(),
                &self.network,
            ));
        }
        same_payer(RemoteCall::Settle, payment, &self.payer)?;
        if self.success
            && !self.amount.is_empty()
            && exact::parse_digits(&self.amount) != Some(ours.amount)
        {
            return Err(contradiction(
                "amount",
                ours.amount.to_string(),
                &self.amount,
            ));
        }
        Ok(())
    }
}

/// Returns what the outcome of a repeated settlement means for the payment. A refusal decides only
/// when no earlier attempt can have succeeded: after a first success, the answer can also be
/// "already used", "insufficient funds" or "expired".
pub(crate) fn after_resend(outcome: Settlement, known: Option<&str>) -> Reconciliation {
    let known = known.map(str::to_owned);
    match outcome {
        Settlement::Settled(receipt) => Reconciliation::Settled(receipt),
        Settlement::Rejected { reason, .. } if weight(&reason) == Weight::Defect => {
            Reconciliation::NotSettled { reason }
        }
        Settlement::Failed {
            transaction,
            reason,
        } => Reconciliation::Failed {
            transaction,
            reason,
        },
        Settlement::Rejected { reason, .. } | Settlement::StillOpen { reason, .. } => {
            Reconciliation::Undecided {
                transaction: known,
                cause: Cause::inconclusive(&reason),
            }
        }
        // This request was not sent, but an earlier one may have been.
        Settlement::NotSent { cause } => Reconciliation::Undecided {
            transaction: known,
            cause,
        },
        Settlement::Unknown { transaction, cause } => Reconciliation::Undecided {
            transaction: transaction.or(known),
            cause,
        },
    }
}

/// Returns the outcome when `/settle` gave no readable answer.
pub(crate) fn unanswered(cause: Cause) -> SettleAnswer {
    if matches!(cause, Cause::Unreachable { .. }) {
        SettleAnswer::Final(Settlement::NotSent { cause })
    } else {
        unknown(None, cause)
    }
}

/// Returns the outcome of a refused settlement. "Already used" is not final: an earlier attempt may
/// have taken the payment, or another party may have sent it.
pub(crate) fn refused(
    reason: Reason,
    message: Option<String>,
    named: Option<String>,
) -> SettleAnswer {
    if is_used(&reason) {
        return unknown(named, Cause::inconclusive(&reason));
    }
    SettleAnswer::Final(Settlement::Rejected { reason, message })
}

/// Whether a state means a finished settlement. `pending`, `timeout` and unknown words do not.
pub(crate) fn is_finished(state: &str) -> bool {
    ["success", "settled", "confirmed", "completed"]
        .iter()
        .any(|word| state.eq_ignore_ascii_case(word))
}

fn is_short(json: &RawValue) -> bool {
    json.get().len() <= MAX_FOREIGN_JSON
}

pub(crate) fn unknown(transaction: Option<String>, cause: Cause) -> SettleAnswer {
    SettleAnswer::Final(Settlement::Unknown { transaction, cause })
}

/// Returns the cause for a body that is not a protocol message.
pub(crate) fn not_protocol(call: RemoteCall, reply: &Reply) -> Cause {
    if reply.is_success() {
        Cause::Malformed {
            call,
            detail: Malformation::Json,
        }
    } else {
        Cause::Status {
            call,
            status: reply.status,
        }
    }
}

fn same_payer(call: RemoteCall, payment: &Payment, observed: &str) -> Result<(), Cause> {
    // Facilitators write addresses in any letter case.
    if observed.is_empty() || observed.parse::<Address>() == Ok(payment.payer()) {
        return Ok(());
    }
    Err(Cause::Contradiction {
        call,
        member: "payer",
        expected: payment.payer().to_string(),
        observed: clip(observed),
    })
}

fn null_is_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests;
