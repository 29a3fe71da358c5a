//! The JSON-RPC calls with which a judge reads a chain.

use alloy_primitives::{Address, B256, Bytes, U64, U256};
use alloy_sol_types::SolCall;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::JudgeError;

/// A JSON-RPC endpoint.
#[derive(Debug, Clone)]
pub struct Rpc {
    url: String,
    http: reqwest::Client,
}

/// The outcome of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TransactionReceipt {
    /// The hash of the transaction.
    pub transaction_hash: B256,
    /// 1 when the transaction took effect, 0 when it was reverted.
    pub status: U64,
    /// The block of the transaction.
    pub block_number: U64,
    /// The gas that the transaction used.
    pub gas_used: U64,
    /// The logs that contracts emitted in it.
    pub logs: Vec<Log>,
}

/// One log entry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Log {
    /// The contract that emitted the log.
    pub address: Address,
    /// The hash of the event's signature, and the indexed arguments.
    pub topics: Vec<B256>,
    /// The other arguments.
    pub data: Bytes,
}

impl Rpc {
    /// The endpoint at an HTTP URL.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            http: test_support::http_client(),
        }
    }

    /// The URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Makes one call.
    ///
    /// # Errors
    /// [`JudgeError::Rpc`] with the chain's error.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<T, JudgeError> {
        let transport = |source: reqwest::Error| JudgeError::Transport {
            method,
            source: source.without_url(),
        };
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self
            .http
            .post(&self.url)
            .header("content-type", "application/json")
            .body(request.to_string())
            .send()
            .await
            .map_err(transport)?
            .text()
            .await
            .map_err(transport)?;
        let parsed: Envelope =
            serde_json::from_str(&answer).map_err(|source| JudgeError::Json {
                origin: method.to_owned(),
                source,
                observed: answer.clone(),
            })?;
        if let Some(RpcFailure {
            code,
            message,
            data,
        }) = parsed.error
        {
            return Err(JudgeError::Rpc {
                method,
                code,
                message,
                data,
            });
        }
        serde_json::from_value(parsed.result).map_err(|source| JudgeError::Json {
            origin: method.to_owned(),
            source,
            observed: answer,
        })
    }

    /// Calls a function of a contract without a transaction.
    ///
    /// # Errors
    /// [`JudgeError::Rpc`] when the call reverts, [`JudgeError::Abi`] when the answer is of another
    /// type.
    pub async fn view<C: SolCall>(
        &self,
        contract: Address,
        call: &C,
    ) -> Result<C::Return, JudgeError> {
        let request = json!([{"to": contract, "data": Bytes::from(call.abi_encode())}, "latest"]);
        let answer: Bytes = self.call("eth_call", request).await?;
        C::abi_decode_returns(&answer).map_err(|source| JudgeError::Abi {
            call: C::SIGNATURE,
            source,
        })
    }

    /// The number of the newest block.
    ///
    /// # Errors
    /// As [`Rpc::call`].
    pub async fn block_number(&self) -> Result<U64, JudgeError> {
        self.call("eth_blockNumber", json!([])).await
    }

    /// The outcome of a transaction; `None` while it is in no block.
    ///
    /// # Errors
    /// As [`Rpc::call`].
    pub async fn receipt(
        &self,
        transaction: B256,
    ) -> Result<Option<TransactionReceipt>, JudgeError> {
        self.call("eth_getTransactionReceipt", json!([transaction]))
            .await
    }

    /// The balance of an account in the chain's own coin, in wei.
    ///
    /// # Errors
    /// As [`Rpc::call`].
    pub async fn balance(&self, account: Address) -> Result<U256, JudgeError> {
        self.call("eth_getBalance", json!([account, "latest"]))
            .await
    }
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error: Option<RpcFailure>,
}

#[derive(Deserialize)]
struct RpcFailure {
    code: i64,
    message: String,
    #[serde(default)]
    data: Option<Value>,
}
