//! Networks (CAIP-2) and payment schemes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// An EVM network by its CAIP-2 identifier, `eip155:<chain id>`.
///
/// # Example
/// ```
/// use x402_wire::Network;
///
/// let network: Network = "eip155:196".parse()?;
/// assert_eq!(network, Network::X_LAYER);
/// assert_eq!(network.chain_id(), 196);
/// assert!("xlayer".parse::<Network>().is_err());
/// # Ok::<(), x402_wire::NetworkError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    chain_id: u64,
}

/// A network identifier that is not `eip155:` and a chain id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[error("expected a CAIP-2 id eip155:<chain id>, observed `{observed}`")]
#[non_exhaustive]
pub struct NetworkError {
    /// The refused text.
    pub observed: String,
}

impl Network {
    /// The prefix of every identifier of an EVM network.
    pub(crate) const NAMESPACE: &'static str = "eip155:";

    /// X Layer, `eip155:196`.
    pub const X_LAYER: Self = Self::evm(196);

    /// Makes the EVM network with this chain id.
    #[must_use]
    pub const fn evm(chain_id: u64) -> Self {
        Self { chain_id }
    }

    /// Returns the EIP-155 chain id. The EIP-712 domain has the same chain id.
    #[must_use]
    pub const fn chain_id(self) -> u64 {
        self.chain_id
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "eip155:{}", self.chain_id)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix(Self::NAMESPACE)
            .and_then(exact::parse_uint)
            .and_then(|id| u64::try_from(id).ok())
            .map(Self::evm)
            .ok_or_else(|| NetworkError {
                observed: crate::clip(text),
            })
    }
}

impl TryFrom<String> for Network {
    type Error = NetworkError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

/// A payment scheme that this crate knows.
///
/// # Example
/// ```
/// use x402_wire::Scheme;
///
/// assert_eq!("exact".parse(), Ok(Scheme::Exact));
/// assert_eq!("upto".parse::<Scheme>().unwrap_err().observed, "upto");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Scheme {
    /// An EIP-3009 authorization of exactly the price, settled on chain by itself.
    Exact,
    /// An authorization that a session key signs and a broker settles on chain in batches. Only the
    /// broker can check it.
    AggrDeferred,
}

/// A text that names no [`Scheme`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Error)]
#[error("expected the scheme `exact` or `aggr_deferred`, observed `{observed}`")]
#[non_exhaustive]
pub struct UnknownScheme {
    /// The refused text.
    pub observed: String,
}

impl Scheme {
    /// Returns the name that messages use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::AggrDeferred => "aggr_deferred",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scheme {
    type Err = UnknownScheme;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "exact" => Ok(Self::Exact),
            "aggr_deferred" => Ok(Self::AggrDeferred),
            _ => Err(UnknownScheme {
                observed: crate::clip(text),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_caip2_evm_ids_are_networks() {
        assert_eq!("eip155:196".parse(), Ok(Network::evm(196)));
        assert_eq!(Network::evm(196).to_string(), "eip155:196");
        for text in [
            "xlayer",
            "196",
            "eip155:",
            "eip155:0196",
            "EIP155:196",
            "eip155:196 ",
            "eip155:18446744073709551616",
        ] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
