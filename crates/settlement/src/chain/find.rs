//! Finds the outcome of a payment in canonical blocks: settled, spent, open or expired.

use alloy_primitives::{B256, U256};
use x402_wire::{Authorization, AuthorizationKey, Payment};

use super::proof::{Purpose, of_logs};
use super::{ChainReader, Head, Proof, RpcFault, TransactionOutcome};
use crate::{Cause, Receipt};

/// How many seconds the chain's clock must be past `validBefore` before an unused authorization
/// counts as expired. A reorganisation may replace the last blocks by blocks with earlier times.
const EXPIRY_MARGIN_SECONDS: u64 = 30;

/// The outcome of a payment that may have been settled, as the chain shows it.
#[derive(Debug, Clone)]
pub enum Finding {
    /// The transaction of the receipt has settled the payment.
    Settled(Receipt),
    /// The authorization is used or cancelled, and the seller did not get the money.
    Spent,
    /// The authorization is unused and can still be used.
    Open,
    /// The authorization is unused, and by the chain's own clock it has ended.
    Expired,
}

impl ChainReader {
    /// Returns the outcome of a payment on the chain. It first reads the named transaction, then
    /// the state of the authorization and the logs of its use.
    ///
    /// # Errors
    /// When the chain cannot be read, or the logs do not show the use.
    pub async fn find(
        &self,
        payment: &Payment,
        transaction: Option<&str>,
    ) -> Result<Finding, Cause> {
        self.confirm_for(payment).await?;
        if let Some(hash) = transaction.and_then(|text| text.parse::<B256>().ok())
            && self.prove(payment, hash).await? == Some(Proof::Paid)
        {
            return Ok(Finding::Settled(Receipt::of(payment, hash.to_string())));
        }
        let head = self.rpc().head().await.map_err(RpcFault::cause)?;
        let key = payment.key();
        let valid_before = payment.authorization().valid_before;
        if !self.used_as_of(&key, &head).await? {
            return Ok(if is_over(&head, valid_before) {
                Finding::Expired
            } else {
                Finding::Open
            });
        }
        let search = self.inner.options.log_search;
        let found = search.find(self.rpc(), &key, valid_before, &head).await?;
        let hash = found.ok_or(Cause::NotLocated)?;
        match self.prove(payment, hash).await? {
            Some(Proof::Paid) => Ok(Finding::Settled(Receipt::of(payment, hash.to_string()))),
            Some(Proof::Spent) => Ok(Finding::Spent),
            Some(Proof::Nothing) | None => Err(Cause::NotLocated),
        }
    }

    /// Implements [`Settler::is_void`](crate::Settler::is_void).
    pub(crate) async fn is_void(
        &self,
        key: &AuthorizationKey,
        valid_before: U256,
    ) -> Result<bool, Cause> {
        if key.network != self.network() {
            return Ok(false);
        }
        self.confirm_chain().await?;
        let head = self.rpc().head().await.map_err(RpcFault::cause)?;
        if !is_over(&head, valid_before) {
            return Ok(false);
        }
        Ok(!self.used_as_of(key, &head).await?)
    }

    /// Implements [`Settler::is_spent`](crate::Settler::is_spent).
    pub(crate) async fn is_spent(
        &self,
        key: &AuthorizationKey,
        authorization: &Authorization,
    ) -> Result<bool, Cause> {
        let used = self.use_of(key, authorization).await?;
        Ok(used.is_some_and(|(_, proof)| proof == Proof::Spent))
    }

    /// Implements [`Settler::paid_by`](crate::Settler::paid_by).
    pub(crate) async fn paid_by(
        &self,
        key: &AuthorizationKey,
        authorization: &Authorization,
    ) -> Result<Option<String>, Cause> {
        let used = self.use_of(key, authorization).await?;
        let paid = used.filter(|(_, proof)| *proof == Proof::Paid);
        Ok(paid.map(|(hash, _)| hash.to_string()))
    }

    /// Returns the transaction in a canonical block that used the authorization, and what it
    /// proves.
    async fn use_of(
        &self,
        key: &AuthorizationKey,
        authorization: &Authorization,
    ) -> Result<Option<(B256, Proof)>, Cause> {
        if key.network != self.network() {
            return Ok(None);
        }
        self.confirm_chain().await?;
        let head = self.rpc().head().await.map_err(RpcFault::cause)?;
        if !self.used_as_of(key, &head).await? {
            return Ok(None);
        }
        let (search, end) = (self.inner.options.log_search, authorization.valid_before);
        let Some(hash) = search.find(self.rpc(), key, end, &head).await? else {
            return Ok(None);
        };
        let purpose = Purpose::named(key, authorization);
        let outcome = self.outcome(hash).await?;
        Ok(outcome.map(|outcome| (hash, shown(&purpose, &outcome))))
    }

    /// Returns what a transaction proves about the payment. `None` when it is not in a canonical
    /// block. A failed transaction proves nothing.
    pub(crate) async fn prove(
        &self,
        payment: &Payment,
        hash: B256,
    ) -> Result<Option<Proof>, Cause> {
        let outcome = self.outcome(hash).await?;
        Ok(outcome.map(|outcome| proof(payment, &outcome)))
    }

    /// Returns the receipt of a transaction. `None` until the configured number of blocks follows
    /// its block, and its block is canonical. A receipt alone is not enough: nodes also return
    /// receipts of proposed blocks, which may never become canonical.
    pub(crate) async fn outcome(&self, hash: B256) -> Result<Option<TransactionOutcome>, Cause> {
        let (outcome, head) = tokio::join!(self.rpc().outcome(hash), self.rpc().head());
        let outcome = outcome.map_err(RpcFault::cause)?;
        let Some(outcome) = outcome.filter(|outcome| outcome.transaction_hash == hash) else {
            return Ok(None);
        };
        let Some((number, block)) = outcome.place() else {
            return Ok(None);
        };
        let head = head.map_err(RpcFault::cause)?;
        if head.number() < number.saturating_add(self.inner.options.confirmations) {
            return Ok(None);
        }
        let is_canonical = self.rpc().is_canonical(&head, number, block).await?;
        Ok(is_canonical.then_some(outcome))
    }
}

pub(crate) fn proof(payment: &Payment, outcome: &TransactionOutcome) -> Proof {
    shown(&Purpose::of(payment), outcome)
}

fn shown(purpose: &Purpose, outcome: &TransactionOutcome) -> Proof {
    if outcome.succeeded() {
        of_logs(purpose, &outcome.logs)
    } else {
        Proof::Nothing
    }
}

fn is_over(head: &Head, valid_before: U256) -> bool {
    let margin = U256::from(EXPIRY_MARGIN_SECONDS);
    U256::from(head.timestamp()) >= valid_before.saturating_add(margin)
}
