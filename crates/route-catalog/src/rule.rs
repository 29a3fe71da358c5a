//! The rules that the values of parameters obey. A rule reads a text or a JSON value and returns a
//! typed value, or says what it expected.

use std::fmt;

use alloy_primitives::{Address, B256, Bytes};
use exact::{DecimalText, MAX_UINT_DIGITS, parse_hex, parse_hex_array};

use crate::{
    Chain, Parameter, Value,
    problem::{ParameterFault, shown},
    timestamp,
};

/// The rule of one parameter. Reading a value by its rule returns a typed [`Value`], or a fault
/// with the expected and the observed value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// An EVM address, `^0x[a-fA-F0-9]{40}$`. The case is not checked as a checksum.
    Address,
    /// A transaction hash, `^0x[a-fA-F0-9]{64}$`.
    Hash,
    /// Bytes as `0x` and an even number of hex digits. They are `min` to `max` bytes long.
    Bytes {
        /// The fewest bytes.
        min: usize,
        /// The most bytes.
        max: usize,
    },
    /// An amount in the smallest unit, `^\d+$`, at most 2^256 − 1.
    Uint256,
    /// An amount in whole tokens, above zero, `^\d+(\.\d+)?$`.
    Amount,
    /// An [`Rule::Amount`], or this word.
    AmountOr(&'static str),
    /// A decimal from `min` to `max`, both included. The comparison is exact.
    Decimal {
        /// The smallest value.
        min: &'static str,
        /// The largest value.
        max: &'static str,
    },
    /// A symbol of a token or market: 1 to 64 characters after trimming and after the removal of
    /// one leading `$`.
    Symbol,
    /// One line of text. It has 1 to `max` characters after trimming.
    Line {
        /// The most characters.
        max: usize,
    },
    /// Text of 1 to `max` characters after trimming. Line breaks are allowed. It is private, so no
    /// problem repeats it.
    Prompt {
        /// The most characters.
        max: usize,
    },
    /// One of these words, written exactly so.
    Choice(&'static [&'static str]),
    /// A chain of this set, by its id or its name. The case of the name does not matter.
    Chain(&'static [Chain]),
    /// Chains of this set, each at most once. A query has them in a list with commas, a body in a
    /// JSON list.
    Chains(&'static [Chain]),
    /// A whole number from `min` to `max`.
    Integer {
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// Yes or no in a query: `1`, `true`, `0` or `false`.
    Flag,
    /// Yes or no in a body: `true` or `false`.
    Boolean,
    /// The opaque `next_cursor` of an earlier answer.
    Cursor,
    /// A time: RFC 3339, or Unix milliseconds as digits.
    Timestamp,
    /// A list of 1 to `max` lines of text, in a body.
    Lines {
        /// The most entries.
        max: usize,
    },
    /// An object with these members and no others, in a body.
    Object(&'static [Parameter]),
}

/// The longest cursor, in bytes.
const MAX_CURSOR_BYTES: usize = 512;
/// The longest entry of [`Rule::Lines`], in characters.
pub(crate) const MAX_LINE_ENTRY_CHARS: usize = 64;
/// The longest symbol, in characters.
pub(crate) const MAX_SYMBOL_CHARS: usize = 64;

impl Rule {
    /// Reads a value from its text form: a decoded query value or a JSON string.
    pub(crate) fn read_text(&self, text: &str) -> Result<Value, ParameterFault> {
        let value = match *self {
            Self::Address => parse_hex_array(text).map(Address::new).map(Value::Address),
            Self::Hash => parse_hex_array(text).map(B256::new).map(Value::Hash),
            Self::Bytes { min, max } => byte_string(text, min, max).map(Value::Bytes),
            Self::Uint256 => exact::parse_digits(text).map(Value::Uint),
            Self::Amount => amount(text).map(Value::Text),
            Self::AmountOr(word) if text == word => Some(Value::Text(word.to_owned())),
            Self::AmountOr(_) => amount(text).map(Value::Text),
            Self::Decimal { min, max } => decimal_between(text, min, max).map(Value::Text),
            Self::Symbol => symbol(text).map(Value::Text),
            Self::Line { max } => line(text, max).map(Value::Text),
            Self::Prompt { max } => prompt(text, max).map(Value::Text),
            Self::Choice(words) => words
                .iter()
                .find(|word| **word == text)
                .map(|word| Value::Text((*word).to_owned())),
            Self::Chain(set) => Chain::find(set, text).map(Value::Chain),
            Self::Chains(set) => chains(set, text.split(',')).map(Value::Chains),
            Self::Integer { min, max } => integer(text, min, max).map(Value::Integer),
            Self::Flag | Self::Boolean => match text {
                "1" | "true" => Some(Value::Boolean(true)),
                "0" | "false" => Some(Value::Boolean(false)),
                _ => None,
            },
            Self::Cursor => cursor(text).map(Value::Text),
            Self::Timestamp => timestamp::parse_ms(text).map(Value::Timestamp),
            Self::Lines { .. } | Self::Object(_) => None,
        };
        value.ok_or_else(|| self.refuse(text))
    }

    /// Returns the rule in words, for problems and documents.
    pub fn expected(&self) -> String {
        self.to_string()
    }

    fn refuse(&self, text: &str) -> ParameterFault {
        let observed = match self {
            Self::Prompt { .. } => format!("{} characters", text.trim().chars().count()),
            _ => shown(text),
        };
        ParameterFault::Invalid {
            expected: self.expected(),
            observed,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => f.write_str("an EVM address (0x and 40 hex digits)"),
            Self::Hash => f.write_str("a transaction hash (0x and 64 hex digits)"),
            Self::Bytes { min, max } if min == max => {
                write!(f, "0x and the hex digits of {min} bytes")
            }
            Self::Bytes { min, max } => {
                write!(f, "0x and the hex digits of {min} to {max} bytes")
            }
            Self::Uint256 => {
                f.write_str("a whole number in the smallest unit (digits only, at most 2^256 - 1)")
            }
            Self::Amount => f.write_str("a decimal amount above zero, such as 1.5"),
            Self::AmountOr(word) => write!(f, "a decimal amount above zero, or {word:?}"),
            Self::Decimal { min, max } => write!(f, "a decimal from {min} to {max}"),
            Self::Symbol => write!(f, "a symbol of 1 to {MAX_SYMBOL_CHARS} characters"),
            Self::Line { max } => write!(f, "one line of 1 to {max} characters"),
            Self::Prompt { max } => write!(f, "text of 1 to {max} characters"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::Chain(set) => write!(f, "a chain id or name: {}", chain_list(set)),
            Self::Chains(set) => write!(f, "chain ids or names, each once: {}", chain_list(set)),
            Self::Integer { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Flag => f.write_str("1, true, 0 or false"),
            Self::Boolean => f.write_str("true or false"),
            Self::Cursor => f.write_str("the next_cursor of an earlier answer"),
            Self::Timestamp => {
                f.write_str("a time from 2009 to 2099, in RFC 3339 or in unix milliseconds")
            }
            Self::Lines { max } => write!(
                f,
                "a list of 1 to {max} texts of 1 to {MAX_LINE_ENTRY_CHARS} characters"
            ),
            Self::Object(members) => {
                let names: Vec<_> = members.iter().map(|member| member.name).collect();
                write!(f, "an object with {}", names.join(", "))
            }
        }
    }
}

/// Writes a list of chains: `1/ethereum, 10/optimism, …`.
pub(crate) fn chain_list(set: &[Chain]) -> String {
    let names: Vec<_> = set
        .iter()
        .map(|chain| format!("{}/{}", chain.id, chain.name))
        .collect();
    names.join(", ")
}

fn byte_string(text: &str, min: usize, max: usize) -> Option<Bytes> {
    let is_short = text.len() <= max.saturating_mul(2).saturating_add(2);
    is_short
        .then(|| parse_hex(text))?
        .filter(|bytes| bytes.len() >= min)
        .map(Bytes::from)
}

/// Reads a whole number from `min` to `max` that has digits only.
pub(crate) fn integer(text: &str, min: u64, max: u64) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let value = plain.then(|| text.parse().ok())??;
    (min..=max).contains(&value).then_some(value)
}

fn amount(text: &str) -> Option<String> {
    DecimalText::parse(text)
        .ok()
        .filter(|decimal| !decimal.is_zero())
        .map(|decimal| decimal.canonical())
}

fn decimal_between(text: &str, min: &str, max: &str) -> Option<String> {
    let read = |text| DecimalText::parse(text).ok();
    let decimal = read(text)?;
    (read(min)? <= decimal && decimal <= read(max)?).then(|| decimal.canonical())
}

fn symbol(text: &str) -> Option<String> {
    let trimmed = text.trim();
    line(
        trimmed.strip_prefix('$').unwrap_or(trimmed),
        MAX_SYMBOL_CHARS,
    )
    .filter(|symbol| !symbol.starts_with('$'))
}

fn line(text: &str, max: usize) -> Option<String> {
    let trimmed = text.trim();
    (length_within(trimmed, max) && !trimmed.chars().any(char::is_control))
        .then(|| trimmed.to_owned())
}

fn prompt(text: &str, max: usize) -> Option<String> {
    let trimmed = text.trim();
    let printable = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    (length_within(trimmed, max) && trimmed.chars().all(printable)).then(|| trimmed.to_owned())
}

fn length_within(text: &str, max: usize) -> bool {
    !text.is_empty() && text.chars().nth(max).is_none()
}

fn cursor(text: &str) -> Option<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~=:/+".contains(&byte);
    ((1..=MAX_CURSOR_BYTES).contains(&text.len()) && text.bytes().all(allowed))
        .then(|| text.to_owned())
}

/// Reads the entries as chains of `set`. `None` when an entry is no chain of the set, when a chain
/// occurs twice, or when there is no entry.
pub(crate) fn chains<'a>(
    set: &[Chain],
    entries: impl Iterator<Item = &'a str>,
) -> Option<Vec<Chain>> {
    let mut found = Vec::new();
    for entry in entries {
        let chain = Chain::find(set, entry.trim())?;
        if found.contains(&chain) {
            return None;
        }
        found.push(chain);
    }
    (!found.is_empty()).then_some(found)
}

/// Reads one entry of a list as a line of text.
pub(crate) fn line_entry(text: &str) -> Option<String> {
    line(text, MAX_LINE_ENTRY_CHARS)
}

const _: () = assert!(MAX_UINT_DIGITS < DecimalText::MAX_LEN);

#[cfg(test)]
mod tests;
