//! Reviewed tokens by chain and address: which of them could earn, and in which tokens a reward can
//! be sold. A symbol proves nothing, because anybody can deploy a token called USDC.

mod table;

use serde::Serialize;

pub use self::table::ASSETS;
use self::table::LIQUID_REWARDS;

/// The currency or coin that the price of an asset follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// It follows the dollar, as a stablecoin.
    Stable,
    /// It is ether, or a plain wrapping of ether.
    Eth,
    /// It is a plain wrapping of bitcoin.
    Btc,
}

/// A reviewed token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    /// The chain.
    pub chain_id: u64,
    /// The contract's address, with its checksum.
    pub address: &'static str,
    /// Its symbol.
    pub symbol: &'static str,
    /// The currency or coin that its price follows.
    pub class: Class,
}

/// Finds the reviewed token at `address`. The case of letters does not matter.
#[must_use]
pub fn find(chain_id: u64, address: &str) -> Option<&'static Asset> {
    ASSETS
        .iter()
        .find(|asset| asset.chain_id == chain_id && asset.address.eq_ignore_ascii_case(address))
}

/// Whether a reward in the token at `address` can be sold at once.
#[must_use]
pub fn is_liquid_reward(chain_id: u64, address: &str) -> bool {
    find(chain_id, address).is_some()
        || LIQUID_REWARDS
            .iter()
            .any(|(chain, token)| *chain == chain_id && token.eq_ignore_ascii_case(address))
}

/// The class of a chain's own coin, if it could earn.
#[must_use]
pub fn native_class(chain_id: u64) -> Option<Class> {
    (super::chains::gas_coin(chain_id)?.symbol == "ETH").then_some(Class::Eth)
}

/// Returns the wrapped form of a chain's ether, which markets use.
#[must_use]
pub fn wrapped_ether(chain_id: u64) -> Option<&'static Asset> {
    ASSETS
        .iter()
        .find(|asset| asset.chain_id == chain_id && asset.symbol == "WETH")
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Address;

    use super::*;

    /// A checksum reveals a wrong digit.
    #[test]
    fn every_address_has_its_checksum_and_is_listed_once() {
        let assets = ASSETS.iter().map(|asset| (asset.chain_id, asset.address));
        let all: Vec<_> = assets.chain(LIQUID_REWARDS.iter().copied()).collect();
        for (_, address) in &all {
            assert!(
                Address::parse_checksummed(address, None).is_ok(),
                "{address}: {}",
                address.parse::<Address>().unwrap()
            );
        }
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn a_token_is_found_by_chain_and_address_only() {
        let usdg = find(196, "0x4AE46A509F6B1D9056937BA4500CB143933D2DC8").unwrap();
        assert_eq!((usdg.symbol, usdg.class), ("USDG", Class::Stable));
        assert_eq!(find(1, usdg.address), None);
        assert!(is_liquid_reward(196, usdg.address));
        assert!(!is_liquid_reward(
            1,
            "0x0000000000000000000000000000000000000000"
        ));
    }

    #[test]
    fn ether_is_an_asset_where_it_pays_gas() {
        assert_eq!(native_class(8453), Some(Class::Eth));
        assert_eq!(native_class(196), None);
        assert_eq!(native_class(7), None);
        let with_ether = super::super::chains::ids().filter(|id| native_class(*id).is_some());
        assert!(with_ether.into_iter().all(|id| wrapped_ether(id).is_some()));
    }
}
