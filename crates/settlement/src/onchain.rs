//! Settles without a facilitator: sends the authorization to its token from our own account.
//! `tx_sender` signs, sends and watches the transactions; this module checks the payment before and
//! judges the outcome after.

mod funds;
mod gas_policy;
mod outcome;
mod prepare;
mod queue;
mod reconcile;
mod transactions;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use alloy_primitives::{Address, U256};
use secrecy::SecretString;
use tx_sender::{LocalKey, Options, Sender, Store, TransactionSigner};
use x402_wire::{Authorization, AuthorizationKey, Payment, Reason, Scheme};

use self::funds::Funds;
pub use self::gas_policy::GasPolicy;
use self::prepare::Obstacle;
use self::queue::{Place, Queue};
use self::transactions::Known;
use crate::{
    Cause, ChainReader, Readiness, Reconciliation, Settlement, SettlementError, Settler, Timeouts,
    Verification,
};

/// Makes the signer of a key that is in this process.
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
/// Any number of processes may settle from one account and share its records. One of them at a time
/// sends the transactions. Each transaction is recorded before it is sent. Several transactions may
/// be pending at the same time. Their fees follow the market, and each is watched until 64 blocks
/// follow it (see `tx_sender`).
pub struct OnchainSettler {
    chain: ChainReader,
    account: Address,
    sender: Sender,
    queue: Queue,
    funds: Funds,
    /// Settlements that have begun and are not in a block yet. Each may still cost the maximum.
    open: AtomicUsize,
    timeouts: Timeouts,
    policy: GasPolicy,
}

impl OnchainSettler {
    /// Makes a settler that pays its gas from the signer's account. It records its transactions in
    /// `records`, and continues those that an earlier run left open.
    ///
    /// With [`Takeover::WhenOver`](tx_sender::Takeover::WhenOver), other processes may use the
    /// records at the same time. One process at a time sends for all. The others wait for the
    /// outcomes of their payments. When the lease of a dead sender ends, one of them takes over.
    ///
    /// # Errors
    /// [`SettlementError::Records`] when the records cannot be read.
    pub async fn shared(
        chain: ChainReader,
        signer: Arc<dyn TransactionSigner>,
        timeouts: Timeouts,
        policy: GasPolicy,
        records: (Arc<dyn Store>, Options),
    ) -> Result<Self, SettlementError> {
        let account = signer.account();
        let sender = transactions::sender(&chain, signer, timeouts, policy, records);
        match sender.resume().await {
            Ok(0) => {}
            Ok(lanes) => tracing::info!(lanes, "the previous run left transactions open"),
            Err(error) => return Err(SettlementError::Records(Box::new(error))),
        }
        Ok(Self {
            chain,
            account,
            sender,
            queue: Queue::default(),
            funds: Funds::default(),
            open: AtomicUsize::new(0),
            timeouts,
            policy,
        })
    }

    /// Returns the account that pays the gas.
    #[must_use]
    pub fn address(&self) -> Address {
        self.account
    }

    /// Returns the sender of the account's transactions.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Returns the chain reader.
    #[must_use]
    pub fn chain(&self) -> &ChainReader {
        &self.chain
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

    /// Reads the chain's state, and also estimates the settlement as it will be sent: from our
    /// account, with the real fees, and with at most the gas of the cap. The code of a wallet sees
    /// the sender and the gas price, and could answer differently to a call that pays nothing.
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

    async fn proves_signer(&self, payment: &Payment) -> Result<bool, Cause> {
        self.chain.proves_signer(payment).await
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
        self.decide(payment, transaction, now).await
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

    async fn paid_by(
        &self,
        key: &AuthorizationKey,
        authorization: &Authorization,
    ) -> Result<Option<String>, Cause> {
        self.chain.paid_by(key, authorization).await
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

    async fn close(&self) {
        self.sender.close().await;
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

impl std::fmt::Debug for OnchainSettler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnchainSettler")
            .field("account", &self.address())
            .finish_non_exhaustive()
    }
}
