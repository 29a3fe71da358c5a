//! Makes each settlement a transaction of our account: submits it to the sender, and follows it
//! until it counts.

use std::sync::Arc;

use tokio::time::Instant;
use tx_sender::{
    Chain, Hold, Lane, Node, NodeFault, Options, Policy, Record, Request, Sender, SenderError,
    State, Store, TransactionSigner, Watch,
};
use x402_wire::Payment;

use super::OnchainSettler;
use super::queue::Place;
use crate::chain::RECEIPT;
use crate::{Cause, ChainReader, GasPolicy, RemoteCall, Settlement, Timeouts};

/// How often one payment may be tried. A cancellation or a transaction of another party can end an
/// attempt, and then another attempt follows. Every attempt has the same authorization, and the
/// token accepts it only once.
const MAX_ATTEMPTS: u32 = 100;

/// After how many polls the same bytes of a transaction are sent again.
const RESEND_POLLS: u32 = 10;

const SEND: RemoteCall = RemoteCall::Rpc("eth_sendRawTransaction");

/// Makes the sender of our account's transactions on the reader's chain.
pub(super) fn sender(
    chain: &ChainReader,
    signer: Arc<dyn TransactionSigner>,
    timeouts: Timeouts,
    policy: GasPolicy,
    (records, options): (Arc<dyn Store>, Options),
) -> Sender {
    let usual = Policy::default();
    let nodes = chain.rpc().sending_nodes().into_iter();
    let shared = |node| -> Arc<dyn Node> { Arc::new(node) };
    let network = Chain {
        id: chain.network().chain_id(),
        nodes: nodes.map(shared).collect(),
        policy: Policy {
            max_fee_per_gas: policy.max_fee_per_gas,
            confirmations: chain.confirmations(),
            block_time: chain.block_time(),
            poll_interval: timeouts.poll_interval,
            resend_after: timeouts.poll_interval.saturating_mul(RESEND_POLLS),
            ..usual
        },
    };
    Sender::new(records, vec![network], vec![signer], options)
}

/// The state of a payment in the records.
pub(super) enum Known {
    /// An attempt that can still take effect, or has taken effect.
    Attempt(Box<Record>),
    /// There is no such attempt. This is the key of the next one.
    Next(String),
}

impl OnchainSettler {
    pub(super) fn lane(&self) -> Lane {
        Lane {
            chain_id: self.chain.network().chain_id(),
            account: self.account,
        }
    }

    /// Returns the last attempt at the payment. An abandoned attempt does not count, nor one whose
    /// nonce another transaction has used. From now on this process also works on an attempt
    /// without an outcome, because the server that submitted it may have ended.
    pub(super) async fn known(&self, payment: &Payment) -> Result<Known, Cause> {
        let payment = payment.key();
        for attempt in 0..MAX_ATTEMPTS {
            let key = format!("settlement/{payment}/{attempt}");
            match self.sender.find(&key).await.map_err(records)? {
                None => return Ok(Known::Next(key)),
                Some(record) => match record.state {
                    State::Abandoned(_) | State::Replaced(_) => {}
                    _ => {
                        if !record.state.is_outcome() {
                            self.sender.wake(self.lane()).map_err(records)?;
                        }
                        return Ok(Known::Attempt(Box::new(record)));
                    }
                },
            }
        }
        Err(Cause::Pending {
            call: SEND,
            state: format!("given up {MAX_ATTEMPTS} times"),
        })
    }

    /// Records the request durably, then follows it.
    pub(super) async fn send(&self, payment: &Payment, key: &str, request: Request) -> Settlement {
        let (place, since) = (self.queue.enter(), Instant::now());
        match self.sender.submit(key, self.lane(), request).await {
            Ok(watch) => self.follow(payment, watch, Some((place, since))).await,
            // The record may exist nevertheless, and its transaction may be pending.
            Err(error) => Settlement::Unknown {
                transaction: None,
                cause: records(error),
            },
        }
    }

    /// Follows an attempt that was submitted earlier.
    pub(super) async fn resume(&self, payment: &Payment, record: &Record) -> Settlement {
        match self.sender.watch(&record.key).await {
            Ok(watch) => self.follow(payment, watch, None).await,
            Err(error) => Settlement::Unknown {
                transaction: record.hash().map(|hash| hash.to_string()),
                cause: records(error),
            },
        }
    }

    /// Waits until the attempt counts, cannot begin, or takes too long. The sender makes progress
    /// while this waits.
    async fn follow(
        &self,
        payment: &Payment,
        mut watch: Watch,
        mut place: Option<(Place<'_>, Instant)>,
    ) -> Settlement {
        let after = self.timeouts.receipt;
        let deadline = Instant::now() + after;
        let poll = self.timeouts.poll_interval;
        let (mut waited, mut soon) = (false, poll / 10);
        loop {
            let record = watch.record();
            if !matches!(
                record.state,
                State::Prepared | State::Claimed | State::Signed
            ) && let Some((place, since)) = place.take()
            {
                drop(place);
                self.queue.left(since);
            }
            match self.judge(payment, &record, waited).await {
                Some(settlement) => return settlement,
                None if Instant::now() >= deadline => return self.late(payment, &record).await,
                None => {}
            }
            // The attempt has ended, and the node did not answer or is behind. It is read again
            // soon, then less and less often.
            let pause = if record.state.is_outcome() {
                let pause = soon;
                soon = soon.saturating_mul(2).min(poll);
                pause
            } else {
                poll
            };
            let next = (Instant::now() + pause).min(deadline);
            if let Ok(Err(error)) = tokio::time::timeout_at(next, watch.changed()).await {
                tracing::debug!(
                    key = record.key,
                    code = error.code(),
                    "record not readable, asking again"
                );
                tokio::time::sleep_until(next).await;
            }
            waited = true;
        }
    }

    /// Returns the settlement's outcome by the record. `None` while the record does not decide.
    async fn judge(&self, payment: &Payment, record: &Record, waited: bool) -> Option<Settlement> {
        match record.state {
            State::Sealed(inclusion) | State::Failed(inclusion) => {
                let outcome = self.chain.outcome(inclusion.hash).await;
                match outcome {
                    Ok(Some(outcome)) => Some(self.conclude(payment, &outcome).await),
                    Ok(None) => None,
                    Err(cause) => {
                        tracing::debug!(transaction = %inclusion.hash, code = cause.code(), "receipt not readable, asking again");
                        None
                    }
                }
            }
            // The attempt was closed before it got a nonce.
            State::Abandoned(None) => Some(Settlement::NotSent {
                cause: self.held().unwrap_or(Cause::Pending {
                    call: SEND,
                    state: "not sent".to_owned(),
                }),
            }),
            // Another transaction has used the nonce. The authorization may be public.
            State::Abandoned(Some(_)) | State::Replaced(_) => Some(Settlement::Unknown {
                transaction: record.hash().map(|hash| hash.to_string()),
                cause: Cause::Pending {
                    call: SEND,
                    state: record.state.as_str().to_owned(),
                },
            }),
            State::Prepared if waited => {
                let cause = self.held()?;
                let record = self.sender.withdraw(&record.key).await.ok()?;
                let is_withdrawn = record.state == State::Abandoned(None);
                is_withdrawn.then_some(Settlement::NotSent { cause })
            }
            _ if waited && self.records_fail() => self.shown(payment, record).await,
            _ => None,
        }
    }

    /// Whether the records of our account cannot be written. They then do not show what the chain
    /// shows.
    fn records_fail(&self) -> bool {
        matches!(self.sender.status(self.lane()).hold, Some(Hold::Store(_)))
    }

    /// Returns what the chain shows about the last transaction of a record, whatever the record
    /// says.
    async fn shown(&self, payment: &Payment, record: &Record) -> Option<Settlement> {
        let outcome = self.chain.outcome(record.hash()?).await.ok()??;
        Some(self.conclude(payment, &outcome).await)
    }

    /// Ends the waiting without a decision. A request without a nonce is withdrawn; everything else
    /// continues.
    async fn late(&self, payment: &Payment, record: &Record) -> Settlement {
        let cause = Cause::Timeout {
            call: RECEIPT,
            after: self.timeouts.receipt,
        };
        // Another server may have continued the attempt meanwhile.
        let current = self.sender.withdraw(&record.key).await;
        let record = current.as_ref().unwrap_or(record);
        if record.state == State::Abandoned(None) {
            return Settlement::NotSent { cause };
        }
        if let Some(shown) = self.shown(payment, record).await {
            return shown;
        }
        Settlement::Unknown {
            transaction: record.hash().map(|hash| hash.to_string()),
            cause,
        }
    }

    /// Returns why our account's transactions are held back. While another server works on the lane
    /// there is no hold: that server sends what this one submits, or its lease ends.
    fn held(&self) -> Option<Cause> {
        let hold = self.sender.status(self.lane()).hold?;
        Some(match hold {
            // This hold blocks no other transaction.
            Hold::OutcomeUnknown { .. } => return None,
            Hold::NoGas {
                account, balance, ..
            } => Cause::NoGas { account, balance },
            Hold::Nodes(NodeFault::Refused { code, message }) => Cause::Rpc {
                call: SEND,
                code,
                message,
            },
            Hold::Nodes(NodeFault::Unreachable) => Cause::Unreachable { call: SEND },
            Hold::Nodes(NodeFault::Lost { method }) => Cause::Interrupted {
                call: RemoteCall::Rpc(method),
            },
            Hold::Nodes(NodeFault::OtherChain { expected, observed }) => {
                Cause::Chain { expected, observed }
            }
            hold => Cause::Held(Box::new(hold)),
        })
    }
}

pub(super) fn records(error: SenderError) -> Cause {
    Cause::Records(Box::new(error))
}
