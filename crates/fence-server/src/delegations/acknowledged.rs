//! Revocations and limits that a database may have lost.
//!
//! A server remembers the ones that it has acknowledged. When a replica without the last commits
//! takes over the database, it writes them again, before a plan is confirmed. The memory ends with
//! the process.

use std::mem::take;

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::{Now, TOMBSTONE_SECONDS};
use storage::postgres::Claim;

use super::{
    ATTEMPTS, Delegations,
    grants::{busy, tightest},
};
use crate::store::kept::tightest_of;
use crate::{Change, DelegationError, KeptLimit, StoreError, View, Write};

/// What is remembered under one key: the account, its grant, and whether limits or an end. The ends
/// in memory are as many as the store's rows at most, and so are the limits.
pub(super) type Key = (Address, B256, bool);

/// The end of a grant, or its tightest limits, each with the time of its first write: its record in
/// the log is the same when it is written again.
pub(super) type Kept = Vec<(Change, UtcSeconds)>;

impl Delegations {
    /// Begins the write of a change, which is remembered from [`Claim::keep`] on.
    pub(super) fn acknowledge(
        &self,
        account: Address,
        change: &Change,
        now: Now,
    ) -> Claim<'_, Key, Kept> {
        let is_limit = matches!(change, Change::Limit(_));
        let key = (account, grant_of(change), is_limit);
        let item = vec![(change.clone(), now.wall)];
        self.acknowledged.claim(key, item, merge)
    }

    /// Forgets what no longer matters at `now`: every grant that was issued before is over.
    pub(super) fn forget_acknowledged(&self, now: UtcSeconds) {
        self.acknowledged.retain(|items| {
            items.retain(|(_, at)| at.saturating_add(TOMBSTONE_SECONDS) > now);
            !items.is_empty()
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
        for lost in self.acknowledged.not_in(&history) {
            let (account, _, _) = lost.key;
            for (change, at) in &lost.item {
                match self.make_again(account, change.clone(), *at).await {
                    Err(DelegationError::Refused(refusal)) => {
                        tracing::error!(%account, %refusal, "a lost revocation or limit is refused now");
                    }
                    other => other?,
                }
            }
            self.acknowledged.is_in(&lost);
        }
        Ok(())
    }

    async fn make_again(
        &self,
        account: Address,
        mut change: Change,
        at: UtcSeconds,
    ) -> Result<(), DelegationError> {
        // It had its room when it was acknowledged.
        if let Change::End { holder, .. } = &mut change {
            *holder = holder.without_bound();
        }
        for _ in 0..ATTEMPTS {
            let view = self.store.view(account, grant_of(&change), None);
            let view = view.await?;
            if !is_missing(&view, &change) {
                return Ok(());
            }
            let write = Write {
                account,
                version: view.version,
                lease: None,
                at,
                changes: vec![change.clone()],
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

/// Adds a change to the remembered ones of its key. The first end of a grant stays, and the latest
/// end of all grants; of the limits the tightest of each member.
fn merge(kept: &mut Kept, new: Kept) {
    for (change, at) in new {
        match &change {
            Change::End {
                grant_id, ended_at, ..
            } => {
                let rises = |known: &(Change, UtcSeconds)| matches!(&known.0, Change::End { ended_at: before, .. } if grant_id.is_zero() && before < ended_at);
                if kept.iter().all(rises) {
                    *kept = vec![(change, at)];
                }
            }
            _ if kept.iter().any(|(known, _)| *known == change) => {}
            _ => kept.push((change, at)),
        }
    }
    let limits: Vec<KeptLimit> = kept.iter().filter_map(limit_of).collect();
    if limits.is_empty() {
        return;
    }
    let tightest = tightest_of(&limits);
    let all = take(kept).into_iter();
    *kept = all
        .filter(|item| limit_of(item).is_some_and(|limit| tightest.contains(&&limit)))
        .collect();
}

fn limit_of((change, at): &(Change, UtcSeconds)) -> Option<KeptLimit> {
    match change {
        Change::Limit(received) => Some(KeptLimit {
            signed: received.signed().clone(),
            received_at: *at,
        }),
        _ => None,
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
