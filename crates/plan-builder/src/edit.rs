//! Requests that are made and changed in code.
//!
//! A request has no public members: the reader of the arguments makes every one of them. A typed
//! constructor therefore writes arguments and has them read, and a change writes the normal form
//! with one other argument. No bound is written twice, and none can be stepped over.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Refusal, seal::unwritable};

/// A request that its reader makes.
pub(crate) trait Editable: Serialize + Sized {
    /// Reads arguments.
    fn read_from(arguments: &Value) -> Result<Self, Refusal>;

    /// Makes a request of named arguments.
    fn of<const N: usize>(arguments: [(&str, Value); N]) -> Result<Self, Refusal> {
        let named = arguments.map(|(name, value)| (name.to_owned(), value));
        Self::read_from(&Value::Object(Map::from_iter(named)))
    }

    /// The same request with another value of one argument.
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
