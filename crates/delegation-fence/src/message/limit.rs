//! `FenceLimit`: a tighter bound for a grant.

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::{SolStruct as _, sol};
use serde::{Deserialize, Serialize};

use super::{Message, sealed::Sealed};
use crate::json;

sol! {
    struct FenceLimit {
        address account;
        bytes32 grantId;
        uint256 perSwapCap;
        uint64 maxSwaps;
        uint256 outflow24h;
        uint64 issuedAt;
    }
}

/// Tightens a grant: one signature of the account's key, in effect at once. Zero in a member states
/// no limit. Several limits of one grant count together, the tightest in each member. Only a new
/// grant can loosen a grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limit {
    /// The account of the grant.
    #[serde(with = "json::address")]
    pub account: Address,
    /// The grant.
    #[serde(with = "json::word")]
    pub grant_id: B256,
    /// The most that one swap takes, in the input token's smallest unit.
    #[serde(with = "json::uint256")]
    pub per_swap_cap: U256,
    /// The most plans whose third step is signed.
    #[serde(with = "json::uint64")]
    pub max_swaps: u64,
    /// The most that all swaps of any 24 hours take, in the input token's smallest unit.
    #[serde(rename = "outflow24h", with = "json::uint256")]
    pub outflow_24h: U256,
    /// When it was signed, in Unix seconds.
    #[serde(with = "json::uint64")]
    pub issued_at: u64,
}

impl Sealed for Limit {}

impl Message for Limit {
    const PRIMARY_TYPE: &'static str = "FenceLimit";
    const MEMBERS: &'static [(&'static str, &'static str)] = &[
        ("account", "address"),
        ("grantId", "bytes32"),
        ("perSwapCap", "uint256"),
        ("maxSwaps", "uint64"),
        ("outflow24h", "uint256"),
        ("issuedAt", "uint64"),
    ];

    fn hash_struct(&self) -> B256 {
        FenceLimit {
            account: self.account,
            grantId: self.grant_id,
            perSwapCap: self.per_swap_cap,
            maxSwaps: self.max_swaps,
            outflow24h: self.outflow_24h,
            issuedAt: self.issued_at,
        }
        .eip712_hash_struct()
    }

    fn chain_id(&self) -> Option<u64> {
        None
    }

    fn times(&self) -> Vec<(&'static str, u64)> {
        vec![("issuedAt", self.issued_at)]
    }
}
