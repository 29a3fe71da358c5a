//! Extensions of a challenge, each with its JSON as it came.

use std::collections::BTreeMap;

use serde::de::Deserializer;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::PaymentId;
use crate::codec::RawJson;

/// Extensions by name, each with its JSON text as it came: `{info, schema}`.
///
/// A buyer sends every extension back. It may add members and must not change any (x402 v2 section
/// 5.1.2). The crate keeps the text, because numbers do not always survive a parser.
///
/// # Example
/// ```
/// use x402_wire::Extensions;
///
/// let extensions: Extensions = serde_json::from_str(r#"{"shop":{"info":{"n":1.10}}}"#)?;
/// assert_eq!(extensions.get("shop"), Some(r#"{"info":{"n":1.10}}"#));
/// assert_eq!(serde_json::to_string(&extensions)?, r#"{"shop":{"info":{"n":1.10}}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Extensions(BTreeMap<String, String>);

/// The name of the extension `payment-identifier`.
const PAYMENT_IDENTIFIER: &str = "payment-identifier";

impl Extensions {
    /// Returns the JSON of an extension. `None` when there is none of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Adds an extension, or replaces the one of that name.
    ///
    /// # Example
    /// ```
    /// use x402_wire::Extensions;
    ///
    /// let mut extensions = Extensions::default();
    /// extensions.insert("payment-identifier", &serde_json::json!({"info": {"required": false}}));
    /// assert_eq!(extensions.get("payment-identifier"), Some(r#"{"info":{"required":false}}"#));
    /// ```
    pub fn insert(&mut self, name: impl Into<String>, value: &Value) {
        self.0.insert(name.into(), value.to_string());
    }

    /// Iterates over the names with their JSON, in the order of the names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        let entries = self.0.iter();
        entries.map(|(name, json)| (name.as_str(), json.as_str()))
    }

    /// Returns whether there are no extensions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads whether the seller requires a payment identifier. `None` when the seller does not
    /// accept one.
    pub(crate) fn payment_identifier(&self) -> Option<Identifier> {
        let extension = members(self.get(PAYMENT_IDENTIFIER)?)?;
        let info = extension.get("info").and_then(|info| members(info.get()));
        let required = info.as_ref().and_then(|info| info.get("required"));
        Some(match required.map(|required| required.get()) {
            Some("true") => Identifier::Required,
            _ => Identifier::Optional,
        })
    }

    /// Returns the extensions with the buyer's identifier, if the seller accepts one.
    pub(crate) fn with_payment_id(&self, id: &PaymentId) -> Self {
        let mut extensions = self.clone();
        if let Some(json) = extensions.0.get_mut(PAYMENT_IDENTIFIER)
            && let Some(identified) = identified(json, id)
        {
            *json = identified;
        }
        extensions
    }
}

/// Returns a payment's JSON with this extension in place of the payer's own copy. All other members
/// keep their text. `None` when the payment or its `extensions` is no object.
pub(crate) fn with_extension(payment: &str, name: &str, json: &str) -> Option<String> {
    let mut payment = members(payment)?;
    let mut extensions = match payment.get("extensions") {
        Some(extensions) if extensions.get() != "null" => members(extensions.get())?,
        _ => Members::new(),
    };
    extensions.insert(
        name.to_owned(),
        RawValue::from_string(json.to_owned()).ok()?,
    );
    payment.insert("extensions".to_owned(), to_raw_value(&extensions).ok()?);
    serde_json::to_string(&payment).ok()
}

/// The members of a JSON object, each with its text as it came.
type Members = BTreeMap<String, Box<RawValue>>;

/// Reads the members of an object; `None` for any other JSON.
fn members(json: &str) -> Option<Members> {
    serde_json::from_str(json).ok()
}

/// Returns the extension with `info.id`. `None` when the extension or its `info` is not an object.
fn identified(json: &str, id: &PaymentId) -> Option<String> {
    let mut extension = members(json)?;
    let mut info = match extension.get("info") {
        Some(info) => members(info.get())?,
        None => Members::new(),
    };
    info.insert("id".to_owned(), to_raw_value(id.as_str()).ok()?);
    extension.insert("info".to_owned(), to_raw_value(&info).ok()?);
    serde_json::to_string(&extension).ok()
}

/// How a seller uses payment identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identifier {
    Optional,
    Required,
}

impl Serialize for Extensions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, json) in &self.0 {
            map.serialize_entry(name, &RawJson(json))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Extensions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = BTreeMap::<String, Box<RawValue>>::deserialize(deserializer)?;
        let entries = entries.into_iter();
        Ok(Self(
            entries
                .map(|(name, json)| (name, json.get().to_owned()))
                .collect(),
        ))
    }
}
