//! Settles without a facilitator: sends the authorization to its token from our own account.

mod funds;
mod prepare;
mod queue;
mod transactions;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use alloy_primitives::{Address, B256, U256};
use secrecy::SecretString;
use tx_sender::{LocalKey, MemoryStore, Sender, State, Store, TransactionSigner};
use x402_wire::{Authorization, AuthorizationKey, Payment, Reason, Scheme};

use self::funds::Funds;
use self::prepare::Obstacle;
use self::queue::{Place, Queue};
use self::transactions::Known;
use crate::answer;
use crate::chain::{Finding, Proof, RECEIPT, RpcFault, TransactionOutcome, proof};
use crate::reason::is_used;
use crate::{
    Cause, ChainReader, Readiness, Receipt, Reconciliation, Settlement, SettlementError, Settler,
    Timeouts, Verification,
};

/// The limits of a settlement's cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GasPolicy {
    /// The most gas that one settlement may use. A payment that needs more is refused before the
    /// work.
    pub gas_cap: u64,
    /// Whether payers with code are served: contract wallets, and accounts that have delegated
    /// (EIP-7702). Their own code runs in the settlement, and our account pays its gas, at most up
    /// to the cap.
    pub contract_wallets: bool,
    /// The highest price of a unit of gas, in wei. While the market is above it, no new transaction
    /// is sent.
    pub max_fee_per_gas: u128,
}

impl Default for GasPolicy {
    /// A transfer with authorization takes 60,000 to 100,000 gas; a wallet with several owners
    /// takes more.
    fn default() -> Self {
        Self {
            gas_cap: 200_000,
            contract_wallets: true,
            max_fee_per_gas: 100_000_000_000,
        }
    }
}

/// A key in this process.
pub(crate) fn local_key(
    text: &SecretString,
) -> Result<Arc<dyn TransactionSigner>, SettlementError> {
    let signer = LocalKey::from_hex(text).map_err(|_| SettlementError::PrivateKey {
        key: "settlement.private_key",
    })?;
    Ok(Arc::new(signer))
}

/// Settles scheme `exact` by sending `transferWithAuthorization` itself (x402 `exact` scheme on
/// EVM, settlement phase; EIP-3009). Scheme `aggr_deferred` needs the broker and is refused.
///
/// One instance owns its key. Its transactions are recorded before they are sent. Several are
/// pending at a time, at fees that follow the market, and each is watched until 64 blocks follow it
/// (see `tx_sender`).
pub struct OnchainSettler {
    chain: ChainReader,
    account: Address,
    sender: Sender,
    queue: Queue,
    funds: Funds,
    /// Settlements that have begun and are not in a block yet: each may still cost the maximum.
    open: AtomicUsize,
    timeouts: Timeouts,
    policy: GasPolicy,
}

impl OnchainSettler {
    /// A settler that pays its gas with `private_key`, 32 bytes as hexadecimal digits, and records
    /// its transactions in memory.
    ///
    /// # Errors
    /// [`SettlementError::PrivateKey`].
    pub fn new(
        chain: ChainReader,
        private_key: &SecretString,
        timeouts: Timeouts,
        policy: GasPolicy,
    ) -> Result<Self, SettlementError> {
        let records = Arc::new(MemoryStore::default());
        let signer = local_key(private_key)?;
        Ok(Self::over(chain, signer, timeouts, policy, records))
    }

    /// Like [`Self::new`], with records that outlive the process. No other process may use them at
    /// the same time.
    ///
    /// # Errors
    /// [`SettlementError::PrivateKey`], and [`SettlementError::Records`] when they cannot be read.
    pub async fn recorded(
        chain: ChainReader,
        private_key: &SecretString,
        timeouts: Timeouts,
        policy: GasPolicy,
        records: Arc<dyn Store>,
    ) -> Result<Self, SettlementError> {
        let signer = local_key(private_key)?;
        Self::signed_by(chain, signer, timeouts, policy, records).await
    }

    /// Like [`Self::recorded`], with a signer that may hold the key elsewhere.
    ///
    /// # Errors
    /// [`SettlementError::Records`] when the records cannot be read.
    pub async fn signed_by(
        chain: ChainReader,
        signer: Arc<dyn TransactionSigner>,
        timeouts: Timeouts,
        policy: GasPolicy,
        records: Arc<dyn Store>,
    ) -> Result<Self, SettlementError> {
        let settler = Self::over(chain, signer, timeouts, policy, records);
        match settler.sender.resume().await {
            Ok(0) => {}
            Ok(lanes) => tracing::info!(lanes, "the previous run left transactions open"),
            Err(error) => return Err(SettlementError::Records(Box::new(error))),
        }
        Ok(settler)
    }

    fn over(
        chain: ChainReader,
        signer: Arc<dyn TransactionSigner>,
        timeouts: Timeouts,
        policy: GasPolicy,
        records: Arc<dyn Store>,
    ) -> Self {
        let account = signer.account();
        let sender = transactions::sender(&chain, signer, timeouts, policy, records);
        Self {
            chain,
            account,
            sender,
            queue: Queue::default(),
            funds: Funds::default(),
            open: AtomicUsize::new(0),
            timeouts,
            policy,
        }
    }

    /// The account that pays the gas.
    #[must_use]
    pub fn address(&self) -> Address {
        self.account
    }

    /// The sender of the account's transactions.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The chain reader.
    #[must_use]
    pub fn chain(&self) -> &ChainReader {
        &self.chain
    }

    async fn conclude(&self, payment: &Payment, outcome: &TransactionOutcome) -> Settlement {
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
            // Another party sent the same authorization before us.
            Ok(Finding::Settled(receipt)) => unknown(receipt.transaction, Cause::UsedElsewhere),
            // Two nodes may share one address, and one of them is behind.
            Ok(Finding::Open) if is_used(&reason) => {
                unknown(transaction, answer::inconclusive(&reason))
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

    /// Handles our own transaction for this payment that is in a canonical block and did not make
    /// the payment: it is not sent again.
    async fn failed(
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

    /// Whether the node has the transaction and no final block contains it.
    async fn waits(&self, hash: B256) -> Result<bool, Cause> {
        let known = self.chain.rpc().knows(hash).await;
        Ok(known.map_err(RpcFault::cause)? && self.chain.outcome(hash).await?.is_none())
    }
}

impl Settler for OnchainSettler {
    async fn supports(&self, scheme: Scheme) -> Verification {
        match scheme {
            Scheme::Exact => Verification::Valid,
            _ => Verification::invalid(Reason::UnsupportedScheme),
        }
    }

    fn reads_chain(&self) -> bool {
        true
    }

    async fn accepts_wallet(&self, payer: Address) -> Result<bool, Cause> {
        Ok(self.policy.contract_wallets && self.chain.has_code(payer).await?)
    }

    /// In addition to the chain's state, the settlement is estimated as it will be sent: from our
    /// account, with the real fees and at most the gas of the cap. A wallet's code sees the sender
    /// and the gas price, and could answer differently to a call that pays nothing.
    async fn verify(&self, payment: &Payment, committed: U256, now: u64) -> Verification {
        let supported = self.supports(payment.scheme()).await;
        if supported != Verification::Valid {
            return supported;
        }
        match self.examine(payment, committed, now).await {
            Ok(()) => Verification::Valid,
            Err(Obstacle::Refused { reason, message }) => Verification::Invalid { reason, message },
            Err(Obstacle::Unreadable(cause)) => Verification::Unavailable { cause },
        }
    }

    fn pays_gas(&self) -> bool {
        true
    }

    async fn affords(&self, others: usize) -> Result<(), Cause> {
        self.affordable(others).await.map(drop)
    }

    async fn settle(&self, payment: &Payment) -> Settlement {
        if payment.scheme() == Scheme::AggrDeferred {
            return Settlement::rejected(Reason::UnsupportedScheme);
        }
        let _open = Place::take(&self.open);
        let key = match self.known(payment).await {
            Ok(Known::Next(key)) => key,
            Ok(Known::Attempt(record)) => return self.resume(payment, &record).await,
            Err(cause) => return Settlement::NotSent { cause },
        };
        match self.prepare(payment).await {
            Ok(request) => self.send(payment, &key, request).await,
            Err(Obstacle::Refused { reason, message }) => {
                self.refused_unsent(payment, reason, message).await
            }
            Err(Obstacle::Unreadable(cause)) => Settlement::NotSent { cause },
        }
    }

    async fn reconcile(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
        now: u64,
    ) -> Reconciliation {
        // Higher fees give a transaction another hash: the records know which hash counts.
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
        // Another mode stored it with the broker, and its batch does not use this authorization.
        if payment.scheme() == Scheme::AggrDeferred {
            return undecided(answer::inconclusive(&Reason::UnsupportedScheme)).ended(payment, now);
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
        // It is unused and still usable. A pending transaction of the sender reaches a block, or
        // another end, by itself.
        if record.is_some_and(|record| !matches!(record.state, State::Prepared)) {
            return undecided(Cause::Pending {
                call: RECEIPT,
                state: "waiting for a block".to_owned(),
            });
        }
        // A transaction outside of the records. A pending one is waited for, because a second one
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
        // it.
        answer::after_resend(self.settle(payment).await, transaction).reopened()
    }

    async fn is_void(&self, key: &AuthorizationKey, valid_before: U256) -> Result<bool, Cause> {
        self.chain.is_void(key, valid_before).await
    }

    async fn is_spent(
        &self,
        key: &AuthorizationKey,
        authorization: &Authorization,
    ) -> Result<bool, Cause> {
        self.chain.is_spent(key, authorization).await
    }

    async fn forget(&self, submitted_before: u64) {
        match self.sender.prune(submitted_before).await {
            Ok(0) => {}
            Ok(records) => tracing::info!(records, "old transactions forgotten"),
            Err(error) => {
                tracing::warn!(code = error.code(), %error, "old transactions cannot be forgotten");
            }
        }
    }

    async fn readiness(&self) -> Readiness {
        let settlements = async {
            self.chain.confirm().await?;
            self.chain.check_clock().await?;
            let funds = self.funds().await?;
            match funds.settlements(self.policy.gas_cap) {
                0 => Err(self.no_gas(funds.balance)),
                left => Ok(left),
            }
        };
        match settlements.await {
            Ok(left) => Readiness::Ready {
                aggr_deferred: false,
                settlements_left: Some(left),
            },
            Err(reason) => Readiness::NotReady { reason },
        }
    }
}

/// The token's present reason for a failure of a moment ago, if it gives one.
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

impl std::fmt::Debug for OnchainSettler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnchainSettler")
            .field("account", &self.address())
            .finish_non_exhaustive()
    }
}
