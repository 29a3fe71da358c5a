//! One instance of the service, and the rules by which it accepts revocations and limits.

use alloy_primitives::Address;
use calldata_checks::UtcSeconds;

use super::receive::{ReceivedGrant, ReceivedLimit, ReceivedRevocation};
use crate::{
    AccountKind, Domain, Grant, Limit, Name, Now, Refusal, Revocation, Rule, Signed, refusal::same,
};

/// The most seconds that a grant or a limit may have been issued in the future.
pub const ISSUE_SKEW_SECONDS: u64 = 60;
/// The most seconds between a revocation's time and the clock.
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
                    "no service can send for an account without code; give it delegation code and grant as eoa7702, or fund a \
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
    /// # let text = include_str!("../../../../fixtures/vectors/delegation.json");
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
