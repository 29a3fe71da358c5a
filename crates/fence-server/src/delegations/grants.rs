//! Grants, limits and revocations: receives them, and reports their state.
//!
//! Bytes that no key has signed for this service cause no look-up of an account. A message that was
//! received before changes nothing, so a client may repeat each request.
//!
//! Every signature is judged before the store is asked. A message that was received before changes
//! nothing, so a client may repeat each request.

use std::sync::atomic::Ordering;

use alloy_primitives::{Address, B256, U256};
use calldata_checks::UtcSeconds;
use delegation_fence::onchain::{GrantFile, SignedDelegation};
use delegation_fence::{
    AccountKind, Grant, Limit, LogRecord, Message, Novelty, Now, ReceivedRevocation, Refusal,
    Revocation, RevocationReceipt, Rule, Signed, Tightest,
};

use super::{ATTEMPTS, Delegations, LOG_PAGE, OnChain, refusal};
use crate::{ChainQuestion, Change, DelegationError, Holder, StoreError, View, Write};

/// How often the revocations whose time is over are deleted, in seconds.
const FORGET_SECONDS: u64 = 600;

/// How many of them are deleted in one transaction.
const FORGET_PAGE: u32 = 256;

/// The receipt of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantReceipt {
    /// The grant.
    pub grant: Grant,
    /// Whether the grant is new.
    pub novelty: Novelty,
    /// `not_yet_valid` or `active`.
    pub state: &'static str,
}

/// The present state of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantState {
    /// `not_yet_valid`, `active`, `expired`, `revoked` or `superseded`.
    pub state: &'static str,
    /// The kind of the account. `None` for a revoked grant that was never received.
    pub kind: Option<AccountKind>,
    /// The first second at which the grant no longer counts. `None` for a revoked grant that was
    /// never received.
    pub expires_at: Option<UtcSeconds>,
    /// The time of its revocation, if it is revoked.
    pub revoked_at: Option<UtcSeconds>,
    /// The state of its delegations on the chain. `None` for a grant without delegations.
    pub on_chain: Option<OnChain>,
}

impl Delegations {
    /// Receives a grant, with the delegations of an `eoa7702` account. The same grant again changes
    /// nothing.
    ///
    /// # Errors
    /// A fence that does not read back; then the names of
    /// [`Fence::receive`](delegation_fence::Fence::receive), `grant_delegate_is_service` when the
    /// delegate is a wallet of custody, the names of `delegation_*`, `account_code_mismatch`,
    /// `router_allowance_open`; `grant_revoked`, `grant_id_taken`. A store, custody or a chain that
    /// cannot be used.
    pub async fn receive_grant(
        &self,
        file: impl Into<GrantFile>,
    ) -> Result<GrantReceipt, DelegationError> {
        let GrantFile {
            signed,
            delegations,
        } = file.into();
        self.fence.confirm(&self.read_back().await)?;
        self.require_readable(&signed)?;
        let grant = signed.message().clone();
        let now = self.now().await;
        let owner = self.signer_of(&grant).await?;
        let received = self.fence.receive(signed, owner, now)?;
        self.judge_delegate(&grant).await?;
        let typed_data = received.signed().typed_data();
        self.judge_delegations(typed_data, &delegations).await?;
        for _ in 0..ATTEMPTS {
            let view = self.store.view(grant.account, grant.grant_id, None).await?;
            let mut account = self.restore(&view)?;
            let novelty = account.receive(received.clone())?;
            match &view.grant {
                Some(kept) => require_same(&kept.delegations, &delegations)?,
                None => {
                    let received = Box::new(received.clone());
                    let change = Change::Grant(received, delegations.clone());
                    if !self.write(&view, change, now).await? {
                        continue;
                    }
                }
            }
            let policy = self.fence.policy();
            let state = account.standing(grant.grant_id, policy, now)?.as_str();
            return Ok(GrantReceipt {
                grant,
                novelty,
                state,
            });
        }
        Err(busy(grant.account))
    }

    /// Receives a limit, which is in effect when this returns. A limit that tightens nothing
    /// changes nothing. Returns the tightest signed limit of each kind, and the cap that counts.
    ///
    /// # Errors
    /// `grant_not_found`, the names of
    /// [`Instance::receive_limit`](delegation_fence::Instance::receive_limit). A store that cannot
    /// be used.
    pub async fn receive_limit(
        &self,
        signed: Signed<Limit>,
    ) -> Result<(Tightest, U256), DelegationError> {
        self.require_readable(&signed)?;
        let now = self.now().await;
        let (of, grant_id) = (signed.message().account, signed.message().grant_id);
        for _ in 0..ATTEMPTS {
            let view = self.store.view(of, grant_id, None).await?;
            let grant = view.grant.as_ref().ok_or_else(|| not_found(grant_id))?;
            let cap = grant.signed.message().per_swap_cap;
            let received = self
                .instance()
                .receive_limit(signed.clone(), grant.owner, now)?;
            let mut account = self.restore(&view)?;
            let before = tightest(&view);
            let after = account.tighten(&received)?;
            let change = Change::Limit(Box::new(received));
            let claim = self.acknowledge(of, &change, now);
            if before == after || self.write(&view, change, now).await? {
                claim.keep();
                let cap = after.per_swap_cap.map_or(cap, |limit| limit.min(cap));
                return Ok((after, cap));
            }
        }
        Err(busy(of))
    }

    /// Receives a revocation, even before its grant, and reads it back. It needs no policy. Another
    /// revocation of a revoked grant changes nothing, whenever it was signed. A revocation of a
    /// grant that was never received is kept for [`TOMBSTONE_SECONDS`].
    ///
    /// # Errors
    /// The names of
    /// [`Instance::receive_revocation`](delegation_fence::Instance::receive_revocation),
    /// `account_not_owned`; for a grant that was never received `too_many_revocations`, and
    /// `revocations_full` when the account has no grant and no wallet here. A store that cannot be
    /// used; custody that does not answer, when the account is unknown.
    ///
    /// [`TOMBSTONE_SECONDS`]: delegation_fence::TOMBSTONE_SECONDS
    pub async fn receive_revocation(
        &self,
        signed: Signed<Revocation>,
    ) -> Result<RevocationReceipt, DelegationError> {
        self.require_readable(&signed)?;
        let now = self.now().await;
        let (of, grant_id) = (signed.message().account, signed.message().grant_id);
        for _ in 0..ATTEMPTS {
            let view = self.store.view(of, grant_id, None).await?;
            let (owner, mut holder) = match &view.grant {
                Some(grant) => (grant.owner, Holder::Known),
                None => self.signer_for(of).await?,
            };
            let received = self.judge_revocation(&signed, owner, &view, now)?;
            let is_ended = is_ended(&view, signed.message());
            if !is_ended {
                holder = self.as_the_chain_knows(of, holder).await;
            }
            let change = Change::End {
                grant_id,
                ended_at: signed.message().revoked_at,
                signed: Some(Box::new(signed.clone())),
                holder,
            };
            let claim = self.acknowledge(of, &change, now);
            if is_ended {
                claim.keep();
                return self.receipt(&received, &view).await;
            }
            match self.write(&view, change, now).await {
                Ok(true) => {
                    claim.keep();
                    let view = self.store.view(of, grant_id, None).await?;
                    return self.receipt(&received, &view).await;
                }
                Ok(false) => {}
                Err(error) => {
                    // A known account's revocation may have been written after all.
                    let is_unknown = matches!(error, DelegationError::Store(_));
                    if is_unknown && holder == Holder::Known {
                        claim.keep();
                    }
                    return Err(error);
                }
            }
        }
        Err(busy(of))
    }

    /// Ends a grant on behalf of the service, without its holder. An id of 32 zero bytes ends every
    /// grant of the account that was issued until now.
    ///
    /// # Errors
    /// A store that cannot be used.
    pub async fn revoke_by_service(
        &self,
        account: Address,
        grant_id: B256,
    ) -> Result<(), DelegationError> {
        let now = self.now().await;
        let change = Change::End {
            grant_id,
            ended_at: now.wall.unix(),
            signed: None,
            holder: Holder::Known,
        };
        let claim = self.acknowledge(account, &change, now);
        for _ in 0..ATTEMPTS {
            let view = self.store.view(account, grant_id, None).await?;
            if self.write(&view, change.clone(), now).await? {
                claim.keep();
                return Ok(());
            }
        }
        Err(busy(account))
    }

    /// Deletes the revocations of grants that never arrived whose time is over by the machine's
    /// clock, in pages. A server calls it every few seconds; it works every ten minutes.
    ///
    /// # Errors
    /// A store that cannot be used.
    pub async fn forget(&self, now: UtcSeconds) -> Result<(), DelegationError> {
        let last = self.forgot_at.load(Ordering::Relaxed);
        if now.unix() < last.saturating_add(FORGET_SECONDS) {
            return Ok(());
        }
        while self.store.forget(now, FORGET_PAGE).await? >= u64::from(FORGET_PAGE) {}
        self.forget_acknowledged(now);
        self.forgot_at.store(now.unix(), Ordering::Relaxed);
        Ok(())
    }

    /// The present state of a grant, under the installed policy. A revocation shows even when its
    /// grant was never received.
    ///
    /// # Errors
    /// `grant_not_found`. A store that cannot be used.
    pub async fn grant_state(
        &self,
        of: Address,
        grant_id: B256,
    ) -> Result<GrantState, DelegationError> {
        let view = self.store.view(of, grant_id, None).await?;
        let account = self.restore(&view)?;
        let revoked_at = account.revoked_at(grant_id).map(UtcSeconds::from_unix);
        let Some(kept) = &view.grant else {
            return match revoked_at {
                Some(_) if !grant_id.is_zero() => Ok(GrantState {
                    state: "revoked",
                    kind: None,
                    expires_at: None,
                    revoked_at,
                    on_chain: None,
                }),
                _ => Err(not_found(grant_id).into()),
            };
        };
        let installed = self.store.installed().await?;
        let installed = installed.and_then(|installed| installed.policy().ok());
        let policy = installed.as_ref().unwrap_or(self.fence.policy());
        let standing = account.standing(grant_id, policy, self.now().await)?;
        let grant = kept.signed.message();
        Ok(GrantState {
            state: standing.as_str(),
            kind: Some(grant.account_kind),
            expires_at: Some(UtcSeconds::from_unix(grant.expires_at)),
            revoked_at,
            on_chain: self.shared_on_chain(kept).await,
        })
    }

    /// A page of a grant's log from a record number on, and the number of the next page. The log of
    /// the id of 32 zero bytes has the revocations of all grants.
    ///
    /// # Errors
    /// `grant_not_found` for a grant without records. A store that cannot be used.
    pub async fn log(
        &self,
        of: Address,
        grant_id: B256,
        from: u64,
    ) -> Result<(Vec<LogRecord>, Option<u64>), DelegationError> {
        let records = self.store.log(of, grant_id, from, LOG_PAGE).await?;
        if records.is_empty() {
            // The page is empty: it begins after the end of the log, or there is no log.
            self.record(of, grant_id, 0)
                .await
                .map_err(|error| match error {
                    DelegationError::NotReadBack => not_found(grant_id).into(),
                    other => other,
                })?;
        }
        let is_full = u32::try_from(records.len()).is_ok_and(|count| count == LOG_PAGE);
        let last = records.last().filter(|_| is_full);
        let next = last.map(|record| record.seq().saturating_add(1));
        Ok((records, next))
    }

    /// Refuses a delegate whose key the service holds, for an account that the chain fences.
    async fn judge_delegate(&self, grant: &Grant) -> Result<(), DelegationError> {
        if grant.account_kind == AccountKind::Eoa7702
            && self.accounts.owner(grant.delegate).await?.is_some()
        {
            return Err(refusal(
                Rule::GrantDelegateIsService,
                "the service holds the delegate's key, and must not order what it sends itself",
                "a key that the service does not hold",
                grant.delegate,
            )
            .into());
        }
        Ok(())
    }

    /// Checks first what needs neither store nor custody. Bytes that no key has signed for this
    /// service cause no look-up.
    fn require_readable<M: Message>(&self, signed: &Signed<M>) -> Result<(), Refusal> {
        let domain = signed.typed_data().domain();
        self.instance().domain.require(domain)?;
        signed.signer().map(|_| ())
    }

    /// Finds out whether the chain knows an account that this service does not know. The room of
    /// unknown accounts costs nothing to fill, and that of accounts with delegation code the
    /// authorizations of one transaction.
    async fn as_the_chain_knows(&self, account: Address, holder: Holder) -> Holder {
        let (Holder::Stranger { most }, Some(chain)) = (holder, &self.delegated) else {
            return holder;
        };
        let asked = ChainQuestion {
            account,
            hashes: Vec::new(),
            tokens: Vec::new(),
            router: self.fence.policy().router(),
            at_least: 0,
        };
        match chain.read(asked).await {
            Ok(reading) if reading.require_code().is_ok() => Holder::Delegating { most },
            Ok(_) => holder,
            Err(error) => {
                tracing::warn!(%account, %error, "an account's code cannot be read, and it counts as unknown");
                holder
            }
        }
    }

    /// Judges the time of a revocation. A revocation of an ended grant may have any time, because
    /// it changes nothing.
    fn judge_revocation(
        &self,
        signed: &Signed<Revocation>,
        owner: Address,
        view: &View,
        now: Now,
    ) -> Result<ReceivedRevocation, Refusal> {
        let instance = self.instance();
        let judged = instance.receive_revocation(signed.clone(), owner, now);
        match judged {
            Err(refusal)
                if refusal.rule == Rule::RevocationTimeSkewed
                    && is_ended(view, signed.message()) =>
            {
                let then = UtcSeconds::from_unix(signed.message().revoked_at);
                instance.receive_revocation(signed.clone(), owner, Now::offline(then))
            }
            other => other,
        }
    }

    /// The receipt, read from the store.
    async fn receipt(
        &self,
        received: &ReceivedRevocation,
        view: &View,
    ) -> Result<RevocationReceipt, DelegationError> {
        let revocation = received.revocation();
        let ended = if revocation.is_of_all() {
            view.ended_all
                .filter(|ended| ended.at >= revocation.revoked_at)
        } else {
            view.ended
        };
        let ended = ended.ok_or(DelegationError::NotReadBack)?;
        let revoked_at = match revocation.is_of_all() {
            true => Some(ended.at),
            false => self.restore(view)?.revoked_at(view.grant_id),
        };
        let revoked_at = revoked_at.ok_or(DelegationError::NotReadBack)?;
        let record = self.record(view.account, view.grant_id, ended.seq).await?;
        let revoked_at = UtcSeconds::from_unix(revoked_at);
        Ok(RevocationReceipt::new(received, revoked_at, &record))
    }

    /// Makes one change. Returns `false` when something was written about the account since it was
    /// read.
    pub(super) async fn write(
        &self,
        view: &View,
        change: Change,
        now: Now,
    ) -> Result<bool, DelegationError> {
        let write = Write {
            account: view.account,
            version: view.version,
            lease: None,
            at: now.wall,
            changes: vec![change],
        };
        match self.store.write(write).await {
            Ok(_) => Ok(true),
            Err(StoreError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Requires the delegations that came with the known grant. Another signature over the same
/// delegation counts as the same one.
fn require_same(kept: &[SignedDelegation], given: &[SignedDelegation]) -> Result<(), Refusal> {
    let hashes = |list: &[SignedDelegation]| {
        let hashes = list.iter().map(|signed| signed.delegation.hash());
        hashes.collect::<std::collections::BTreeSet<_>>()
    };
    if hashes(kept) == hashes(given) {
        return Ok(());
    }
    Err(refusal(
        Rule::GrantIdTaken,
        "the grant came with other delegations before; sign a new grant with a new id",
        "the delegations that it came with",
        "others",
    ))
}

/// Whether a revocation changes nothing.
fn is_ended(view: &View, revocation: &Revocation) -> bool {
    if revocation.is_of_all() {
        view.ended_all
            .is_some_and(|ended| ended.at >= revocation.revoked_at)
    } else {
        view.ended.is_some()
    }
}

pub(super) fn tightest(view: &View) -> Tightest {
    view.limits
        .iter()
        .fold(Tightest::default(), |tightest, limit| {
            tightest.and(limit.signed.message())
        })
}

fn not_found(grant_id: B256) -> Refusal {
    refusal(
        Rule::GrantNotFound,
        "the account has no such grant",
        "a grant that was received",
        grant_id,
    )
}

/// The error when other writes keep coming in between.
pub(super) fn busy(account: Address) -> DelegationError {
    StoreError::Conflict { account }.into()
}
