//! The state of a transaction at the broker: the query, the polling, and the reconciliation of a
//! payment.

use serde::Deserialize;
use tokio::time::Instant;
use x402_wire::{Payment, Reason};

use super::Okx;
use super::envelope::{Opened, open};
use super::malformed;
use crate::answer;
use crate::reason::is_used;
use crate::text::clip;
use crate::{Cause, Malformation, Receipt, Reconciliation, RemoteCall, Settlement, Settler as _};

/// The `data` of `GET /settle/status`. Members that do not apply are null.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatusBody {
    error_reason: Option<String>,
    payer: Option<String>,
    network: Option<String>,
    status: Option<String>,
}

/// How far a transaction is, by the broker's answer.
#[derive(Debug)]
enum Progress {
    Success,
    Failed(Reason),
    Open(String),
}

impl Okx {
    /// Asks for the state of a transaction until it is final or the budget of time is used up.
    pub(super) async fn poll(
        &self,
        payment: &Payment,
        transaction: String,
        state: String,
    ) -> Settlement {
        let deadline = Instant::now() + self.timeouts.poll_budget;
        tracing::info!(key = %payment.key(), %transaction, %state, "settlement open, polling its state");
        loop {
            let cause = match self.status(payment, &transaction).await {
                Ok(Progress::Success) => {
                    return Settlement::Settled(Receipt {
                        status: Some("success".to_owned()),
                        ..Receipt::of(payment, transaction)
                    });
                }
                // The transaction failed because another transaction had used the authorization.
                Ok(Progress::Failed(reason)) if is_used(&reason) => {
                    return Settlement::Unknown {
                        transaction: Some(transaction),
                        cause: Cause::UsedElsewhere,
                    };
                }
                Ok(Progress::Failed(reason)) => return Settlement::rejected(reason),
                Ok(Progress::Open(state)) => Cause::Pending {
                    call: RemoteCall::SettleStatus,
                    state,
                },
                Err(cause) => cause,
            };
            let next = Instant::now() + self.timeouts.poll_interval;
            if next > deadline {
                return Settlement::Unknown {
                    transaction: Some(transaction),
                    cause,
                };
            }
            tokio::time::sleep_until(next).await;
        }
    }

    async fn status(&self, payment: &Payment, transaction: &str) -> Result<Progress, Cause> {
        let call = RemoteCall::SettleStatus;
        if !is_hash(transaction) {
            return Err(Cause::Malformed {
                call,
                detail: Malformation::TransactionHash,
            });
        }
        let reply = self
            .get(call, "/settle/status", &format!("?txHash={transaction}"))
            .await?;
        let data = match open(call, &reply)? {
            Opened::Data(data) => data,
            Opened::Refused { reason, .. } => {
                return Err(Cause::Broker {
                    call,
                    code: reason.as_str().to_owned(),
                });
            }
        };
        let body: StatusBody = serde_json::from_str(data.get()).map_err(|_| malformed(call))?;
        body.contradiction(payment).map_or(Ok(()), Err)?;
        Ok(match body.status.as_deref() {
            Some(state) if answer::is_finished(state) => Progress::Success,
            Some("failed") => Progress::Failed(
                body.error_reason
                    .as_deref()
                    .map_or(Reason::TransactionFailed, Reason::from),
            ),
            state => Progress::Open(clip(
                state
                    .or(body.error_reason.as_deref())
                    .unwrap_or("unnamed state"),
            )),
        })
    }

    /// Asks for the state of the known transaction. Without one, or when the broker does not know
    /// it, sends the identical settlement again.
    pub(super) async fn look_up(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
    ) -> Reconciliation {
        if let Some(hash) = transaction.filter(|text| is_hash(text)) {
            let undecided = |cause| Reconciliation::Undecided {
                transaction: Some(hash.to_owned()),
                cause,
            };
            match self.status(payment, hash).await {
                Ok(Progress::Success) => {
                    return Reconciliation::Settled(Receipt {
                        status: Some("success".to_owned()),
                        ..Receipt::of(payment, hash)
                    });
                }
                Ok(Progress::Failed(reason)) if is_used(&reason) => {
                    return undecided(Cause::UsedElsewhere);
                }
                Ok(Progress::Failed(reason)) => return Reconciliation::NotSettled { reason },
                Ok(Progress::Open(state)) if state != "not_found" => {
                    return undecided(Cause::Pending {
                        call: RemoteCall::SettleStatus,
                        state,
                    });
                }
                Ok(Progress::Open(_)) => {}
                Err(cause) => return undecided(cause),
            }
        }
        answer::after_resend(self.settle(payment).await, transaction)
    }
}

impl StatusBody {
    fn contradiction(&self, payment: &Payment) -> Option<Cause> {
        let network = payment.requirements().network.to_string();
        let payer = payment.payer().to_string();
        [
            ("network", &self.network, network),
            ("payer", &self.payer, payer),
        ]
        .into_iter()
        .find_map(|(member, observed, expected)| {
            let observed = observed.as_deref().filter(|text| !text.is_empty())?;
            (!observed.eq_ignore_ascii_case(&expected)).then(|| Cause::Contradiction {
                call: RemoteCall::SettleStatus,
                member,
                expected,
                observed: clip(observed),
            })
        })
    }
}

/// Whether the text is a transaction hash: `0x` and 64 hexadecimal digits.
pub(super) fn is_hash(text: &str) -> bool {
    exact::parse_hex_array::<32>(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_hash_goes_into_a_query() {
        assert!(is_hash(&format!("0x{}", "aB".repeat(32))));
        for text in [
            "",
            "0x",
            "0xabc",
            &"a".repeat(66),
            &format!("0x{}&", "a".repeat(63)),
        ] {
            assert!(!is_hash(text), "{text}");
        }
    }
}
