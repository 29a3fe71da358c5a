//! `FenceOrder`: one plan to be sent once.

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::{SolStruct as _, sol};
use serde::{Deserialize, Serialize};

use super::{Message, sealed::Sealed};
use crate::json;

sol! {
    struct FenceOrder {
        address account;
        bytes32 grantId;
        bytes32 payloadDigest;
        bytes32 callHash;
        address outputToken;
        uint256 minAmountOut;
        uint64 deadline;
    }
}

/// The delegate's signature over a plan that it reviewed: exactly these bytes, at most once. Output
/// token, minimum and the hash of the call repeat parts of the digest's content, so that a contract
/// that does not know the plan can check them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    /// The account of the grant.
    #[serde(with = "json::address")]
    pub account: Address,
    /// The grant.
    #[serde(with = "json::word")]
    pub grant_id: B256,
    /// `submission.payload_digest` of the plan.
    #[serde(with = "json::word")]
    pub payload_digest: B256,
    /// keccak-256 of the third step's calldata.
    #[serde(with = "json::word")]
    pub call_hash: B256,
    /// The plan's output token.
    #[serde(with = "json::address")]
    pub output_token: Address,
    /// The least output that the delegate accepts: above zero, at most the minimum in the calldata.
    #[serde(with = "json::uint256")]
    pub min_amount_out: U256,
    /// Until when the first step may begin, in Unix seconds.
    #[serde(with = "json::uint64")]
    pub deadline: u64,
}

impl Sealed for Order {}

impl Message for Order {
    const PRIMARY_TYPE: &'static str = "FenceOrder";
    const MEMBERS: &'static [(&'static str, &'static str)] = &[
        ("account", "address"),
        ("grantId", "bytes32"),
        ("payloadDigest", "bytes32"),
        ("callHash", "bytes32"),
        ("outputToken", "address"),
        ("minAmountOut", "uint256"),
        ("deadline", "uint64"),
    ];

    fn hash_struct(&self) -> B256 {
        FenceOrder {
            account: self.account,
            grantId: self.grant_id,
            payloadDigest: self.payload_digest,
            callHash: self.call_hash,
            outputToken: self.output_token,
            minAmountOut: self.min_amount_out,
            deadline: self.deadline,
        }
        .eip712_hash_struct()
    }

    fn chain_id(&self) -> Option<u64> {
        None
    }

    fn times(&self) -> Vec<(&'static str, u64)> {
        vec![("deadline", self.deadline)]
    }
}
