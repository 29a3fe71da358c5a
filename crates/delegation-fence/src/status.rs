//! The public record of the fence.

use alloy_primitives::B256;
use plan_builder::wire::Word;
use serde::Serialize;

use crate::{Fence, ReadBack};

/// The public record: five members, without any user, grant or address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FenceStatus {
    /// Whether the policy was read back now, by its name and digest.
    present: bool,
    /// The pinned policy's versioned name.
    policy_name: String,
    /// Its cap of a swap in whole US dollars.
    per_swap_cap_usd: u64,
    /// The project that grants are bound to.
    project_id: String,
    /// The pinned policy's digest.
    rules_digest: Word,
}

impl Fence {
    /// The public record. When the policy does not read back, `present` is false and the other
    /// members are the pinned values, so that a reader can see what to bind to.
    ///
    /// # Example
    /// ```
    /// use alloy_primitives::B256;
    /// use delegation_fence::{Domain, Fence, Instance, Name, Policy, ReadBack};
    ///
    /// # let text = include_str!("../../../fixtures/vectors/delegation.json");
    /// # let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
    /// # let document = vectors["rules_document"]["document"].to_string();
    /// let instance = Instance { domain: Domain::new(8453, B256::ZERO), project_id: Name::new("shop")? };
    /// let fence = Fence::new(instance, Policy::parse(&document)?)?;
    /// assert_eq!(
    ///     serde_json::to_string(&fence.status(&ReadBack::of(fence.policy()))).unwrap(),
    ///     r#"{"present":true,"policy_name":"svc-base-swap-fence.v3","per_swap_cap_usd":5000,"project_id":"shop","#.to_owned()
    ///         + r#""rules_digest":"0x609a8fda4ad5df10b28252f78de1a7dc8dd69788dd6da9dd7baacb8c76fc7da6"}"#
    /// );
    /// assert!(!fence.status(&ReadBack::Unreadable).is_present());
    /// # Ok::<(), delegation_fence::Refusal>(())
    /// ```
    #[must_use]
    pub fn status(&self, read_back: &ReadBack) -> FenceStatus {
        let policy = self.policy();
        FenceStatus {
            present: *read_back == ReadBack::of(policy),
            policy_name: policy.name().to_string(),
            per_swap_cap_usd: u64::try_from(policy.per_swap_cap_usd()).unwrap_or(u64::MAX),
            project_id: self.instance().project_id.to_string(),
            rules_digest: Word(policy.digest()),
        }
    }
}

impl FenceStatus {
    /// Whether the policy was read back.
    #[must_use]
    pub const fn is_present(&self) -> bool {
        self.present
    }

    /// The pinned policy's digest.
    #[must_use]
    pub const fn rules_digest(&self) -> B256 {
        self.rules_digest.0
    }
}
