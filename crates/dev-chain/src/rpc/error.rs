//! Errors in JSON-RPC form.

use alloy_primitives::Bytes;
use alloy_sol_types::{Revert, SolError};
use revm::context::result::InvalidTransaction;
use serde_json::{Value, json};

use crate::{admission::Refusal, error::ExecutionError};

/// A JSON-RPC error object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub(crate) fn parse() -> Self {
        Self::new(-32700, "parse error")
    }

    pub(crate) fn invalid_request(message: &str) -> Self {
        Self::new(-32600, message)
    }

    pub(crate) fn method_not_found(method: &str) -> Self {
        Self::new(
            -32601,
            format!("the method {method} does not exist/is not available"),
        )
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    /// An error of the node itself.
    pub(crate) fn server(message: impl Into<String>) -> Self {
        Self::new(-32000, message)
    }

    /// A state or block that this chain does not have.
    pub(crate) fn header_not_found() -> Self {
        Self::server("header not found")
    }

    /// `REVERT` with the contract's output, as text when it is `Error(string)`.
    pub(crate) fn reverted(output: &Bytes) -> Self {
        let message = match Revert::abi_decode(output) {
            Ok(revert) => format!("execution reverted: {}", revert.reason),
            Err(_) => "execution reverted".to_owned(),
        };
        Self {
            code: 3,
            message,
            data: Some(json!(output)),
        }
    }
}

impl From<Refusal> for RpcError {
    fn from(refusal: Refusal) -> Self {
        Self::server(refusal.to_string())
    }
}

impl From<ExecutionError> for RpcError {
    fn from(error: ExecutionError) -> Self {
        match error {
            ExecutionError::Invalid(InvalidTransaction::LackOfFundForMaxFee { fee, balance }) => {
                Self::server(format!(
                    "insufficient funds for gas * price + value: have {balance} want {fee}"
                ))
            }
            other => Self::server(other.to_string()),
        }
    }
}
