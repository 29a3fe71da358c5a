//! The forms of answers.

use alloy_primitives::U64;
use serde::Serialize;
use serde_json::{Value, json, to_value};

use super::error::RpcError;

/// A number as `0x…` without leading zeros.
pub(super) fn quantity(number: u64) -> Value {
    json!(U64::from(number))
}

/// Any serialisable answer.
pub(super) fn answer<T: Serialize>(value: &T) -> Result<Value, RpcError> {
    to_value(value).map_err(|error| RpcError::new(-32603, error.to_string()))
}
