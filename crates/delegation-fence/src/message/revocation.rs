//! `FenceRevocation`: the end of a grant, or of all grants.

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::{SolStruct as _, sol};
use serde::{Deserialize, Serialize};

use super::{Message, sealed::Sealed};
use crate::{Name, json};

sol! {
    struct FenceRevocation {
        address account;
        uint256 chainId;
        bytes32 grantId;
        string projectId;
        uint64 revokedAt;
    }
}

/// Ends one grant for ever, or, with the id zero, every grant that was issued at or before
/// `revoked_at`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Revocation {
    /// The account of the grant.
    #[serde(with = "json::address")]
    pub account: Address,
    /// The chain.
    #[serde(deserialize_with = "json::uint64::deserialize")]
    pub chain_id: u64,
    /// The grant; zero for all.
    #[serde(with = "json::word")]
    pub grant_id: B256,
    /// The project of the grant.
    pub project_id: Name,
    /// When it was signed, in Unix seconds.
    #[serde(with = "json::uint64")]
    pub revoked_at: u64,
}

impl Revocation {
    /// Whether it ends every grant of the account.
    #[must_use]
    pub fn is_of_all(&self) -> bool {
        self.grant_id.is_zero()
    }
}

impl Sealed for Revocation {}

impl Message for Revocation {
    const PRIMARY_TYPE: &'static str = "FenceRevocation";
    const MEMBERS: &'static [(&'static str, &'static str)] = &[
        ("account", "address"),
        ("chainId", "uint256"),
        ("grantId", "bytes32"),
        ("projectId", "string"),
        ("revokedAt", "uint64"),
    ];

    fn hash_struct(&self) -> B256 {
        FenceRevocation {
            account: self.account,
            chainId: U256::from(self.chain_id),
            grantId: self.grant_id,
            projectId: self.project_id.as_str().to_owned(),
            revokedAt: self.revoked_at,
        }
        .eip712_hash_struct()
    }

    fn chain_id(&self) -> Option<u64> {
        Some(self.chain_id)
    }

    fn times(&self) -> Vec<(&'static str, u64)> {
        vec![("revokedAt", self.revoked_at)]
    }
}
