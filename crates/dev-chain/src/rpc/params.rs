//! Positional parameters.

use std::vec::IntoIter;

use alloy_eips::BlockId;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value};

use super::error::RpcError;

/// The parameters of one call, taken from first to last.
#[derive(Debug)]
pub(crate) struct Params {
    values: IntoIter<Value>,
    taken: usize,
    given: usize,
}

impl Params {
    /// Accepts an array, or no parameters at all.
    pub(crate) fn new(params: Option<Value>) -> Result<Self, RpcError> {
        let values = match params {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(values)) => values,
            Some(_) => return Err(RpcError::invalid_params("non-array args")),
        };
        Ok(Self {
            given: values.len(),
            values: values.into_iter(),
            taken: 0,
        })
    }

    /// The next parameter, which is required.
    pub(crate) fn required<T: DeserializeOwned>(&mut self) -> Result<T, RpcError> {
        let index = self.taken;
        self.optional()?.ok_or_else(|| {
            RpcError::invalid_params(format!("missing value for required argument {index}"))
        })
    }

    /// The next parameter, if there is one that is not null.
    pub(crate) fn optional<T: DeserializeOwned>(&mut self) -> Result<Option<T>, RpcError> {
        let index = self.taken;
        self.taken = self.taken.saturating_add(1);
        match self.values.next() {
            None | Some(Value::Null) => Ok(None),
            Some(value) => from_value(value).map(Some).map_err(|error| {
                RpcError::invalid_params(format!("invalid argument {index}: {error}"))
            }),
        }
    }

    /// A block; the newest one by default.
    pub(crate) fn block(&mut self) -> Result<BlockId, RpcError> {
        Ok(self.optional()?.unwrap_or_default())
    }

    /// Refuses parameters that were not taken.
    pub(crate) fn end(mut self) -> Result<(), RpcError> {
        match self.values.next() {
            None => Ok(()),
            Some(_) => Err(RpcError::invalid_params(format!(
                "too many arguments, want at most {}",
                self.taken.min(self.given)
            ))),
        }
    }

    /// The only parameter.
    pub(crate) fn single<T: DeserializeOwned>(mut self) -> Result<T, RpcError> {
        let value = self.required()?;
        self.end()?;
        Ok(value)
    }
}
