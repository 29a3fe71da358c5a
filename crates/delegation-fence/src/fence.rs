//! The values that a service pins, and the rules by which it accepts grants.
//!
//! A [`Fence`] knows no store: [`Fence::confirm`] compares what a store has installed, and the
//! caller keeps what was accepted.

mod instance;
mod receive;

use alloy_primitives::{Address, address};
use calldata_checks::UtcSeconds;

pub use self::instance::{ISSUE_SKEW_SECONDS, Instance, REVOCATION_SKEW_SECONDS};
pub use self::receive::{ReceivedGrant, ReceivedLimit, ReceivedRevocation};
use crate::{AccountKind, Grant, Now, Policy, ReadBack, Refusal, Rule, Signed, refusal::same};

/// The delegate value that ERC-7710 reads as "anybody may redeem".
pub(crate) const ANY_DELEGATE: Address = address!("0000000000000000000000000000000000000a11");

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
                "the delegate is zero or the address that means anybody",
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
