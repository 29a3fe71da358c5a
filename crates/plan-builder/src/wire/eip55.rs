//! Addresses with their checksum (EIP-55).

use std::{cell::RefCell, fmt};

use alloy_primitives::Address;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::TextVisitor;

/// An address that is written with its checksum (EIP-55). Only that spelling is read.
///
/// The spelling takes a hash, so it is computed once and kept.
///
/// # Example
/// ```
/// use alloy_primitives::address;
/// use plan_builder::wire::Eip55;
///
/// let router = address!("1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE");
/// let json = serde_json::to_string(&Eip55::of(router))?;
/// assert_eq!(json, r#""0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE""#);
/// assert_eq!(serde_json::from_str::<Eip55>(&json)?.address(), router);
/// assert!(serde_json::from_str::<Eip55>(&json.to_lowercase()).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Eip55 {
    address: Address,
    /// The spelling: `0x` and forty hex digits.
    spelling: [u8; 42],
}

impl Eip55 {
    /// Makes an address with its spelling.
    #[must_use]
    pub fn of(address: Address) -> Self {
        SPELT.with_borrow_mut(|spelt| match spelt.find(|known| known.address == address) {
            Some(known) => known,
            None => spelt.keep(Self::spell(address)),
        })
    }

    /// Reads the checksummed spelling.
    pub(crate) fn read(text: &str) -> Option<Self> {
        SPELT.with_borrow_mut(|spelt| {
            let known = spelt.find(|known| known.spelling == text.as_bytes());
            if known.is_some() {
                return known;
            }
            let read = Self::spell(Address::new(exact::parse_hex_array(text)?));
            (read.spelling == text.as_bytes()).then(|| spelt.keep(read))
        })
    }

    fn spell(address: Address) -> Self {
        let mut spelling = [0; 42];
        let _: &str = address.to_checksum_raw(&mut spelling, None);
        Self { address, spelling }
    }

    /// The address.
    #[must_use]
    pub const fn address(self) -> Address {
        self.address
    }
}

thread_local! {
    static SPELT: RefCell<Spelt> = RefCell::new(Spelt {
        last: [Eip55::spell(Address::ZERO); 16],
        oldest: 0,
    });
}

/// A cache of the latest spellings. A plan repeats a few addresses, and some addresses are in every
/// plan.
struct Spelt {
    last: [Eip55; 16],
    oldest: usize,
}

impl Spelt {
    fn find(&self, is_it: impl Fn(&Eip55) -> bool) -> Option<Eip55> {
        self.last.iter().find(|known| is_it(known)).copied()
    }

    fn keep(&mut self, new: Eip55) -> Eip55 {
        if let Some(oldest) = self.last.get_mut(self.oldest) {
            *oldest = new;
        }
        self.oldest = (self.oldest + 1) % self.last.len();
        new
    }
}

impl fmt::Debug for Eip55 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.address, f)
    }
}

impl Serialize for Eip55 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match str::from_utf8(&self.spelling) {
            Ok(spelling) => serializer.serialize_str(spelling),
            Err(error) => Err(serde::ser::Error::custom(error)),
        }
    }
}

impl<'de> Deserialize<'de> for Eip55 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(Self::read, "an address with its checksum"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_was_read_has_still_one_spelling() {
        for _ in 0..3 {
            for byte in 0..20 {
                let address = Eip55::of(Address::repeat_byte(0xa0 + byte));
                let text = serde_json::to_string(&address).unwrap();
                assert_eq!(serde_json::from_str(&text).ok(), Some(address));
                let other = text.replacen(|c: char| c.is_ascii_alphabetic() && c != 'x', "f", 1);
                for wrong in [
                    text.to_lowercase(),
                    text.to_uppercase(),
                    text.replace("0x", ""),
                    other,
                ] {
                    let read = serde_json::from_str::<Eip55>(&wrong).ok();
                    assert!(wrong == text || read.is_none(), "{wrong}");
                }
            }
        }
    }
}
