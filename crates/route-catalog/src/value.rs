//! Typed values of parameters, and all values of one request.

use std::fmt;

use alloy_primitives::{Address, B256, Bytes, U256};

use crate::Chain;

/// One value, read by the [`Rule`](crate::Rule) of its parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// From [`Rule::Address`](crate::Rule::Address).
    Address(Address),
    /// From [`Rule::Hash`](crate::Rule::Hash).
    Hash(B256),
    /// From [`Rule::Bytes`](crate::Rule::Bytes).
    Bytes(Bytes),
    /// From [`Rule::Uint256`](crate::Rule::Uint256).
    Uint(U256),
    /// Trimmed text, a word of a choice, or a decimal in its shortest form.
    Text(String),
    /// From [`Rule::Integer`](crate::Rule::Integer).
    Integer(u64),
    /// From [`Rule::Flag`](crate::Rule::Flag) and [`Rule::Boolean`](crate::Rule::Boolean).
    Boolean(bool),
    /// Unix milliseconds.
    Timestamp(u64),
    /// From [`Rule::Chain`](crate::Rule::Chain).
    Chain(Chain),
    /// From [`Rule::Chains`](crate::Rule::Chains), in the caller's order.
    Chains(Vec<Chain>),
    /// From [`Rule::Lines`](crate::Rule::Lines), in the caller's order.
    Lines(Vec<String>),
    /// From [`Rule::Object`](crate::Rule::Object).
    Object(Parameters),
}

impl fmt::Display for Value {
    /// A text that the same rule reads as the same value. Lists of text and objects, which have no
    /// text form, are written for logs only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Hash(hash) => write!(f, "{hash}"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Uint(uint) => write!(f, "{uint}"),
            Self::Text(text) => f.write_str(text),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Boolean(boolean) => write!(f, "{boolean}"),
            Self::Timestamp(ms) => write!(f, "{ms}"),
            Self::Chain(chain) => write!(f, "{chain}"),
            Self::Chains(chains) => {
                let ids: Vec<_> = chains.iter().map(Chain::to_string).collect();
                f.write_str(&ids.join(","))
            }
            Self::Lines(lines) => write!(f, "{lines:?}"),
            Self::Object(members) => write!(f, "{members:?}"),
        }
    }
}

/// The parameters of one request, all of them valid. Defaults are filled in.
///
/// Names of the query and of the body never collide, so one lookup serves both. A lookup under a
/// name that the route does not declare, or as another type than its rule yields, answers `None`.
///
/// ```
/// use route_catalog::Operation;
///
/// let route = Operation::SupportedTokens.route();
/// let parameters = route.parse(Some("symbol=%24okb"), b"").unwrap();
/// assert_eq!(parameters.text("symbol"), Some("okb"));
/// assert_eq!(parameters.chain("chain").unwrap().id, 196);
/// assert_eq!(parameters.integer("limit"), Some(20));
/// assert_eq!(parameters.text("cursor"), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    values: Vec<(&'static str, Value)>,
}

impl Parameters {
    /// The value under `name`.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// Every value with its name, in the order of the declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    /// An address.
    pub fn address(&self, name: &str) -> Option<Address> {
        match self.value(name)? {
            Value::Address(address) => Some(*address),
            _ => None,
        }
    }

    /// A 32-byte hash.
    pub fn hash(&self, name: &str) -> Option<B256> {
        match self.value(name)? {
            Value::Hash(hash) => Some(*hash),
            _ => None,
        }
    }

    /// Bytes.
    pub fn bytes(&self, name: &str) -> Option<&Bytes> {
        match self.value(name)? {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// An amount in the smallest unit.
    pub fn uint(&self, name: &str) -> Option<U256> {
        match self.value(name)? {
            Value::Uint(uint) => Some(*uint),
            _ => None,
        }
    }

    /// Text, a word of a choice, a cursor, or a decimal in its shortest form.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.value(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number.
    pub fn integer(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Integer(integer) => Some(*integer),
            _ => None,
        }
    }

    /// A yes or no.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        match self.value(name)? {
            Value::Boolean(boolean) => Some(*boolean),
            _ => None,
        }
    }

    /// A time in unix milliseconds.
    pub fn timestamp_ms(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Timestamp(ms) => Some(*ms),
            _ => None,
        }
    }

    /// A chain.
    pub fn chain(&self, name: &str) -> Option<Chain> {
        match self.value(name)? {
            Value::Chain(chain) => Some(*chain),
            _ => None,
        }
    }

    /// A list of chains, none twice.
    pub fn chains(&self, name: &str) -> Option<&[Chain]> {
        match self.value(name)? {
            Value::Chains(chains) => Some(chains),
            _ => None,
        }
    }

    /// A list of texts.
    pub fn lines(&self, name: &str) -> Option<&[String]> {
        match self.value(name)? {
            Value::Lines(lines) => Some(lines),
            _ => None,
        }
    }

    /// The members of an object.
    pub fn object(&self, name: &str) -> Option<&Self> {
        match self.value(name)? {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(crate) fn insert(&mut self, name: &'static str, value: Value) {
        self.values.push((name, value));
    }
}
