//! The operations that a server does not serve, and the payment schemes that it cannot settle.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use x402_wire::Scheme;

use crate::Operation;

/// The name of the extension of a 402, and of the member of OpenAPI's operations.
pub(crate) const AVAILABILITY: &str = "availability";

/// The differences of one server from the table. By default there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offering {
    /// The operations that are refused whatever the payment.
    pub unserved: BTreeMap<Operation, Unserved>,
    /// The schemes in every challenge that this server cannot settle.
    pub unpayable: Vec<Scheme>,
}

/// The reason why an operation is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unserved {
    /// A stable code, such as `no_custody_connected`.
    pub reason: &'static str,
    /// The configuration keys that would enable it; any one of them is enough.
    pub needs: Vec<String>,
}

impl Unserved {
    /// One clause for people, without a full stop.
    #[must_use]
    pub fn sentence(&self) -> String {
        let needs = self.needs.join(" or ");
        match needs.is_empty() {
            true => format!("not served here: {}", self.reason),
            false => format!("not served here: {} (needs {needs})", self.reason),
        }
    }

    /// `{"servable": false, "reason", "needs"}`.
    pub(crate) fn info(&self) -> Json {
        json!({"servable": false, "reason": self.reason, "needs": self.needs})
    }

    /// The extension of a 402: `info`, and its JSON Schema.
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
    /// The reason why `operation` is not served; `None` if it is served.
    #[must_use]
    pub fn of(&self, operation: Operation) -> Option<&Unserved> {
        self.unserved.get(&operation)
    }

    /// `{"servable": true}`, or why not.
    pub(crate) fn availability(&self, operation: Operation) -> Json {
        self.of(operation)
            .map_or_else(|| json!({"servable": true}), Unserved::info)
    }
}
