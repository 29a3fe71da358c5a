//! The typed values of parameters, and the set of all values of one request.

use std::fmt;

use alloy_primitives::{Address, B256, Bytes, U256};

use crate::Chain;

/// One value. The [`Rule`](crate::Rule) of its parameter has read it.
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
    /// Trimmed text, a word of a choice, a cursor, or a decimal in its shortest form.
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
    /// Writes a text that the same rule reads as the same value. Lists of text and objects have no
    /// text form; they are written for logs only.
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

/// The parameters of one request. All of them are valid, and defaults are filled in.
///
/// A name is never in the query and in the body of a route, so one look-up serves both. A look-up
/// returns `None` for a name that the route does not declare, and for another type than the one of
/// the name's rule.
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
    /// Returns the value of `name`.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// Returns every value with its name, in the order of the declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    /// Returns the address of `name`.
    pub fn address(&self, name: &str) -> Option<Address> {
        match self.value(name)? {
            Value::Address(address) => Some(*address),
            _ => None,
        }
    }

    /// Returns the 32-byte hash of `name`.
    pub fn hash(&self, name: &str) -> Option<B256> {
        match self.value(name)? {
            Value::Hash(hash) => Some(*hash),
            _ => None,
        }
    }

    /// Returns the bytes of `name`.
    pub fn bytes(&self, name: &str) -> Option<&Bytes> {
        match self.value(name)? {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns the amount of `name`, in the smallest unit.
    pub fn uint(&self, name: &str) -> Option<U256> {
        match self.value(name)? {
            Value::Uint(uint) => Some(*uint),
            _ => None,
        }
    }

    /// Returns the text of `name`: a word of a choice, a cursor, other text, or a decimal in its
    /// shortest form.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.value(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the whole number of `name`.
    pub fn integer(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Integer(integer) => Some(*integer),
            _ => None,
        }
    }

    /// Returns the yes or no of `name`.
    pub fn boolean(&self, name: &str) -> Option<bool> {
        match self.value(name)? {
            Value::Boolean(boolean) => Some(*boolean),
            _ => None,
        }
    }

    /// Returns the time of `name`, in Unix milliseconds.
    pub fn timestamp_ms(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Timestamp(ms) => Some(*ms),
            _ => None,
        }
    }

    /// Returns the chain of `name`.
    pub fn chain(&self, name: &str) -> Option<Chain> {
        match self.value(name)? {
            Value::Chain(chain) => Some(*chain),
            _ => None,
        }
    }

    /// Returns the chains of `name`. No chain occurs twice.
    pub fn chains(&self, name: &str) -> Option<&[Chain]> {
        match self.value(name)? {
            Value::Chains(chains) => Some(chains),
            _ => None,
        }
    }

    /// Returns the lines of text of `name`.
    pub fn lines(&self, name: &str) -> Option<&[String]> {
        match self.value(name)? {
            Value::Lines(lines) => Some(lines),
            _ => None,
        }
    }

    /// Returns the members of the object of `name`.
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
