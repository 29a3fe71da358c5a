//! The text forms of values in an envelope. Each value has only one form, and no other form is
//! read.

mod convert;
mod eip55;

use std::{borrow::Cow, fmt};

use alloy_primitives::{B256, Bytes, U256, hex};
use calldata_checks::{Decimal, Step, StepKind, UtcSeconds};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Visitor},
};

pub(crate) use self::convert::As;
pub use self::eip55::Eip55;

/// Reads a text, without a copy when the input allows it.
struct TextVisitor<T>(fn(&str) -> Option<T>, &'static str);

impl<T> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).ok_or_else(|| E::custom(format_args!("expected {}", self.1)))
    }
}

/// A text of an envelope. It is a constant, or it was read.
pub(crate) type Text = Cow<'static, str>;

/// A number of up to 256 bits, written as decimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digits(pub U256);

impl Serialize for Digits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(self.0) {
            Ok(small) => serializer.collect_str(&small),
            Err(_) => serializer.collect_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Digits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(
            |text| exact::parse_uint(text).map(Self),
            "decimal digits without leading zeros",
        ))
    }
}

/// Bytes, written as `0x` and lower-case hex.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hex(pub Bytes);

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode_prefixed(&self.0))
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(
            |text| exact::parse_lower_hex(text).map(|bytes| Self(bytes.into())),
            "0x and lower-case hex",
        ))
    }
}

/// Thirty-two bytes, written as `0x` and 64 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Word(pub B256);

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(hex::Buffer::<32, true>::new().format(&self.0.0))
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(
            |text| exact::parse_lower_hex_array(text).map(|word| Self(word.into())),
            "0x and 64 lower-case hex digits",
        ))
    }
}

/// A time, written as RFC 3339 in UTC with whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub UtcSeconds);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(
            |text| text.parse().ok().map(Self),
            "a time of the form 2026-11-21T15:30:00Z",
        ))
    }
}

/// An exact decimal, written in canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Exact(pub Decimal);

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(
            |text| {
                let value: Decimal = text.parse().ok()?;
                (value.to_string() == text).then_some(Self(value))
            },
            "a decimal in canonical form",
        ))
    }
}

/// A foreign name of at most 64 characters, none of which is a control or a formatting character.
/// No decision may depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Label(Cow<'static, str>);

impl Label {
    /// Makes a label of the printable part of a foreign text.
    ///
    /// # Example
    /// ```
    /// use plan_builder::wire::Label;
    ///
    /// assert_eq!(Label::of("USD₮0\u{202e}").as_str(), "USD₮0");
    /// ```
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Cow::Owned(
            text.chars()
                .filter(|c| exact::is_plain(*c))
                .take(LONGEST_LABEL)
                .collect(),
        ))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(
            |text| {
                let label = Self::of(text);
                (label.as_str() == text).then_some(label)
            },
            "at most 64 characters without control or formatting characters",
        ))
    }
}

const LONGEST_LABEL: usize = 64;

/// A step of `payload.steps`.
///
/// # Example
/// ```
/// use calldata_checks::Step;
/// use plan_builder::wire::{self, StepRecord};
///
/// // A member of `payload.steps` of a plan.
/// let record: StepRecord = serde_json::from_str(
///     r#"{"data":"0x5fd9ae2e","kind":"call","to":"0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE","value":"0"}"#,
/// )?;
/// let step = Step::from(&record);
/// assert_eq!((step.kind.as_str(), step.data.len()), ("call", 4));
/// assert_eq!(wire::steps(&[record]), [step]);
/// assert!(serde_json::from_str::<StepRecord>(r#"{"data":"0x5FD9AE2E"}"#).is_err()); // one spelling each
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRecord {
    /// The calldata.
    pub data: Hex,
    /// The step's purpose.
    pub kind: KindRecord,
    /// The contract that the transaction calls.
    pub to: Eip55,
    /// The amount of native coin, in wei.
    pub value: Digits,
}

/// The kind of a step, in the form of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KindRecord {
    /// `approve_reset`
    ApproveReset,
    /// `approve`
    Approve,
    /// `call`
    Call,
}

impl From<StepKind> for KindRecord {
    fn from(kind: StepKind) -> Self {
        match kind {
            StepKind::ApproveReset => Self::ApproveReset,
            StepKind::Approve => Self::Approve,
            StepKind::Call => Self::Call,
        }
    }
}

impl From<KindRecord> for StepKind {
    fn from(kind: KindRecord) -> Self {
        match kind {
            KindRecord::ApproveReset => Self::ApproveReset,
            KindRecord::Approve => Self::Approve,
            KindRecord::Call => Self::Call,
        }
    }
}

impl From<&Step> for StepRecord {
    fn from(step: &Step) -> Self {
        Self {
            data: Hex(step.data.clone()),
            kind: step.kind.into(),
            to: Eip55::of(step.to),
            value: Digits(step.value),
        }
    }
}

impl From<&StepRecord> for Step {
    fn from(record: &StepRecord) -> Self {
        Self {
            kind: record.kind.into(),
            to: record.to.address(),
            value: record.value.0,
            data: record.data.0.clone(),
        }
    }
}

/// Converts the steps of a payload to the form of the checks.
#[must_use]
pub fn steps(records: &[StepRecord]) -> Vec<Step> {
    records.iter().map(Step::from).collect()
}

/// Converts the three steps of a payload.
pub(crate) fn three_steps(records: &[StepRecord]) -> Option<[Step; 3]> {
    let records: &[StepRecord; 3] = records.try_into().ok()?;
    Some(records.each_ref().map(Step::from))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Address;

    use super::*;

    fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Option<T> {
        serde_json::from_str(&format!("{text:?}")).ok()
    }

    #[test]
    fn each_value_has_one_spelling() {
        assert!(read::<Eip55>("0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE").is_some());
        assert!(read::<Eip55>("0x1231deb6f5749ef6ce6943a275a1d3e7486f4eae").is_none());
        assert_eq!(read(&U256::MAX.to_string()), Some(Digits(U256::MAX)));
        for text in [
            "",
            "00",
            "01",
            "-1",
            "+1",
            "0x1",
            "1.0",
            &format!("{}0", U256::MAX),
        ] {
            assert!(read::<Digits>(text).is_none(), "{text}");
        }
        assert!(read::<Hex>("0x").is_some() && read::<Hex>("0xab").is_some());
        for text in ["", "ab", "0xA0", "0xa", "0xzz", "0X00"] {
            assert!(read::<Hex>(text).is_none(), "{text}");
        }
        assert!(read::<Word>(&format!("0x{}", "0a".repeat(32))).is_some());
        assert!(read::<Word>(&format!("0x{}", "0a".repeat(31))).is_none());
        assert!(read::<Exact>("0.5").is_some() && read::<Exact>("0.50").is_none());
        assert!(read::<Time>("2026-11-21T15:30:00Z").is_some());
    }

    #[test]
    fn labels_hide_nothing() {
        assert_eq!(
            Label::of("sushi\u{202e}\u{200b}\nswap").as_str(),
            "sushiswap"
        );
        assert_eq!(Label::of(&"é".repeat(80)).as_str().chars().count(), 64);
        assert_eq!(read::<Label>("Gewählt"), Some(Label::of("Gewählt")));
        for text in ["a\u{202e}b", "a\u{e0041}b", "\u{feff}a", &"a".repeat(65)] {
            let json = serde_json::to_string(text).unwrap();
            assert!(serde_json::from_str::<Label>(&json).is_err(), "{text:?}");
        }
    }

    #[test]
    fn written_values_are_read_back() {
        let step = StepRecord {
            data: Hex(Bytes::from_static(&[1, 0xab])),
            kind: KindRecord::ApproveReset,
            to: Eip55::of(Address::repeat_byte(0xcd)),
            value: Digits(U256::MAX),
        };
        let text = serde_json::to_string(&step).unwrap();
        assert_eq!(serde_json::from_str::<StepRecord>(&text).unwrap(), step);
        let word = Word(B256::repeat_byte(0xfe));
        assert_eq!(
            serde_json::from_str::<Word>(&serde_json::to_string(&word).unwrap()).unwrap(),
            word
        );
    }
}
