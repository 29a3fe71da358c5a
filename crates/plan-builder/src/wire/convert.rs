//! Converts values of the ports to their forms on the wire, and back.

use std::marker::PhantomData;

use alloy_primitives::{Address, B256, Bytes, U256};
use calldata_checks::{Decimal, UtcSeconds};
use serde::{Deserializer, Serialize, Serializer, de::DeserializeOwned};

use super::{Digits, Eip55, Exact, Hex, Time, Word};

/// The wire form of a value.
pub(crate) trait Wire<T>: Serialize + DeserializeOwned {
    /// Makes the wire form of a value.
    fn of(value: &T) -> Self;
    /// Returns the value.
    fn value(self) -> T;
}

/// Gives a member the serde form `W`: `#[serde(with = "As::<Digits>")]`.
pub(crate) struct As<W>(PhantomData<W>);

impl<W> As<W> {
    pub(crate) fn serialize<T, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error>
    where
        W: Wire<T>,
    {
        W::of(value).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error>
    where
        W: Wire<T>,
    {
        W::deserialize(deserializer).map(W::value)
    }
}

impl Wire<U256> for Digits {
    fn of(value: &U256) -> Self {
        Self(*value)
    }

    fn value(self) -> U256 {
        self.0
    }
}

impl Wire<Decimal> for Exact {
    fn of(value: &Decimal) -> Self {
        Self(*value)
    }

    fn value(self) -> Decimal {
        self.0
    }
}

impl Wire<UtcSeconds> for Time {
    fn of(value: &UtcSeconds) -> Self {
        Self(*value)
    }

    fn value(self) -> UtcSeconds {
        self.0
    }
}

impl Wire<Bytes> for Hex {
    fn of(value: &Bytes) -> Self {
        Self(value.clone())
    }

    fn value(self) -> Bytes {
        self.0
    }
}

impl Wire<B256> for Word {
    fn of(value: &B256) -> Self {
        Self(*value)
    }

    fn value(self) -> B256 {
        self.0
    }
}

impl Wire<Address> for Eip55 {
    fn of(value: &Address) -> Self {
        Self::of(*value)
    }

    fn value(self) -> Address {
        self.address()
    }
}

impl<T, W: Wire<T>> Wire<Option<T>> for Option<W> {
    fn of(value: &Option<T>) -> Self {
        value.as_ref().map(W::of)
    }

    fn value(self) -> Option<T> {
        self.map(W::value)
    }
}

impl<T, W: Wire<T>> Wire<Vec<T>> for Vec<W> {
    fn of(value: &Vec<T>) -> Self {
        value.iter().map(W::of).collect()
    }

    fn value(self) -> Vec<T> {
        self.into_iter().map(W::value).collect()
    }
}
