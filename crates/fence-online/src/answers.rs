//! The server's data about a grant.

use alloy_primitives::{Address, B256};
use fence_offline::{Exit, Failure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::{Answer, Client};

/// `GET /delegation/grants/{account}/{grant_id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReadBack {
    /// `not_yet_valid`, `active`, `expired`, `revoked` or `superseded`.
    pub(crate) state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revoked_at: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) on_chain: Option<OnChain>,
}

/// The delegations of an `eoa7702` grant, read in a sealed block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OnChain {
    /// Whether all of them are disabled.
    #[serde(default)]
    pub(crate) disabled: bool,
    /// The block that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) block_hash: Option<B256>,
    /// The transaction that disables them, sent by the account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) disable_transaction: Option<Value>,
}

impl ReadBack {
    /// Reads it now. `None` when the server has never received the grant.
    pub(crate) fn fetch(
        client: &Client,
        account: Address,
        grant_id: B256,
    ) -> Result<Option<Self>, Failure> {
        let answer = client.get(&format!("/delegation/grants/{account}/{grant_id}"))?;
        if is_unseen(&answer) {
            return Ok(None);
        }
        serde_json::from_value(answer.success()?)
            .map(Some)
            .map_err(|_| {
                Failure::Error(
                    "the server's answer is not a grant's state".to_owned(),
                    Exit::Network,
                )
            })
    }

    /// Whether the service has ended the grant.
    pub(crate) fn is_revoked(&self) -> bool {
        self.state == "revoked"
    }

    /// Whether the service reports the delegations as disabled.
    pub(crate) fn is_disabled(&self) -> bool {
        self.on_chain.as_ref().is_some_and(|chain| chain.disabled)
    }

    /// The disabling transaction, according to the service.
    pub(crate) fn disable_transaction(&self) -> Option<&Value> {
        self.on_chain.as_ref()?.disable_transaction.as_ref()
    }
}

/// Whether a 404 is the endpoint's own, and not that of a server without this endpoint.
fn is_unseen(answer: &Answer) -> bool {
    answer.status == 404 && answer.error_code() == Some("grant_not_found")
}
