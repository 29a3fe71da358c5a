//! The next step that a caller should take about a payment.

use std::fmt::{self, Write as _};

use serde_json::{Value as Json, json};
use x402_wire::push_ascii_escaped;

/// The next step that a caller should take about a payment. Every 402, 409, 429 and 503 about a
/// payment has it in the member `next`; a 402 has it inside `refusal`.
///
/// A client that follows this advice never pays twice. [`SignNew`](Self::SignNew) is given only for
/// a payment that can no longer move money, or that this service never takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Sign a new payment.
    SignNew,
    /// Send the same header again for the same request.
    SendSameAgain {
        /// Seconds to wait before sending.
        after_seconds: u64,
    },
    /// Ask for the state of the payment, free of charge.
    LookUp {
        /// The URL of the payment's state.
        url: String,
    },
    /// Wait, then ask for the state of the payment. Until its window is over, the payment may still
    /// be executed, or may be taken under other terms.
    Wait {
        /// Seconds to wait.
        after_seconds: u64,
        /// The URL of the payment's state.
        url: String,
    },
    /// Nothing: no step that the caller takes now can succeed.
    None,
}

impl Next {
    /// Returns the stable name on the wire.
    #[must_use]
    pub const fn action(&self) -> &'static str {
        match self {
            Self::SignNew => "sign_new",
            Self::SendSameAgain { .. } => "send_same_again",
            Self::LookUp { .. } => "look_up",
            Self::Wait { .. } => "wait",
            Self::None => "none",
        }
    }

    /// Returns the seconds to wait before the step. `None` for a step without a wait.
    #[must_use]
    pub const fn after_seconds(&self) -> Option<u64> {
        match self {
            Self::SendSameAgain { after_seconds } | Self::Wait { after_seconds, .. } => {
                Some(*after_seconds)
            }
            Self::SignNew | Self::LookUp { .. } | Self::None => None,
        }
    }

    /// Returns the URL of the payment's state, for a step that asks for it.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::LookUp { url } | Self::Wait { url, .. } => Some(url),
            Self::SignNew | Self::SendSameAgain { .. } | Self::None => None,
        }
    }

    /// Returns the value of the member `next`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let mut next = json!({ "action": self.action() });
        if let Some(members) = next.as_object_mut() {
            if let Some(seconds) = self.after_seconds() {
                members.insert("after_seconds".to_owned(), seconds.into());
            }
            if let Some(url) = self.url() {
                members.insert("url".to_owned(), url.into());
            }
        }
        next
    }

    /// Appends the value of the member as ASCII text.
    pub(crate) fn push_json(&self, json: &mut String) {
        json.push_str(r#"{"action":""#);
        json.push_str(self.action());
        json.push('"');
        if let Some(seconds) = self.after_seconds() {
            // Writing to a `String` cannot fail.
            let _ = write!(json, r#","after_seconds":{seconds}"#);
        }
        if let Some(url) = self.url() {
            json.push_str(r#","url":""#);
            push_ascii_escaped(json, url);
            json.push('"');
        }
        json.push('}');
    }

    /// Returns the JSON Schema of the member.
    pub(crate) fn schema() -> Json {
        json!({
            "type": "object",
            "description": "What to do about the payment. `sign_new`: sign a new one. \
                            `send_same_again`: send the same header for the same request, after \
                            `after_seconds`. `look_up`: ask `url` for the state of the payment, \
                            free of charge. `wait`: the payment may still be charged; after \
                            `after_seconds` ask `url`. `none`: nothing that the caller does now \
                            can succeed. A client that signs a new payment only \
                            when told to never pays twice.",
            "properties": {
                "action": {"type": "string",
                           "enum": ["sign_new", "send_same_again", "look_up", "wait", "none"]},
                "after_seconds": {"type": "integer", "minimum": 0},
                "url": {"type": "string", "format": "uri"},
            },
            "required": ["action"],
        })
    }
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.action())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_renderings_are_the_same_json() {
        let url = || "https://example.test/payments/\u{20ae}\"".to_owned();
        for next in [
            Next::SignNew,
            Next::None,
            Next::SendSameAgain { after_seconds: 5 },
            Next::LookUp { url: url() },
            Next::Wait {
                after_seconds: 300,
                url: url(),
            },
        ] {
            let mut text = String::new();
            next.push_json(&mut text);
            assert!(text.is_ascii());
            let parsed: Json = serde_json::from_str(&text).unwrap();
            assert_eq!(parsed, next.to_json());
            assert!(jsonschema::is_valid(&Next::schema(), &parsed), "{text}");
        }
    }
}
