//! The policy of a store, read again.

use alloy_primitives::B256;

use crate::{Name, Policy};

/// The store's answer when the policy was read back, now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadBack {
    /// The policy that is installed.
    Installed {
        /// Its versioned name.
        name: Name,
        /// Its digest.
        digest: B256,
    },
    /// The store could not be read, or holds no policy.
    Unreadable,
}

impl ReadBack {
    /// The policy in the store.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        Self::Installed {
            name: policy.name().clone(),
            digest: policy.digest(),
        }
    }
}
