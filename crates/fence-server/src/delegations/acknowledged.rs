//! Revocations and limits that a database may have lost.
//!
//! A server remembers the ones that it has acknowledged. When a replica without the last commits
//! takes over the database, it writes them again, before a plan is confirmed. The memory ends with
//! the process.

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::Now;

use super::{
    ATTEMPTS, Delegations,
    grants::{busy, tightest},
};
use crate::{Change, DelegationError, StoreError, View, Write};

/// A revocation or limit, and when it was written first. Its record in the log is the same when it
/// is written again.
#[derive(Debug, Clone)]
pub(super) struct Acknowledgement {
    account: Address,
    change: Change,
    at: UtcSeconds,
}

/// Two are the same when they make the same change to the same account, whenever they came.
impl PartialEq for Acknowledgement {
    fn eq(&self, other: &Self) -> bool {
        (self.account, &self.change) == (other.account, &other.change)
    }
}

impl Delegations {
    /// Remembers a change that is about to be acknowledged.
    pub(super) fn acknowledge(&self, account: Address, change: &Change, now: Now) {
        self.acknowledged.add(Acknowledgement {
            account,
            change: change.clone(),
            at: now.wall,
        });
    }

    /// Writes the acknowledged revocations and limits again when the store has begun another
    /// history and lacks them. While the history is the same, it only asks for its name. Every
    /// confirmation begins with this call. A server also calls it every few seconds, for the plans
    /// that other servers send.
    ///
    /// # Errors
    /// A store that cannot be used. A later call tries again.
    pub async fn reassert(&self) -> Result<(), DelegationError> {
        let Some(history) = self.store.history().await? else {
            return Ok(());
        };
        let Some(acknowledged) = self.acknowledged.not_in(&history) else {
            return Ok(());
        };
        for item in acknowledged {
            match self.make_again(&item).await {
                Err(DelegationError::Refused(refusal)) => {
                    tracing::error!(account = %item.account, %refusal, "a lost revocation or limit is refused now");
                }
                other => other?,
            }
        }
        self.acknowledged.are_in(history);
        Ok(())
    }

    async fn make_again(&self, item: &Acknowledgement) -> Result<(), DelegationError> {
        let account = item.account;
        for _ in 0..ATTEMPTS {
            let view = self.store.view(account, grant_of(&item.change), None);
            let view = view.await?;
            if !is_missing(&view, &item.change) {
                return Ok(());
            }
            let write = Write {
                account,
                version: view.version,
                lease: None,
                at: item.at,
                changes: vec![item.change.clone()],
            };
            match self.store.write(write).await {
                Ok(_) => {
                    tracing::warn!(%account, grant = %view.grant_id, "the database had lost a revocation or limit, which is written again");
                    return Ok(());
                }
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(busy(account))
    }
}

fn grant_of(change: &Change) -> B256 {
    match change {
        Change::End { grant_id, .. } => *grant_id,
        Change::Limit(received) => received.limit().grant_id,
        _ => B256::ZERO,
    }
}

fn is_missing(view: &View, change: &Change) -> bool {
    match change {
        Change::End {
            grant_id, ended_at, ..
        } if grant_id.is_zero() => view.ended_all.is_none_or(|ended| ended.at < *ended_at),
        Change::End { .. } => view.ended.is_none(),
        Change::Limit(received) => {
            let tightest = tightest(view);
            view.grant.is_some() && tightest.and(received.limit()) != tightest
        }
        _ => false,
    }
}
