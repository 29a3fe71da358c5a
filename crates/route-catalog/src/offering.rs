//! The operations that a server does not serve, and the payment schemes that it cannot settle.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use x402_wire::Scheme;

use crate::Operation;

/// The name of the extension of a 402, and of the member of an OpenAPI operation.
pub(crate) const AVAILABILITY: &str = "availability";

/// The operations that one server does not serve, and the schemes that it cannot settle. By default
/// it serves and settles everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offering {
    /// The operations that the server refuses, whatever the payment is.
    pub unserved: BTreeMap<Operation, Unserved>,
    /// The schemes that every challenge offers and this server cannot settle.
    pub unpayable: Vec<Scheme>,
}

/// Why an operation is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unserved {
    /// A stable code, such as `no_custody_connected`.
    pub reason: &'static str,
    /// The configuration keys that would enable it. Any one of them is enough.
    pub needs: Vec<String>,
}

impl Unserved {
    /// Returns one clause for people, without a full stop.
    #[must_use]
    pub fn sentence(&self) -> String {
        let needs = self.needs.join(" or ");
        match needs.is_empty() {
            true => format!("not served here: {}", self.reason),
            false => format!("not served here: {} (needs {needs})", self.reason),
        }
    }

    /// Returns `{"servable": false, "reason", "needs"}`.
    pub(crate) fn info(&self) -> Json {
        json!({"servable": false, "reason": self.reason, "needs": self.needs})
    }

    /// Returns the extension of a 402: `info` and its JSON Schema.
    pub(crate) fn extension(&self) -> Json {
        json!({
            "info": self.info(),
            "schema": {
                "type": "object",
                "properties": {
                    "servable": {"type": "boolean"},
                    "reason": {"type": "string"},
                    "needs": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["servable"],
            },
        })
    }
}

impl Offering {
    /// Returns why `operation` is not served. `None` when it is served.
    #[must_use]
    pub fn of(&self, operation: Operation) -> Option<&Unserved> {
        self.unserved.get(&operation)
    }

    /// Returns `{"servable": true}`, or [`Unserved::info`].
    pub(crate) fn availability(&self, operation: Operation) -> Json {
        self.of(operation)
            .map_or_else(|| json!({"servable": true}), Unserved::info)
    }
}
