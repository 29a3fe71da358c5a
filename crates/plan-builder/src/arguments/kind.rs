//! The forms of arguments: how each form is read, described and written as JSON Schema.

use alloy_primitives::{Address, B256, U256};
use calldata_checks::Decimal;
use serde_json::{Value, json};
/// The form of an argument.
#[derive(Debug)]
pub(super) enum Kind {
    Address,
    Amount,
    AmountOrInteger,
    Digits,
    Decimal,
    Integer {
        min: u64,
        max: u64,
    },
    Choice(&'static [&'static str]),
    Choices(&'static [&'static str]),
    Flag,
    Word,
    Text {
        pattern: &'static str,
        max_length: usize,
        accepts: fn(&str) -> bool,
    },
}

impl Kind {
    /// Returns the text that a problem states as expected.
    pub(super) fn expectation(&self) -> String {
        match self {
            Self::Address => {
                "an address: 0x and 40 hex digits, not zero, with a right checksum when in mixed case".to_owned()
            }
            Self::Amount => "a string of digits above zero, in the smallest unit".to_owned(),
            Self::AmountOrInteger => "a string of digits, or a non-negative integer below 2^64".to_owned(),
            Self::Digits => "a string of digits below 2^256".to_owned(),
            Self::Decimal => "a decimal above zero as a string, for example \"0.5\"".to_owned(),
            Self::Integer { min, max } => format!("an integer from {min} to {max}"),
            Self::Choice(words) => format!("one of {}", quoted(words)),
            Self::Choices(words) => format!("a list of different words of {}", quoted(words)),
            Self::Flag => "true or false".to_owned(),
            Self::Word => "0x and 64 hex digits".to_owned(),
            Self::Text { pattern, .. } => format!("a string that matches {pattern}"),
        }
    }

    /// Writes the form as JSON Schema. `type` is always one type: model providers refuse a list.
    pub(super) fn schema(&self) -> Value {
        match self {
            Self::Address => json!({"type": "string", "pattern": "^0x[0-9a-fA-F]{40}$"}),
            Self::Amount => json!({"type": "string", "pattern": "^[1-9][0-9]{0,77}$"}),
            Self::AmountOrInteger => json!({"anyOf": [
                {"type": "string", "pattern": "^(0|[1-9][0-9]{0,77})$"},
                {"type": "integer", "minimum": 0},
            ]}),
            Self::Digits => json!({"type": "string", "pattern": "^(0|[1-9][0-9]{0,77})$"}),
            Self::Decimal => json!({
                "type": "string", "pattern": "^(0|[1-9][0-9]*)(\\.[0-9]+)?$", "maxLength": 37
            }),
            Self::Integer { min, max } => json!({"anyOf": [
                {"type": "integer", "minimum": min, "maximum": max},
                {"type": "string", "pattern": "^(0|[1-9][0-9]{0,19})$"},
            ]}),
            Self::Choice(words) => json!({"type": "string", "enum": words}),
            Self::Choices(words) => json!({
                "type": "array", "items": {"type": "string", "enum": words}, "uniqueItems": true
            }),
            Self::Flag => json!({"type": "boolean"}),
            Self::Word => json!({"type": "string", "pattern": "^0x[0-9a-fA-F]{64}$"}),
            Self::Text {
                pattern,
                max_length,
                ..
            } => json!({
                "type": "string", "pattern": pattern, "maxLength": max_length
            }),
        }
    }
}

pub(super) fn address(json: &Value) -> Option<Address> {
    let address = exact::address::parse(json.as_str()?).ok();
    address.filter(|address| !address.is_zero())
}

pub(super) fn digits(json: &Value) -> Option<U256> {
    exact::parse_uint(json.as_str()?)
}

pub(super) fn amount(json: &Value) -> Option<U256> {
    digits(json).filter(|amount| !amount.is_zero())
}

pub(super) fn amount_or_integer(json: &Value) -> Option<U256> {
    match json {
        Value::Number(number) => number.as_u64().map(U256::from),
        _ => digits(json),
    }
}

pub(super) fn decimal(json: &Value) -> Option<Decimal> {
    let value: Decimal = json.as_str()?.parse().ok()?;
    (!value.is_zero()).then_some(value)
}

pub(super) fn integer(kind: &Kind, json: &Value) -> Option<u64> {
    let Kind::Integer { min, max } = kind else {
        return None;
    };
    let value = match json {
        Value::Number(number) => number.as_u64()?,
        _ => u64::try_from(digits(json)?).ok()?,
    };
    (*min..=*max).contains(&value).then_some(value)
}

pub(super) fn choice(kind: &Kind, json: &Value) -> Option<&'static str> {
    let Kind::Choice(words) = kind else {
        return None;
    };
    word_of(words, json)
}

pub(super) fn choices(kind: &Kind, json: &Value) -> Option<Vec<&'static str>> {
    let Kind::Choices(words) = kind else {
        return None;
    };
    let mut chosen = Vec::new();
    for item in json.as_array()? {
        let word = word_of(words, item)?;
        if chosen.contains(&word) {
            return None;
        }
        chosen.push(word);
    }
    Some(chosen)
}

pub(super) fn word(json: &Value) -> Option<B256> {
    exact::parse_hex_array(json.as_str()?).map(B256::new)
}

pub(super) fn text(kind: &Kind, json: &Value) -> Option<String> {
    let Kind::Text {
        max_length,
        accepts,
        ..
    } = kind
    else {
        return None;
    };
    let text = json.as_str()?;
    (text.chars().count() <= *max_length && accepts(text)).then(|| text.to_owned())
}

fn word_of(words: &'static [&'static str], json: &Value) -> Option<&'static str> {
    let text = json.as_str()?;
    words.iter().find(|word| **word == text).copied()
}

fn quoted(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("\"{word}\""))
        .collect::<Vec<_>>()
        .join(", ")
}
