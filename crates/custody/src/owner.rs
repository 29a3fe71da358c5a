//! The owner of a wallet.

use std::fmt;
use std::str::FromStr;

use alloy_primitives::Address;
use thiserror::Error;

/// The owner of a wallet: an account of an EVM chain, by its CAIP-10 id.
///
/// # Example
/// ```
/// use custody::Owner;
///
/// let owner: Owner = "eip155:196:0x70997970C51812dc3A010C7d01b50e0d17dc79C8".parse()?;
/// assert_eq!(owner.to_string(), "eip155:196:0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
/// // One account has one spelling.
/// assert!("eip155:0196:0x70997970C51812dc3A010C7d01b50e0d17dc79C8".parse::<Owner>().is_err());
/// # Ok::<(), custody::InvalidOwner>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    chain_id: u64,
    address: Address,
}

/// The text is not a CAIP-10 id of an EVM account in its one spelling.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected eip155:<chain id>:<address with its checksum>")]
pub struct InvalidOwner;

impl Owner {
    /// The account with this address on the chain with this id.
    #[must_use]
    pub const fn new(chain_id: u64, address: Address) -> Self {
        Self { chain_id, address }
    }

    /// The chain (EIP-155).
    #[must_use]
    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// The account.
    #[must_use]
    pub const fn address(&self) -> Address {
        self.address
    }

    /// The name of the owner's file: in lower case, for file systems without case.
    pub(crate) fn file_name(&self) -> String {
        format!("eip155-{}-{:#x}.json", self.chain_id, self.address)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "eip155:{}:{}", self.chain_id, self.address)
    }
}

impl FromStr for Owner {
    type Err = InvalidOwner;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rest = text.strip_prefix("eip155:").ok_or(InvalidOwner)?;
        let (chain_id, address) = rest.split_once(':').ok_or(InvalidOwner)?;
        let owner = Self {
            chain_id: chain_id.parse().map_err(|_| InvalidOwner)?,
            address: address.parse().map_err(|_| InvalidOwner)?,
        };
        if owner.to_string() == text {
            Ok(owner)
        } else {
            Err(InvalidOwner)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_one_spelling() {
        let good = "eip155:8453:0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
        let owner: Owner = good.parse().unwrap();
        assert_eq!((owner.to_string().as_str(), owner.chain_id()), (good, 8453));
        for text in [
            "",
            "eip155",
            "eip155:8453",
            "eip155::0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
            "eip155:+8453:0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
            "eip155:8453:0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
            "eip155:8453:70997970C51812dc3A010C7d01b50e0d17dc79C8",
            "eip155:8453:0x70997970C51812dc3A010C7d01b50e0d17dc79C8 ",
            "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv",
        ] {
            assert_eq!(text.parse::<Owner>(), Err(InvalidOwner), "{text}");
        }
        assert_eq!(
            owner.file_name(),
            "eip155-8453-0x70997970c51812dc3a010c7d01b50e0d17dc79c8.json"
        );
    }
}
