//! Readers for values that the environment can give only as text: numbers, booleans, lists and
//! tables.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, SeqAccess, Visitor};

/// Reads a number, or a text with a number.
///
/// # Errors
/// When the value is anything else.
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

/// Like [`scalar`], for a key that may be absent.
///
/// # Errors
/// The same as [`scalar`].
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
/// When the value is anything else.
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

/// Like [`boolean`], for a key that may be absent.
///
/// # Errors
/// The same as [`boolean`].
pub fn optional_boolean<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<bool>, D::Error> {
    boolean(deserializer).map(Some)
}

/// Like [`list`], for a key that may be absent.
///
/// # Errors
/// The same as [`list`].
pub fn optional_list<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    list(deserializer).map(Some)
}

/// Reads a list, or one text with commas between the items.
///
/// # Errors
/// When the value is anything else, or an item cannot be read.
pub fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr + Deserialize<'de>,
{
    struct List<T>(PhantomData<T>);
    impl<'de, T: FromStr + Deserialize<'de>> Visitor<'de> for List<T> {
        type Value = Vec<T>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
            let items = text.split(',').map(str::trim);
            let items = items.filter(|item| !item.is_empty()).map(str::parse);
            items
                .collect::<Result<_, _>>()
                .map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = seq.next_element()? {
                items.push(item);
            }
            Ok(items)
        }
    }
    deserializer.deserialize_any(List(PhantomData))
}

/// Reads an array of tables, or a text with a TOML array of inline tables.
///
/// # Errors
/// When the value is anything else.
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
