//! Chains by the names that DefiLlama uses.

use alloy_primitives::{Address, address};

use super::folded;

/// Chain ids by folded name. Some chains were renamed, and both names are in use.
const NAMES: &[(&str, u64)] = &[
    ("ethereum", 1),
    ("optimism", 10),
    ("opmainnet", 10),
    ("bsc", 56),
    ("binance", 56),
    ("polygon", 137),
    ("xlayer", 196),
    ("zksyncera", 324),
    ("base", 8453),
    ("arbitrum", 42161),
    ("avalanche", 43114),
    ("linea", 59144),
    ("scroll", 534_352),
];

/// The names of chains, for people.
const SHOWN: &[(u64, &str)] = &[
    (1, "Ethereum"),
    (10, "OP Mainnet"),
    (56, "BSC"),
    (137, "Polygon"),
    (196, "X Layer"),
    (324, "ZKsync Era"),
    (8453, "Base"),
    (42161, "Arbitrum"),
    (43114, "Avalanche"),
    (59144, "Linea"),
    (534_352, "Scroll"),
];

/// The coins that pay for gas. Each names the token whose price it has.
const ETH: GasCoin = coin(
    "ETH",
    "ethereum",
    address!("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"),
);
const BNB: GasCoin = coin(
    "BNB",
    "bsc",
    address!("0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c"),
);
const POL: GasCoin = coin(
    "POL",
    "polygon",
    address!("0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270"),
);
const OKB: GasCoin = coin(
    "OKB",
    "xlayer",
    address!("0xe538905cf8410324e03A5A23C1c177a474D59b2b"),
);
const AVAX: GasCoin = coin(
    "AVAX",
    "avax",
    address!("0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7"),
);

/// The gas coin of each chain.
const GAS_COINS: &[(u64, GasCoin)] = &[
    (1, ETH),
    (10, ETH),
    (56, BNB),
    (137, POL),
    (196, OKB),
    (324, ETH),
    (8453, ETH),
    (42161, ETH),
    (43114, AVAX),
    (59144, ETH),
    (534_352, ETH),
];

/// A coin that pays for gas. Ether has one price, which is that of its wrapped form on Ethereum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GasCoin {
    /// The coin's symbol.
    pub symbol: &'static str,
    /// The chain of [`Self::token`], by its name in DefiLlama's prices.
    pub platform: &'static str,
    /// The token whose price one coin has.
    pub token: Address,
}

const fn coin(symbol: &'static str, platform: &'static str, token: Address) -> GasCoin {
    GasCoin {
        symbol,
        platform,
        token,
    }
}

/// Returns the id of the chain called `name`, if that chain is supported.
#[must_use]
pub fn id_of(name: &str) -> Option<u64> {
    let name = folded(name);
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, id)| *id)
}

/// Returns the name of a chain for people, in DefiLlama's spelling.
#[must_use]
pub fn name_of(chain_id: u64) -> Option<&'static str> {
    SHOWN
        .iter()
        .find(|(id, _)| *id == chain_id)
        .map(|(_, name)| *name)
}

/// Returns the coin that pays for gas on a chain.
#[must_use]
pub fn gas_coin(chain_id: u64) -> Option<GasCoin> {
    let mut coins = GAS_COINS.iter();
    coins.find(|(id, _)| *id == chain_id).map(|(_, coin)| *coin)
}

/// The ids of the supported chains, ascending.
pub fn ids() -> impl Iterator<Item = u64> {
    GAS_COINS.iter().map(|(id, _)| *id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        for (name, id) in [
            ("X Layer", 196),
            ("xlayer", 196),
            ("OP Mainnet", 10),
            ("Optimism", 10),
            ("ZKsync Era", 324),
        ] {
            assert_eq!(id_of(name), Some(id), "{name}");
        }
        for unknown in ["", "Solana", "Ethereum Classic", "Bаse"] {
            assert_eq!(id_of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn every_chain_has_a_gas_coin() {
        for (_, id) in NAMES {
            assert!(gas_coin(*id).is_some(), "{id}");
        }
        assert!(ids().all(|id| NAMES.iter().any(|(_, known)| *known == id)));
        assert!(ids().is_sorted());
        assert!(ids().all(|id| name_of(id).and_then(id_of) == Some(id)));
    }
}
