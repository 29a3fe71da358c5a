//! The values that a service pins, and the rules by which it accepts grants, revocations and
//! limits.

mod receive;

use alloy_primitives::{Address, address};
use calldata_checks::UtcSeconds;

pub use self::receive::{ReceivedGrant, ReceivedLimit, ReceivedRevocation};
use crate::{
    AccountKind, Domain, Grant, Limit, Name, Now, Policy, ReadBack, Refusal, Revocation, Rule,
    Signed, refusal::same,
};

/// How far in the future a grant or a limit may have been issued, in seconds.
pub const ISSUE_SKEW_SECONDS: u64 = 60;
/// How far a revocation's time may lie from the clock, in seconds.
pub const REVOCATION_SKEW_SECONDS: u64 = 300;

/// One instance of the service and the project of its grants: all data that revocations and limits
/// need, so that they are accepted while no policy can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// The domain of its messages.
    pub domain: Domain,
    /// The project.
    pub project_id: Name,
}

/// The values that a service pins: its instance and the policy.
///
/// # Example
/// ```
/// use alloy_primitives::{B256, address};
/// use delegation_fence::{Domain, Fence, Grant, Instance, Name, Now, Policy, Signed};
///
/// # let text = include_str!("../../../fixtures/vectors/delegation.json");
/// # let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
/// # let document = vectors["rules_document"]["document"].to_string();
/// # let vector = &vectors["grant_sub_wallet"];
/// # let file = serde_json::json!({"typed_data": vector["typed_data"], "signature": vector["signature"]}).to_string();
/// let instance = Instance {
///     domain: Domain::new(8453, B256::repeat_byte(0x11)),
///     project_id: Name::new("3f2c9b1e-5a44-4d0a-9a52-0c6f3a9b7e11")?,
/// };
/// let fence = Fence::new(instance, Policy::parse(&document)?)?;
///
/// // Custody knows whose sub-wallet the account is.
/// let owner = address!("70997970C51812dc3A010C7d01b50e0d17dc79C8");
/// let now = Now::offline("2026-11-21T07:00:00Z".parse().unwrap());
/// let received = fence.receive(Signed::<Grant>::parse(&file)?, owner, now)?;
/// assert_eq!(received.owner(), owner);
/// # Ok::<(), delegation_fence::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    instance: Instance,
    policy: Policy,
    service_keys: Vec<Address>,
}

impl Fence {
    /// Pins a policy for an instance.
    ///
    /// # Errors
    /// `fence_chain` when the instance's messages belong to another chain than the policy.
    pub fn new(instance: Instance, policy: Policy) -> Result<Self, Refusal> {
        same(
            Rule::FenceChain,
            "the instance signs for another chain than its policy",
            policy.chain_id(),
            instance.domain.chain_id(),
        )?;
        Ok(Self {
            instance,
            policy,
            service_keys: Vec::new(),
        })
    }

    /// Names the keys of the service itself, which must not order under a grant of an `eoa7702`
    /// account.
    #[must_use]
    pub fn with_service_keys(mut self, keys: Vec<Address>) -> Self {
        self.service_keys = keys;
        self
    }

    /// The instance.
    #[must_use]
    pub const fn instance(&self) -> &Instance {
        &self.instance
    }

    /// The pinned policy.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Checks that the store's policy is the pinned one: otherwise nothing is granted or sent.
    ///
    /// # Errors
    /// `fence_unreadable`, `fence_name_mismatch`, `fence_digest_mismatch`
    pub fn confirm(&self, read_back: &ReadBack) -> Result<(), Refusal> {
        let policy = &self.policy;
        match read_back {
            ReadBack::Unreadable => Err(Refusal::new(
                Rule::FenceUnreadable,
                "the policy cannot be read back",
                policy.name(),
                "nothing",
            )),
            ReadBack::Installed { name, digest } => {
                same(
                    Rule::FenceNameMismatch,
                    "another policy is installed than the pinned one",
                    policy.name(),
                    name,
                )?;
                same(
                    Rule::FenceDigestMismatch,
                    "other rules are installed than the pinned ones",
                    policy.digest(),
                    *digest,
                )
            }
        }
    }

    /// Accepts a grant. `owner` is the account whose key signs: the account itself, or the owner of
    /// a sub-wallet by custody. [`Account::receive`](crate::Account::receive) judges whether the
    /// grant's id is new.
    ///
    /// # Errors
    /// By the first rule that fails, in this order: `domain_*_mismatch`,
    /// `account_kind_unsupported`, `account_not_owned`, `signature_unrecoverable`,
    /// `grant_not_by_account`, the rules of the grant's times, `grant_id_zero`, the rules of its
    /// policy, project, capability, delegate and cap.
    pub fn receive(
        &self,
        signed: Signed<Grant>,
        owner: Address,
        now: Now,
    ) -> Result<ReceivedGrant, Refusal> {
        let received = self.instance.restore_grant(signed, owner)?;
        self.review(received.grant(), now)?;
        Ok(received)
    }

    /// The rules of [`Self::receive`] that need no signature, for a holder who is about to sign.
    ///
    /// # Errors
    /// The rules of the grant's times, `grant_id_zero`, the rules of its policy, project,
    /// capability, delegate and cap.
    pub fn review(&self, grant: &Grant, now: Now) -> Result<(), Refusal> {
        self.judge_times(grant, now)?;
        if grant.grant_id.is_zero() {
            return Err(Refusal::new(
                Rule::GrantIdZero,
                "the id zero means all grants",
                "32 random bytes",
                grant.grant_id,
            ));
        }
        self.judge_terms(grant)
    }

    fn judge_times(&self, grant: &Grant, now: Now) -> Result<(), Refusal> {
        let refuse = |rule, message, expected: String, observed: u64| {
            let observed = UtcSeconds::from_unix(observed);
            Err(Refusal::new(rule, message, expected, observed))
        };
        let longest = self.policy.max_grant_seconds();
        let skewed = now.earliest().saturating_add(ISSUE_SKEW_SECONDS);
        if grant.issued_at > skewed.unix() {
            return refuse(
                Rule::GrantIssuedInFuture,
                "the grant was issued in the future",
                format!("at most {skewed}"),
                grant.issued_at,
            );
        }
        let begins = grant.not_before.max(grant.issued_at);
        if grant.expires_at <= begins {
            return refuse(
                Rule::GrantWindowEmpty,
                "the grant ends before it begins",
                format!("after {}", UtcSeconds::from_unix(begins)),
                grant.expires_at,
            );
        }
        if grant.expires_at - grant.issued_at > longest {
            return refuse(
                Rule::GrantLifetimeTooLong,
                "the grant lives longer than a grant may",
                format!("at most {} days from its issue", longest / 86_400),
                grant.expires_at,
            );
        }
        let last = now.earliest().saturating_add(longest);
        if grant.expires_at > last.unix() {
            return refuse(
                Rule::GrantEndsTooLate,
                "the grant ends later from now than a grant may live",
                format!("at most {last}"),
                grant.expires_at,
            );
        }
        if grant.expires_at <= now.latest().unix() {
            return refuse(
                Rule::GrantExpired,
                "the grant is over",
                format!("after {}", now.latest()),
                grant.expires_at,
            );
        }
        Ok(())
    }

    fn judge_terms(&self, grant: &Grant) -> Result<(), Refusal> {
        same(
            Rule::GrantPolicyNameMismatch,
            "the grant is for a policy of another name",
            self.policy.name(),
            &grant.policy_name,
        )?;
        same(
            Rule::GrantPolicyDigestMismatch,
            "the grant is for other rules",
            self.policy.digest(),
            grant.rules_digest,
        )?;
        same(
            Rule::GrantProjectMismatch,
            "the grant is for another project",
            &self.instance.project_id,
            &grant.project_id,
        )?;
        same(
            Rule::GrantCapabilityMismatch,
            "the grant is for another capability",
            self.policy.capability(),
            &grant.capability,
        )?;
        self.judge_delegate(grant)?;
        if grant.per_swap_cap.is_zero() {
            return Err(Refusal::new(
                Rule::GrantCapZero,
                "the grant's cap permits nothing",
                "above zero",
                0,
            ));
        }
        if grant.per_swap_cap > self.policy.per_swap_cap() {
            return Err(Refusal::new(
                Rule::GrantCapAbovePolicy,
                "the grant's cap is above the policy's",
                format_args!("at most {}", self.policy.per_swap_cap()),
                grant.per_swap_cap,
            ));
        }
        Ok(())
    }

    fn judge_delegate(&self, grant: &Grant) -> Result<(), Refusal> {
        if grant.delegate.is_zero() || grant.delegate == ANY_DELEGATE {
            return Err(Refusal::new(
                Rule::GrantDelegateInvalid,
                "the delegate stands for nobody or for anybody",
                "the address of one key",
                grant.delegate,
            ));
        }
        let is_service = self.service_keys.contains(&grant.delegate);
        if grant.account_kind == AccountKind::Eoa7702 && is_service {
            return Err(Refusal::new(
                Rule::GrantDelegateIsService,
                "the delegate is a key of the service, which must not order what it sends",
                "a key that the service does not hold",
                grant.delegate,
            ));
        }
        Ok(())
    }
}

/// The delegate value that ERC-7710 reads as "anybody may redeem".
pub(crate) const ANY_DELEGATE: Address = address!("0000000000000000000000000000000000000a11");

impl Instance {
    /// Reads a stored grant again. Checks all rules that do not depend on time or policy.
    ///
    /// # Errors
    /// `domain_*_mismatch`, `account_kind_unsupported`, `account_not_owned`,
    /// `signature_unrecoverable`, `grant_not_by_account`
    pub fn restore_grant(
        &self,
        signed: Signed<Grant>,
        owner: Address,
    ) -> Result<ReceivedGrant, Refusal> {
        self.domain.require(signed.typed_data().domain())?;
        let grant = signed.message();
        match grant.account_kind {
            AccountKind::SubWallet => {}
            AccountKind::Eoa7702 => same(
                Rule::AccountNotOwned,
                "an eoa7702 account signs for itself",
                grant.account,
                owner,
            )?,
            AccountKind::Eoa => {
                return Err(Refusal::new(
                    Rule::AccountKindUnsupported,
                    "nobody can send for an account without code; give it delegation code and grant as eoa7702, or fund a \
                     sub-wallet",
                    "sub_wallet or eoa7702",
                    "eoa",
                ));
            }
            AccountKind::Safe => {
                return Err(Refusal::new(
                    Rule::AccountKindUnsupported,
                    "nothing is sent for a Safe; sign the plan's steps in the Safe itself, or fund a sub-wallet",
                    "sub_wallet or eoa7702",
                    "safe",
                ));
            }
        }
        signed.require_signer(
            Rule::GrantNotByAccount,
            "the grant is signed by another key",
            owner,
        )?;
        Ok(ReceivedGrant::new(signed, owner))
    }

    /// Accepts a revocation. It needs no policy and no grant: a revocation that arrives before its
    /// grant is kept.
    ///
    /// # Example
    /// ```
    /// use delegation_fence::{Account, Instance, Name, Now, Revocation, Signed};
    ///
    /// # let text = include_str!("../../../fixtures/vectors/delegation.json");
    /// # let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
    /// # let vector = &vectors["revocation"];
    /// # let file = serde_json::json!({"typed_data": vector["typed_data"], "signature": vector["signature"]}).to_string();
    /// let signed = Signed::<Revocation>::parse(&file)?;
    /// let account = signed.message().account;
    /// let instance = Instance {
    ///     domain: signed.typed_data().domain().clone(),
    ///     project_id: Name::new("3f2c9b1e-5a44-4d0a-9a52-0c6f3a9b7e11")?,
    /// };
    /// let now = Now::offline("2026-11-22T01:00:30Z".parse().unwrap());
    /// let grant_id = signed.message().grant_id;
    /// let received = instance.receive_revocation(signed, account, now)?;
    ///
    /// let mut known = Account::new(account);
    /// assert_eq!(known.revoke(&received)?, 1_795_309_200);
    /// assert_eq!(known.revoked_at(grant_id), Some(1_795_309_200));
    /// # Ok::<(), delegation_fence::Refusal>(())
    /// ```
    ///
    /// # Errors
    /// `domain_*_mismatch`, `revocation_project_mismatch`, `signature_unrecoverable`,
    /// `revocation_not_by_account`, `revocation_time_skewed`
    pub fn receive_revocation(
        &self,
        signed: Signed<Revocation>,
        owner: Address,
        now: Now,
    ) -> Result<ReceivedRevocation, Refusal> {
        self.domain.require(signed.typed_data().domain())?;
        let revocation = signed.message();
        same(
            Rule::RevocationProjectMismatch,
            "the revocation is for another project",
            &self.project_id,
            &revocation.project_id,
        )?;
        signed.require_signer(
            Rule::RevocationNotByAccount,
            "the revocation is signed by another key",
            owner,
        )?;
        let distance = revocation.revoked_at.abs_diff(now.wall.unix());
        if distance > REVOCATION_SKEW_SECONDS {
            return Err(Refusal::new(
                Rule::RevocationTimeSkewed,
                "the revocation's time is too far from the clock; sign a new one",
                format_args!(
                    "at most {REVOCATION_SKEW_SECONDS} seconds from {}",
                    now.wall
                ),
                UtcSeconds::from_unix(revocation.revoked_at),
            ));
        }
        Ok(ReceivedRevocation::new(signed))
    }

    /// Accepts a limit.
    ///
    /// # Errors
    /// `domain_*_mismatch`, `signature_unrecoverable`, `limit_not_by_account`,
    /// `limit_issued_in_future`
    pub fn receive_limit(
        &self,
        signed: Signed<Limit>,
        owner: Address,
        now: Now,
    ) -> Result<ReceivedLimit, Refusal> {
        self.domain.require(signed.typed_data().domain())?;
        signed.require_signer(
            Rule::LimitNotByAccount,
            "the limit is signed by another key",
            owner,
        )?;
        let skewed = now.earliest().saturating_add(ISSUE_SKEW_SECONDS);
        let issued_at = signed.message().issued_at;
        if issued_at > skewed.unix() {
            return Err(Refusal::new(
                Rule::LimitIssuedInFuture,
                "the limit was issued in the future",
                format_args!("at most {skewed}"),
                UtcSeconds::from_unix(issued_at),
            ));
        }
        Ok(ReceivedLimit::new(signed))
    }
}
