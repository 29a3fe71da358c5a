//! A remote settler whose word is compared with the chain.

use alloy_primitives::B256;
use x402_wire::{Payment, Reason, Scheme, SignatureStanding};

use crate::answer::inconclusive;
use crate::chain::{Finding, Proof, RECEIPT};
use crate::reason::{Weight, is_used, weight};
use crate::{
    Cause, ChainReader, Malformation, Readiness, Reconciliation, Settlement, Settler, Verification,
};

/// A facilitator or broker together with a chain reader, when there is one.
///
/// Without a reader it is the backend as it is. With one:
/// - a payment is valid only when the chain agrees: a facilitator may call a spent authorization valid;
/// - a signature that cannot be checked here is shown to the chain before the backend hears of it;
/// - a receipt whose transaction is on chain must show the transfer;
/// - a refusal that leaves doubt is looked up before it counts;
/// - reconciliation is decided by the chain, and the backend is only asked to settle what is unused.
#[derive(Debug)]
pub struct WithChain<B> {
    backend: B,
    chain: Option<ChainReader>,
}

impl<B: Settler> WithChain<B> {
    /// Puts a chain reader beside a backend.
    #[must_use]
    pub fn new(backend: B, chain: Option<ChainReader>) -> Self {
        Self { backend, chain }
    }

    /// The chain reader.
    #[must_use]
    pub fn chain(&self) -> Option<&ChainReader> {
        self.chain.as_ref()
    }

    /// A deferred payment is on chain only with its batch, so the chain cannot contradict the backend.
    fn judge(&self, payment: &Payment) -> Option<&ChainReader> {
        self.chain
            .as_ref()
            .filter(|_| payment.scheme() == Scheme::Exact)
    }
}

impl<B: Settler> Settler for WithChain<B> {
    async fn supports(&self, scheme: Scheme) -> Verification {
        self.backend.supports(scheme).await
    }

    async fn verify(&self, payment: &Payment, now: u64) -> Verification {
        let Some(chain) = &self.chain else {
            return self.backend.verify(payment, now).await;
        };
        let standing = match payment.check_signature() {
            Ok(standing) => standing,
            Err(invalid) => return Verification::invalid(invalid.reason()),
        };
        if standing != SignatureStanding::Recovered {
            // Anybody can write such a signature, in any number: each question is only asked when the
            // cheaper one before it has been answered.
            let supported = self.supports(payment.scheme()).await;
            if supported != Verification::Valid {
                return supported;
            }
            return match chain.verify_with(payment, standing).await {
                Verification::Valid => self.backend.verify(payment, now).await,
                refused => refused,
            };
        }
        let (chain, backend) = tokio::join!(
            chain.verify_with(payment, standing),
            self.backend.verify(payment, now)
        );
        match (chain, backend) {
            (invalid @ Verification::Invalid { .. }, _) => invalid,
            (_, invalid @ Verification::Invalid { .. }) => invalid,
            (Verification::Valid, backend) => backend,
            (unavailable, _) => unavailable,
        }
    }

    async fn settle(&self, payment: &Payment) -> Settlement {
        let outcome = self.backend.settle(payment).await;
        let Some(chain) = self.judge(payment) else {
            return outcome;
        };
        match outcome {
            Settlement::Settled(receipt) => {
                match contradiction(chain, payment, &receipt.transaction).await {
                    None => Settlement::Settled(receipt),
                    Some(cause) => Settlement::Unknown {
                        transaction: Some(receipt.transaction),
                        cause,
                    },
                }
            }
            Settlement::Rejected { reason, message } => {
                doubt(chain, payment, reason, message).await
            }
            open @ (Settlement::NotSent { .. } | Settlement::Unknown { .. }) => open,
        }
    }

    async fn reconcile(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
        now: u64,
    ) -> Reconciliation {
        let backend = || self.backend.reconcile(payment, transaction, now);
        let Some(chain) = self.judge(payment) else {
            return backend().await;
        };
        match chain.find(payment, transaction).await {
            Ok(Finding::Settled(receipt)) => Reconciliation::Settled(receipt),
            Ok(Finding::Spent) => Reconciliation::NotSettled {
                reason: Reason::InvalidExactEvmNonceAlreadyUsed,
            },
            Ok(Finding::Expired) => Reconciliation::NotSettled {
                reason: Reason::InvalidExactEvmPayloadAuthorizationValidBefore,
            },
            Ok(Finding::Open) => match backend().await {
                Reconciliation::Settled(receipt) => {
                    match contradiction(chain, payment, &receipt.transaction).await {
                        None => Reconciliation::Settled(receipt),
                        Some(cause) => Reconciliation::Undecided {
                            transaction: Some(receipt.transaction),
                            cause,
                        },
                    }
                }
                decided_or_open => decided_or_open,
            },
            Err(cause) => Reconciliation::Undecided {
                transaction: transaction.map(str::to_owned),
                cause,
            },
        }
    }

    async fn readiness(&self) -> Readiness {
        let Some(chain) = &self.chain else {
            return self.backend.readiness().await;
        };
        match chain.confirm().await {
            Ok(()) => self.backend.readiness().await,
            Err(reason) => Readiness::NotReady { reason },
        }
    }
}

/// Whether the transaction of a receipt is on chain and did not make this payment. One that is not on chain
/// yet, or a node that does not answer, contradicts nothing: nodes lag behind each other.
async fn contradiction(chain: &ChainReader, payment: &Payment, transaction: &str) -> Option<Cause> {
    let hash: B256 = transaction.parse().ok()?;
    match chain.prove(payment, hash).await {
        Ok(Some(Proof::Paid) | None) => None,
        Ok(Some(Proof::Spent | Proof::Nothing)) => Some(Cause::Malformed {
            call: RECEIPT,
            detail: Malformation::NoTransfer,
        }),
        Err(cause) => {
            tracing::warn!(key = %payment.key(), code = cause.code(), "the receipt could not be compared with the chain");
            None
        }
    }
}

/// A refusal after which the authorization may nevertheless be used: by the attempt that "failed", or by
/// somebody who sent the caller's authorization before the backend did.
pub(crate) async fn doubt(
    chain: &ChainReader,
    payment: &Payment,
    reason: Reason,
    message: Option<String>,
) -> Settlement {
    if weight(&reason) != Weight::Vague && !is_used(&reason) {
        return Settlement::Rejected { reason, message };
    }
    match chain.find(payment, None).await {
        Ok(Finding::Settled(receipt)) => Settlement::Unknown {
            transaction: Some(receipt.transaction),
            cause: Cause::UsedElsewhere,
        },
        // Our node may be behind the one that the refusal comes from.
        Ok(Finding::Open) if may_have_settled(&reason) => Settlement::Unknown {
            transaction: None,
            cause: inconclusive(&reason),
        },
        Ok(Finding::Spent | Finding::Open | Finding::Expired) => {
            Settlement::Rejected { reason, message }
        }
        Err(cause) => Settlement::Unknown {
            transaction: None,
            cause,
        },
    }
}

/// The refusal is also what a settlement looks like that has succeeded. A transaction that failed is not: it
/// has used nothing.
fn may_have_settled(reason: &Reason) -> bool {
    is_used(reason) || matches!(reason, Reason::UnexpectedSettleError | Reason::Other(_))
}
