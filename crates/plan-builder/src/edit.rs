//! Creates and changes requests in code.
//!
//! A request has no public members, because the reader of the arguments makes every one of them. A
//! typed constructor writes arguments and lets the reader read them. A change writes the normal
//! form with one other argument. So each bound exists only once, and no request escapes it.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Refusal, seal::unwritable};

/// A request that code creates and changes through the reader of its arguments.
pub(crate) trait Editable: Serialize + Sized {
    /// Reads a request from arguments.
    fn read_from(arguments: &Value) -> Result<Self, Refusal>;

    /// Creates a request from named arguments.
    fn of<const N: usize>(arguments: [(&str, Value); N]) -> Result<Self, Refusal> {
        let named = arguments.map(|(name, value)| (name.to_owned(), value));
        Self::read_from(&Value::Object(Map::from_iter(named)))
    }

    /// Returns the request with another value of one argument.
    fn with(&self, name: &str, value: impl Serialize) -> Result<Self, Refusal> {
        let mut arguments = json(self)?;
        if let Value::Object(members) = &mut arguments {
            members.insert(name.to_owned(), json(&value)?);
        }
        Self::read_from(&arguments)
    }
}

/// The JSON of a value.
pub(crate) fn json(value: &impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(value).map_err(|_| unwritable())
}
