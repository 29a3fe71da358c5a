//! The `eth1` API of Web3Signer, a service that holds keys and signs whole transactions.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U64, U128};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{SignFuture, TransactionSigner, Unsigned};
use crate::{Fees, NodeFault, SignError, Transport, rpc_request};

const SIGN: &str = "eth_signTransaction";

const ACCOUNTS: &str = "eth_accounts";

/// How many characters of the service's message are kept.
const MAX_WORDS: usize = 200;

/// An account of a Web3Signer instance (`eth_signTransaction`).
///
/// One instance serves one chain: it replaces the chain id of the request by the one with which it
/// was started. A transaction that comes back for another chain is refused, like every other
/// difference ([`check`](super::check)).
#[derive(Clone)]
pub struct Web3Signer {
    account: Address,
    transport: Arc<dyn Transport>,
}

#[derive(Deserialize)]
struct Answer<T> {
    #[serde(default = "none")]
    result: Option<T>,
    #[serde(default)]
    error: Option<ErrorObject>,
}

#[derive(Deserialize)]
struct ErrorObject {
    #[serde(default)]
    message: String,
}

const fn none<T>() -> Option<T> {
    None
}

impl Web3Signer {
    /// Makes the signer of an account at the instance behind this transport.
    #[must_use]
    pub fn new(account: Address, transport: Arc<dyn Transport>) -> Self {
        Self { account, transport }
    }

    /// Returns the accounts for which the instance signs (`eth_accounts`). Signs nothing.
    ///
    /// # Errors
    /// When the instance cannot be reached, refuses, or gives another answer.
    pub async fn accounts(&self) -> Result<Vec<Address>, SignError> {
        self.ask(ACCOUNTS, json!([])).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<T, SignError> {
        let body = self
            .transport
            .exchange(method, rpc_request(method, params))
            .await
            .map_err(|fault| match fault {
                NodeFault::Refused { message, .. } => SignError::Refused { message },
                _ => SignError::Unavailable,
            })?;
        // An answer that is not JSON comes from a proxy before the instance.
        let answer: Value = serde_json::from_slice(&body).map_err(|_| SignError::Unavailable)?;
        let answer = Answer::deserialize(answer).map_err(|_| SignError::Malformed)?;
        match answer {
            Answer {
                error: Some(error), ..
            } => Err(SignError::Refused {
                message: error.message.chars().take(MAX_WORDS).collect(),
            }),
            Answer {
                result: Some(result),
                ..
            } => Ok(result),
            Answer { .. } => Err(SignError::Malformed),
        }
    }

    /// Makes the call object of a transaction.
    fn call(&self, unsigned: &Unsigned) -> Value {
        let mut call = json!({
            "from": self.account,
            "to": unsigned.to,
            "gas": U64::from(unsigned.gas_limit),
            "value": unsigned.value,
            "nonce": U64::from(unsigned.nonce),
            "data": unsigned.input,
            "chainId": U64::from(unsigned.chain_id),
        });
        let fees = match unsigned.fees {
            Fees::Dynamic { max, tip } => vec![
                ("maxFeePerGas", U128::from(max)),
                ("maxPriorityFeePerGas", U128::from(tip)),
            ],
            Fees::Legacy { price } => vec![("gasPrice", U128::from(price))],
        };
        if let Some(members) = call.as_object_mut() {
            for (name, fee) in fees {
                members.insert(name.to_owned(), json!(fee));
            }
        }
        call
    }
}

impl TransactionSigner for Web3Signer {
    fn account(&self) -> Address {
        self.account
    }

    fn sign<'a>(&'a self, unsigned: &'a Unsigned) -> SignFuture<'a, Bytes> {
        Box::pin(async move { self.ask(SIGN, json!([self.call(unsigned)])).await })
    }
}

impl std::fmt::Debug for Web3Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Web3Signer")
            .field("account", &self.account)
            .finish_non_exhaustive()
    }
}
