//! Chains by the names that DefiLlama gives them.

use super::folded;

/// Chain ids by folded name. Some chains were renamed; both names are in use.
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

/// Names for people.
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

/// Native coins: chain id, symbol, and the coin's id in price lists that go by name.
const NATIVE_COINS: &[(u64, &str, &str)] = &[
    (1, "ETH", "ethereum"),
    (10, "ETH", "ethereum"),
    (56, "BNB", "binancecoin"),
    (137, "POL", "polygon-ecosystem-token"),
    (196, "OKB", "okb"),
    (324, "ETH", "ethereum"),
    (8453, "ETH", "ethereum"),
    (42161, "ETH", "ethereum"),
    (43114, "AVAX", "avalanche-2"),
    (59144, "ETH", "ethereum"),
    (534_352, "ETH", "ethereum"),
];

/// The id of the chain that is called `name`, if it is one of the chains that are read.
#[must_use]
pub fn id_of(name: &str) -> Option<u64> {
    let name = folded(name);
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, id)| *id)
}

/// The name of a chain for people, as DefiLlama has it.
#[must_use]
pub fn name_of(chain_id: u64) -> Option<&'static str> {
    SHOWN
        .iter()
        .find(|(id, _)| *id == chain_id)
        .map(|(_, name)| *name)
}

/// Symbol of the coin that pays gas on a chain.
#[must_use]
pub fn native_symbol(chain_id: u64) -> Option<&'static str> {
    native(chain_id).map(|(_, symbol, _)| *symbol)
}

/// The gas coin's id in price lists that go by name (CoinGecko's ids).
#[must_use]
pub fn native_price_id(chain_id: u64) -> Option<&'static str> {
    native(chain_id).map(|(_, _, id)| *id)
}

/// The chains that are read, ascending.
pub fn ids() -> impl Iterator<Item = u64> {
    NATIVE_COINS.iter().map(|(id, _, _)| *id)
}

fn native(chain_id: u64) -> Option<&'static (u64, &'static str, &'static str)> {
    NATIVE_COINS.iter().find(|(id, _, _)| *id == chain_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        for (name, id) in [("X Layer", 196), ("xlayer", 196), ("OP Mainnet", 10), ("Optimism", 10), ("ZKsync Era", 324)] {
            assert_eq!(id_of(name), Some(id), "{name}");
        }
        for unknown in ["", "Solana", "Ethereum Classic", "Bаse"] {
            assert_eq!(id_of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn every_chain_has_a_gas_coin() {
        for (_, id) in NAMES {
            assert!(native_symbol(*id).is_some() && native_price_id(*id).is_some(), "{id}");
        }
        assert!(ids().all(|id| NAMES.iter().any(|(_, known)| *known == id)));
        assert!(ids().is_sorted());
        assert!(ids().all(|id| name_of(id).and_then(id_of) == Some(id)));
    }
}
