//! Declares the arguments of the constructors. One declaration gives an argument's name, its
//! description, its JSON Schema and its reader.

mod kind;
mod reader;

use std::fmt;

use alloy_primitives::{Address, B256, U256};
use calldata_checks::Decimal;
use exact::JsonDefect;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::kind::Kind;
pub(crate) use self::reader::{Outcome, Reader, parse};

/// The most problems that are listed for one set of arguments.
pub(crate) const MOST_PROBLEMS: usize = 32;

/// A problem of a constructor's arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// The path of the argument, for example `$.slippage.maxBps`.
    pub path: String,
    /// The expected value.
    pub expected: String,
    /// The observed value.
    pub observed: String,
}

impl From<JsonDefect> for Problem {
    fn from(defect: JsonDefect) -> Self {
        Self {
            path: defect.path,
            expected: defect.expected.to_owned(),
            observed: defect.observed,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: expected {}, got {}",
            self.path, self.expected, self.observed
        )
    }
}

/// The declaration of one argument.
#[derive(Debug)]
pub(crate) struct Argument<T> {
    pub(crate) name: &'static str,
    description: &'static str,
    kind: Kind,
    read: fn(&Kind, &Value) -> Option<T>,
}

impl<T> Argument<T> {
    /// Returns the value, if it has the declared form.
    pub(crate) fn value(&self, json: &Value) -> Option<T> {
        (self.read)(&self.kind, json)
    }

    const fn new(
        name: &'static str,
        description: &'static str,
        kind: Kind,
        read: fn(&Kind, &Value) -> Option<T>,
    ) -> Self {
        Self {
            name,
            description,
            kind,
            read,
        }
    }
}

impl Argument<Address> {
    /// `0x` and 40 hex digits. Digits of mixed case must have the right checksum (EIP-55). The zero
    /// address is refused.
    pub(crate) const fn address(name: &'static str, description: &'static str) -> Self {
        Self::new(name, description, Kind::Address, |_, json| {
            kind::address(json)
        })
    }
}

impl Argument<U256> {
    /// A whole number above zero, in a token's smallest unit, as a string of digits.
    pub(crate) const fn amount(name: &'static str, description: &'static str) -> Self {
        Self::new(name, description, Kind::Amount, |_, json| {
            kind::amount(json)
        })
    }

    /// As [`Self::amount`], but also zero, and also an exact JSON integer.
    pub(crate) const fn amount_or_integer(name: &'static str, description: &'static str) -> Self {
        Self::new(name, description, Kind::AmountOrInteger, |_, json| {
            kind::amount_or_integer(json)
        })
    }

    /// A 256-bit identifier as a string of digits.
    pub(crate) const fn digits(name: &'static str, description: &'static str) -> Self {
        Self::new(name, description, Kind::Digits, |_, json| {
            kind::digits(json)
        })
    }
}

impl Argument<Decimal> {
    /// A decimal above zero, as a string.
    pub(crate) const fn decimal(name: &'static str, description: &'static str) -> Self {
        Self::new(name, description, Kind::Decimal, |_, json| {
            kind::decimal(json)
        })
    }
}

impl Argument<u64> {
    /// A JSON integer or a digit string, within bounds.
    pub(crate) const fn integer(
        name: &'static str,
        description: &'static str,
        min: u64,
        max: u64,
    ) -> Self {
        Self::new(name, description, Kind::Integer { min, max }, kind::integer)
    }
}

impl Argument<&'static str> {
    /// One word of a fixed list.
    pub(crate) const fn choice(
        name: &'static str,
        description: &'static str,
        words: &'static [&'static str],
    ) -> Self {
        Self::new(name, description, Kind::Choice(words), kind::choice)
    }
}

impl Argument<Vec<&'static str>> {
    /// A list of different words, each from a fixed list.
    pub(crate) const fn choices(
        name: &'static str,
        description: &'static str,
        words: &'static [&'static str],
    ) -> Self {
        Self::new(name, description, Kind::Choices(words), kind::choices)
    }
}

impl Argument<bool> {
    /// `true` or `false`.
    pub(crate) const fn flag(name: &'static str, description: &'static str) -> Self {
        Self::new(name, description, Kind::Flag, |_, json| json.as_bool())
    }
}

impl Argument<B256> {
    /// `0x` and 64 hex digits.
    pub(crate) const fn word(name: &'static str, description: &'static str) -> Self {
        Self::new(name, description, Kind::Word, |_, json| kind::word(json))
    }
}

impl Argument<String> {
    /// Text that a function accepts. `pattern` states the same rule as a regular expression for
    /// JSON Schema.
    pub(crate) const fn text(
        name: &'static str,
        description: &'static str,
        pattern: &'static str,
        max_length: usize,
        accepts: fn(&str) -> bool,
    ) -> Self {
        Self::new(
            name,
            description,
            Kind::Text {
                pattern,
                max_length,
                accepts,
            },
            kind::text,
        )
    }
}

/// A member of an arguments object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Property {
    member: Member,
    required: bool,
}

#[derive(Debug, Clone, Copy)]
enum Member {
    Value(&'static dyn Declared),
    Object(&'static Object),
}

/// A nested object.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) properties: &'static [Property],
}

impl Property {
    pub(crate) const fn required(argument: &'static dyn Declared) -> Self {
        Self {
            member: Member::Value(argument),
            required: true,
        }
    }

    pub(crate) const fn optional(argument: &'static dyn Declared) -> Self {
        Self {
            member: Member::Value(argument),
            required: false,
        }
    }

    pub(crate) const fn required_object(object: &'static Object) -> Self {
        Self {
            member: Member::Object(object),
            required: true,
        }
    }

    pub(crate) const fn optional_object(object: &'static Object) -> Self {
        Self {
            member: Member::Object(object),
            required: false,
        }
    }

    fn name(&self) -> &'static str {
        match self.member {
            Member::Value(argument) => argument.name(),
            Member::Object(object) => object.name,
        }
    }
}

/// The interface of every argument, whatever its type.
pub(crate) trait Declared: Sync + fmt::Debug {
    fn name(&self) -> &'static str;
    fn schema(&self) -> Value;
}

impl<T: fmt::Debug + 'static> Declared for Argument<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn schema(&self) -> Value {
        let mut schema = self.kind.schema();
        if let Value::Object(members) = &mut schema {
            members.insert("description".to_owned(), json!(self.description));
        }
        schema
    }
}

/// Builds the JSON Schema of an object that has these members and no others.
pub(crate) fn schema_of(properties: &[Property]) -> Value {
    let required: Vec<_> = properties
        .iter()
        .filter(|property| property.required)
        .map(Property::name)
        .collect();
    let members = properties
        .iter()
        .map(|property| {
            let schema = match property.member {
                Member::Value(argument) => argument.schema(),
                Member::Object(object) => {
                    let mut schema = schema_of(object.properties);
                    if let Value::Object(members) = &mut schema {
                        members.insert("description".to_owned(), json!(object.description));
                    }
                    schema
                }
            };
            (property.name().to_owned(), schema)
        })
        .collect::<serde_json::Map<_, _>>();
    json!({
        "type": "object",
        "properties": members,
        "required": required,
        "additionalProperties": false,
    })
}
