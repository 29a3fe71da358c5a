//! Grants, limits and revocations: receiving them, and saying what became of them.

use alloy_primitives::{Address, B256, U256};
use calldata_checks::UtcSeconds;
use delegation_fence::onchain::{GrantFile, SignedDelegation};
use delegation_fence::{
    AccountKind, Grant, Limit, Message, Novelty, Now, ReceivedRevocation, Record, Refusal,
    Revocation, RevocationReceipt, Rule, Signed, Tightest,
};

use super::{ATTEMPTS, Delegations, LOG_PAGE, OnChain, refusal};
use crate::{Change, DelegationError, StoreError, View, Write};

/// A grant that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantReceipt {
    /// The grant.
    pub grant: Grant,
    /// Whether it was known.
    pub novelty: Novelty,
    /// `not_yet_valid` or `active`.
    pub state: &'static str,
}

/// What a grant is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantState {
    /// `not_yet_valid`, `active`, `expired`, `revoked` or `superseded`.
    pub state: &'static str,
    /// What the account is; `None` for a grant that never came.
    pub kind: Option<AccountKind>,
    /// The first second at which it no longer counts; `None` for a grant that never came.
    pub expires_at: Option<UtcSeconds>,
    /// Since when it is revoked.
    pub revoked_at: Option<UtcSeconds>,
    /// What the chain says of its delegations now; `None` for a grant that has none.
    pub on_chain: Option<OnChain>,
}

impl Delegations {
    /// Receives a grant, with the delegations of an `eoa7702` account. The same grant again changes
    /// nothing.
    ///
    /// # Errors
    /// (a) The fence does not read back; then the names of
    /// [`Fence::receive`](delegation_fence::Fence::receive), `grant_delegate_is_service` where the
    /// delegate is a wallet of custody's, the names of `delegation_*`, `account_code_mismatch`,
    /// `router_allowance_open`; `grant_revoked`, `grant_id_taken`. Records, custody or a chain that
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

    /// Receives a limit: in effect when this returns. One that tightens nothing changes nothing.
    /// Returns the tightest of everything that was signed, and the cap that counts.
    ///
    /// # Errors
    /// `grant_not_found`, the names of
    /// [`Instance::receive_limit`](delegation_fence::Instance::receive_limit). Records that cannot
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
            if before == after
                || self
                    .write(&view, Change::Limit(Box::new(received)), now)
                    .await?
            {
                let cap = after.per_swap_cap.map_or(cap, |limit| limit.min(cap));
                return Ok((after, cap));
            }
        }
        Err(busy(of))
    }

    /// Receives a revocation, also before its grant, and reads it back. It needs no policy. One of
    /// a grant that is revoked already changes nothing, whenever it was signed.
    ///
    /// # Errors
    /// The names of
    /// [`Instance::receive_revocation`](delegation_fence::Instance::receive_revocation),
    /// `account_not_owned`. Records that cannot be used; custody, where nothing is known of the
    /// account.
    pub async fn receive_revocation(
        &self,
        signed: Signed<Revocation>,
    ) -> Result<RevocationReceipt, DelegationError> {
        self.require_readable(&signed)?;
        let now = self.now().await;
        let (of, grant_id) = (signed.message().account, signed.message().grant_id);
        for _ in 0..ATTEMPTS {
            let view = self.store.view(of, grant_id, None).await?;
            let owner = match &view.grant {
                Some(grant) => grant.owner,
                None => self.signer_for(of).await?,
            };
            let received = self.judge_revocation(&signed, owner, &view, now)?;
            if is_ended(&view, signed.message()) {
                return self.receipt(&received, &view).await;
            }
            let change = Change::End {
                grant_id,
                ended_at: signed.message().revoked_at,
                signed: Some(Box::new(signed.clone())),
            };
            if self.write(&view, change, now).await? {
                let view = self.store.view(of, grant_id, None).await?;
                return self.receipt(&received, &view).await;
            }
        }
        Err(busy(of))
    }

    /// Ends a grant without its holder; 32 zero bytes end every grant of the account that was
    /// issued until now.
    ///
    /// # Errors
    /// Records that cannot be used.
    pub async fn revoke_by_service(
        &self,
        account: Address,
        grant_id: B256,
    ) -> Result<(), DelegationError> {
        let now = self.now().await;
        for _ in 0..ATTEMPTS {
            let view = self.store.view(account, grant_id, None).await?;
            let change = Change::End {
                grant_id,
                ended_at: now.wall.unix(),
                signed: None,
            };
            if self.write(&view, change, now).await? {
                return Ok(());
            }
        }
        Err(busy(account))
    }

    /// What a grant is now, by the policy that is installed. A revocation shows also where its
    /// grant never came.
    ///
    /// # Errors
    /// `grant_not_found`. Records that cannot be used.
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
            on_chain: self.read_on_chain(kept).await,
        })
    }

    /// Records of a grant's log from a number on, and where the next ones begin. The log of 32 zero
    /// bytes has the revocations of all grants.
    ///
    /// # Errors
    /// `grant_not_found` for a grant without records. Records that cannot be used.
    pub async fn log(
        &self,
        of: Address,
        grant_id: B256,
        from: u64,
    ) -> Result<(Vec<Record>, Option<u64>), DelegationError> {
        let records = self.store.log(of, grant_id, from, LOG_PAGE).await?;
        if records.is_empty() {
            // Behind the end of a log, or of no log.
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

    /// The delegate of an account that the chain fences holds a key that the service does not hold.
    async fn judge_delegate(&self, grant: &Grant) -> Result<(), DelegationError> {
        if grant.account_kind == AccountKind::Eoa7702
            && self.accounts.owner(grant.delegate).await?.is_some()
        {
            return Err(refusal(
                Rule::GrantDelegateIsService,
                "the delegate is a wallet whose key the service holds, which must not order what it sends",
                "a key that the service does not hold",
                grant.delegate,
            )
            .into());
        }
        Ok(())
    }

    /// What can be judged without records and custody is judged first: nobody has them looked at
    /// with bytes that no key has signed for this service.
    fn require_readable<M: Message>(&self, signed: &Signed<M>) -> Result<(), Refusal> {
        let domain = signed.typed_data().domain();
        self.instance().domain.require(domain)?;
        signed.signer().map(|_| ())
    }

    /// A revocation of what is ended already may be of any time: it changes nothing.
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

    /// The receipt, by what the store says now.
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

    /// Makes one change; `false` when something was written about the account since it was read.
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

/// A grant that is known has the delegations that it came with. Another signature over the same one
/// is no other delegation.
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

/// Whether a revocation says nothing new.
fn is_ended(view: &View, revocation: &Revocation) -> bool {
    if revocation.is_of_all() {
        view.ended_all
            .is_some_and(|ended| ended.at >= revocation.revoked_at)
    } else {
        view.ended.is_some()
    }
}

fn tightest(view: &View) -> Tightest {
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

/// Others write faster than this one judges.
pub(super) fn busy(account: Address) -> DelegationError {
    StoreError::Conflict { account }.into()
}
