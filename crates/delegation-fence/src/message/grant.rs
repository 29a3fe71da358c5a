//! `FenceGrant`: the permission for a delegate to order swaps, and its duration.

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::{SolStruct as _, sol};
use serde::{Deserialize, Serialize};

use super::{Message, sealed::Sealed};
use crate::{Name, json};

sol! {
    struct FenceGrant {
        address account;
        string accountKind;
        uint256 chainId;
        string policyName;
        bytes32 rulesDigest;
        string projectId;
        string capability;
        address delegate;
        uint256 perSwapCap;
        bytes32 grantId;
        uint64 issuedAt;
        uint64 notBefore;
        uint64 expiresAt;
    }
}

/// The permission that an account's key signs: the delegate may order swaps of the account that lie
/// inside the policy. Times are Unix seconds; amounts are in the input token's smallest unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Grant {
    /// The account whose tokens are swapped.
    #[serde(with = "json::address")]
    pub account: Address,
    /// The kind of the account.
    pub account_kind: AccountKind,
    /// The chain.
    #[serde(deserialize_with = "json::uint64::deserialize")]
    pub chain_id: u64,
    /// The policy's versioned name.
    pub policy_name: Name,
    /// The policy's digest.
    #[serde(with = "json::word")]
    pub rules_digest: B256,
    /// The project that the grant is bound to.
    pub project_id: Name,
    /// The permitted capability of the service.
    pub capability: Name,
    /// The account that may order.
    #[serde(with = "json::address")]
    pub delegate: Address,
    /// The most that one swap takes, fees included.
    #[serde(with = "json::uint256")]
    pub per_swap_cap: U256,
    /// The grant's id: 32 random bytes, once per account.
    #[serde(with = "json::word")]
    pub grant_id: B256,
    /// When it was signed.
    #[serde(with = "json::uint64")]
    pub issued_at: u64,
    /// When it begins.
    #[serde(with = "json::uint64")]
    pub not_before: u64,
    /// The first second at which it is over.
    #[serde(with = "json::uint64")]
    pub expires_at: u64,
}

/// The kind of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// An account whose key the service keeps for its owner. The owner signs.
    SubWallet,
    /// The user's own account with delegation code (EIP-7702). The account signs.
    Eoa7702,
    /// An account with a key and no code. Nothing can be sent for it.
    Eoa,
    /// A Safe-type contract account. Nothing is sent for it.
    Safe,
}

impl AccountKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::SubWallet, Self::Eoa7702, Self::Eoa, Self::Safe];

    /// The word in a grant.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SubWallet => "sub_wallet",
            Self::Eoa7702 => "eoa7702",
            Self::Eoa => "eoa",
            Self::Safe => "safe",
        }
    }

    /// Reads the kind's word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl Sealed for Grant {}

impl Message for Grant {
    const PRIMARY_TYPE: &'static str = "FenceGrant";
    const MEMBERS: &'static [(&'static str, &'static str)] = &[
        ("account", "address"),
        ("accountKind", "string"),
        ("chainId", "uint256"),
        ("policyName", "string"),
        ("rulesDigest", "bytes32"),
        ("projectId", "string"),
        ("capability", "string"),
        ("delegate", "address"),
        ("perSwapCap", "uint256"),
        ("grantId", "bytes32"),
        ("issuedAt", "uint64"),
        ("notBefore", "uint64"),
        ("expiresAt", "uint64"),
    ];

    fn hash_struct(&self) -> B256 {
        FenceGrant {
            account: self.account,
            accountKind: self.account_kind.as_str().to_owned(),
            chainId: U256::from(self.chain_id),
            policyName: self.policy_name.as_str().to_owned(),
            rulesDigest: self.rules_digest,
            projectId: self.project_id.as_str().to_owned(),
            capability: self.capability.as_str().to_owned(),
            delegate: self.delegate,
            perSwapCap: self.per_swap_cap,
            grantId: self.grant_id,
            issuedAt: self.issued_at,
            notBefore: self.not_before,
            expiresAt: self.expires_at,
        }
        .eip712_hash_struct()
    }

    fn chain_id(&self) -> Option<u64> {
        Some(self.chain_id)
    }

    fn times(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("issuedAt", self.issued_at),
            ("notBefore", self.not_before),
            ("expiresAt", self.expires_at),
        ]
    }
}
