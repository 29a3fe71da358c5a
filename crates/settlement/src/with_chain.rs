//! A remote settler whose statements are compared with the chain.

use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use tokio::time::Instant;
use x402_wire::{Authorization, AuthorizationKey, Payment, Reason, Scheme, SignatureStanding};

use crate::chain::{Finding, Proof, RECEIPT};
use crate::reason::may_have_settled;
use crate::{
    Cause, ChainReader, Malformation, Readiness, Receipt, Reconciliation, Settlement, Settler,
    Timeouts, Verification,
};

/// A facilitator or broker (the backend), together with a chain reader if there is one.
///
/// Without a reader it behaves like the backend alone. With a reader:
/// - A payment is valid only when the chain agrees, because a facilitator may call a used
///   authorization valid.
/// - A signature that cannot be checked offline is checked on the chain before the backend is
///   asked.
/// - A receipt counts when its transaction is in a canonical block and shows the transfer.
/// - A refused settlement counts as refused only when the authorization is used or over, because
///   the backend still has it.
/// - The chain decides a reconciliation. The backend is asked only to settle an unused
///   authorization.
#[derive(Debug)]
pub struct WithChain<B> {
    backend: B,
    chain: Option<ChainReader>,
    timeouts: Timeouts,
}

impl<B: Settler> WithChain<B> {
    /// Combines a backend with a chain reader. Two of the time limits are used: `receipt` limits
    /// the wait for a transaction that the backend names, and `poll_interval` is the time between
    /// two reads.
    #[must_use]
    pub fn new(backend: B, chain: Option<ChainReader>, timeouts: Timeouts) -> Self {
        Self {
            backend,
            chain,
            timeouts,
        }
    }

    /// Returns the chain reader.
    #[must_use]
    pub fn chain(&self) -> Option<&ChainReader> {
        self.chain.as_ref()
    }

    /// Returns the chain reader, if the chain can judge the payment. A deferred payment comes on
    /// the chain only with its batch, so the chain cannot contradict the backend about it.
    fn judge(&self, payment: &Payment) -> Option<&ChainReader> {
        self.chain
            .as_ref()
            .filter(|_| payment.scheme() == Scheme::Exact)
    }

    /// Waits until the chain shows the transaction that the backend reported.
    async fn confirmed(
        &self,
        chain: &ChainReader,
        payment: &Payment,
        receipt: Receipt,
    ) -> Settlement {
        let after = self.timeouts.receipt;
        let deadline = Instant::now() + after;
        loop {
            let seen = look(chain, payment, &receipt.transaction);
            let open = match tokio::time::timeout_at(deadline, seen).await {
                Ok(Ok(Seen::Paid)) => return Settlement::Settled(receipt),
                Ok(Ok(Seen::PaidBy(other))) => return Settlement::Settled(*other),
                Ok(Ok(Seen::Otherwise(cause))) => return unknown(receipt, cause),
                Ok(Ok(Seen::NotYet)) | Err(_) => Cause::Timeout {
                    call: RECEIPT,
                    after,
                },
                Ok(Err(cause)) => cause,
            };
            // A chain makes its next block in about a second, so more frequent reads show nothing
            // new.
            let pause = self.timeouts.poll_interval.max(Duration::from_millis(1));
            let next = Instant::now() + pause;
            if next > deadline {
                return unknown(receipt, open);
            }
            tokio::time::sleep_until(next).await;
        }
    }
}

/// The outcome of a reported settlement, as the chain shows it.
enum Seen {
    /// The reported transaction has made the payment.
    Paid,
    /// Another transaction has made the payment.
    PaidBy(Box<Receipt>),
    /// The reported transaction, or another use of the authorization, did not make the payment.
    Otherwise(Cause),
    /// The chain shows nothing yet.
    NotYet,
}

async fn look(chain: &ChainReader, payment: &Payment, transaction: &str) -> Result<Seen, Cause> {
    let no_transfer = || {
        Seen::Otherwise(Cause::Malformed {
            call: RECEIPT,
            detail: Malformation::NoTransfer,
        })
    };
    let named = match transaction.parse::<B256>() {
        Ok(hash) => chain.prove(payment, hash).await?,
        Err(_) => None,
    };
    match named {
        Some(Proof::Paid) => return Ok(Seen::Paid),
        Some(Proof::Spent | Proof::Nothing) => return Ok(no_transfer()),
        None => {}
    }
    if !chain.authorization_used(&payment.key()).await? {
        return Ok(Seen::NotYet);
    }
    // The authorization is used, though not by the named transaction, or not yet visibly so.
    Ok(match chain.find(payment, None).await {
        Ok(Finding::Settled(receipt)) => Seen::PaidBy(Box::new(receipt)),
        Ok(Finding::Spent) => no_transfer(),
        Ok(Finding::Open | Finding::Expired) | Err(Cause::NotLocated) => Seen::NotYet,
        Err(cause) => return Err(cause),
    })
}

fn unknown(receipt: Receipt, cause: Cause) -> Settlement {
    Settlement::Unknown {
        transaction: Some(receipt.transaction),
        cause,
    }
}

impl<B: Settler> Settler for WithChain<B> {
    async fn supports(&self, scheme: Scheme) -> Verification {
        self.backend.supports(scheme).await
    }

    fn reads_chain(&self) -> bool {
        self.chain.is_some()
    }

    async fn accepts_wallet(&self, payer: Address) -> Result<bool, Cause> {
        match &self.chain {
            Some(chain) => chain.has_code(payer).await,
            None => Ok(false),
        }
    }

    async fn verify(&self, payment: &Payment, committed: U256, now: u64) -> Verification {
        let Some(chain) = &self.chain else {
            return self.backend.verify(payment, committed, now).await;
        };
        let standing = payment.check_signature();
        if standing != Ok(SignatureStanding::Recovered) {
            // Anybody can write any number of such signatures. So each question is asked only after
            // the cheaper one before it was answered.
            if let (Err(invalid), None) = (standing, payment.wallet_signature()) {
                return Verification::invalid(invalid.reason());
            }
            let supported = self.supports(payment.scheme()).await;
            if supported != Verification::Valid {
                return supported;
            }
            return match chain.verify(payment, committed).await {
                Verification::Valid => self.backend.verify(payment, committed, now).await,
                refused => refused,
            };
        }
        let (chain, backend) = tokio::join!(
            chain.verify(payment, committed),
            self.backend.verify(payment, committed, now)
        );
        match (chain, backend) {
            (invalid @ Verification::Invalid { .. }, _) => invalid,
            (_, invalid @ Verification::Invalid { .. }) => invalid,
            (Verification::Valid, backend) => backend,
            (unavailable, _) => unavailable,
        }
    }

    async fn proves_signer(&self, payment: &Payment) -> Result<bool, Cause> {
        match &self.chain {
            Some(chain) => chain.proves_signer(payment).await,
            None => self.backend.proves_signer(payment).await,
        }
    }

    async fn settle(&self, payment: &Payment) -> Settlement {
        let outcome = self.backend.settle(payment).await;
        let Some(chain) = self.judge(payment) else {
            return outcome;
        };
        match outcome {
            Settlement::Settled(receipt) => self.confirmed(chain, payment, receipt).await,
            Settlement::Rejected { reason, message } => {
                refused(chain, payment, reason, message).await
            }
            // Without a chain, such a refusal would decide nothing.
            Settlement::Unknown {
                transaction: None,
                cause: Cause::Inconclusive { reason, .. },
            } => refused(chain, payment, Reason::from(reason.as_str()), None).await,
            other => other,
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
        let undecided = |cause| Reconciliation::Undecided {
            transaction: transaction.map(str::to_owned),
            cause,
        };
        match chain.find(payment, transaction).await {
            Ok(Finding::Settled(receipt)) => Reconciliation::Settled(receipt),
            Ok(Finding::Spent) => Reconciliation::NotSettled {
                reason: Reason::Cancelled,
            },
            Ok(Finding::Expired) => Reconciliation::NotSettled {
                reason: Reason::InvalidExactEvmPayloadAuthorizationValidBefore,
            },
            Ok(Finding::Open) => match backend().await {
                Reconciliation::Settled(receipt) => reported(chain, payment, receipt).await,
                open => open.reopened(),
            },
            // The node has no logs of that time, and will not have them later.
            Err(cause @ Cause::NotLocated) => undecided(cause).ended(payment, now),
            Err(cause) => undecided(cause),
        }
    }

    async fn is_void(&self, key: &AuthorizationKey, valid_before: U256) -> Result<bool, Cause> {
        match &self.chain {
            Some(chain) => chain.is_void(key, valid_before).await,
            None => Ok(false),
        }
    }

    async fn is_spent(
        &self,
        key: &AuthorizationKey,
        authorization: &Authorization,
    ) -> Result<bool, Cause> {
        match &self.chain {
            Some(chain) => chain.is_spent(key, authorization).await,
            None => Ok(false),
        }
    }

    async fn paid_by(
        &self,
        key: &AuthorizationKey,
        authorization: &Authorization,
    ) -> Result<Option<String>, Cause> {
        match &self.chain {
            Some(chain) => chain.paid_by(key, authorization).await,
            None => Ok(None),
        }
    }

    async fn readiness(&self) -> Readiness {
        let Some(chain) = &self.chain else {
            return self.backend.readiness().await;
        };
        let chain = async {
            chain.confirm().await?;
            chain.check_clock().await
        };
        match chain.await {
            Ok(()) => self.backend.readiness().await,
            Err(reason) => Readiness::NotReady { reason },
        }
    }
}

/// Checks a settlement that the backend reports during a reconciliation. It does not wait for the
/// transaction, because the payment can be reconciled again.
async fn reported(chain: &ChainReader, payment: &Payment, receipt: Receipt) -> Reconciliation {
    let cause = match look(chain, payment, &receipt.transaction).await {
        Ok(Seen::Paid) => return Reconciliation::Settled(receipt),
        Ok(Seen::PaidBy(other)) => return Reconciliation::Settled(*other),
        Ok(Seen::Otherwise(cause)) | Err(cause) => cause,
        Ok(Seen::NotYet) => Cause::Pending {
            call: RECEIPT,
            state: "not in a canonical block".to_owned(),
        },
    };
    Reconciliation::Undecided {
        transaction: Some(receipt.transaction),
        cause,
    }
}

/// Compares a backend's refusal with the chain. The backend still has the authorization. Until the
/// chain shows it as used or over, the money can move, whatever the backend says.
async fn refused(
    chain: &ChainReader,
    payment: &Payment,
    reason: Reason,
    message: Option<String>,
) -> Settlement {
    match chain.find(payment, None).await {
        Ok(Finding::Settled(receipt)) => unknown(receipt, Cause::UsedElsewhere),
        // Our node may be behind the backend's node.
        Ok(Finding::Open) if may_have_settled(&reason) => Settlement::Unknown {
            transaction: None,
            cause: Cause::inconclusive(&reason),
        },
        Ok(Finding::Open) => Settlement::StillOpen { reason, message },
        Ok(Finding::Spent) => Settlement::rejected(Reason::Cancelled),
        Ok(Finding::Expired) => Settlement::Rejected { reason, message },
        Err(cause) => Settlement::Unknown {
            transaction: None,
            cause,
        },
    }
}
