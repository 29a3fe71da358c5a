//! Values that the environment can only give as text: numbers, booleans and lists.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, SeqAccess, Visitor};

/// Reads a number, or text that is one.
///
/// # Errors
/// Anything else.
pub fn scalar<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr + TryFrom<i64> + 'static,
{
    struct Scalar<T>(PhantomData<T>);
    impl<T: FromStr + TryFrom<i64>> Visitor<'_> for Scalar<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an unsigned integer")
        }
        fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
            T::try_from(value)
                .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(value), &self))
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.trim()
                .parse()
                .map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
        }
    }
    deserializer.deserialize_any(Scalar(PhantomData))
}

/// [`scalar`] for a key that may be absent.
///
/// # Errors
/// As [`scalar`].
pub fn optional_scalar<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr + TryFrom<i64> + 'static,
{
    scalar(deserializer).map(Some)
}

/// Reads a boolean, or the text `true` or `false`.
///
/// # Errors
/// Anything else.
pub fn boolean<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    struct Boolean;
    impl Visitor<'_> for Boolean {
        type Value = bool;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("true or false")
        }
        fn visit_bool<E: Error>(self, value: bool) -> Result<bool, E> {
            Ok(value)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<bool, E> {
            text.trim()
                .parse()
                .map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
        }
    }
    deserializer.deserialize_any(Boolean)
}

/// [`boolean`] for a key that may be absent.
///
/// # Errors
/// As [`boolean`].
pub fn optional_boolean<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<bool>, D::Error> {
    boolean(deserializer).map(Some)
}

/// [`list`] for a key that may be absent.
///
/// # Errors
/// As [`list`].
pub fn optional_list<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    list(deserializer).map(Some)
}

/// Reads a list of texts, or one text with commas.
///
/// # Errors
/// Anything else.
pub fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct List;
    impl<'de> Visitor<'de> for List {
        type Value = Vec<String>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of texts")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<String>, E> {
            let items = text
                .split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty());
            Ok(items.map(str::to_owned).collect())
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<String>, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = seq.next_element()? {
                items.push(item);
            }
            Ok(items)
        }
    }
    deserializer.deserialize_any(List)
}

/// Reads an array of tables, or text that holds a TOML array of inline tables.
///
/// # Errors
/// Anything else.
pub fn tables<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = match toml::Value::deserialize(deserializer)? {
        toml::Value::String(text) => {
            let mut document: toml::Table = format!("items = {text}")
                .parse()
                .map_err(D::Error::custom)?;
            document
                .remove("items")
                .unwrap_or(toml::Value::Array(Vec::new()))
        }
        value => value,
    };
    value.try_into().map_err(D::Error::custom)
}
