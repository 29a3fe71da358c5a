//! The tokens that are searched when no index is available: the dollar stablecoins and the wrapped
//! coins of each chain.

use alloy_primitives::{Address, address};

use crate::chain::Network;

/// Returns the tokens to search on a chain, the wrapped native coin first.
#[must_use]
pub fn tokens(chain_id: u64) -> Vec<Address> {
    let wrapped = Network::by_id(chain_id).map(|network| network.wrapped_native);
    let listed: &[Address] = match chain_id {
        1 => &ETHEREUM,
        10 => &OPTIMISM,
        56 => &BSC,
        137 => &POLYGON,
        196 => &XLAYER,
        324 => &ZKSYNC,
        8453 => &BASE,
        42_161 => &ARBITRUM,
        43_114 => &AVALANCHE,
        59_144 => &LINEA,
        534_352 => &SCROLL,
        _ => &[],
    };
    wrapped.into_iter().chain(listed.iter().copied()).collect()
}

const ETHEREUM: [Address; 4] = [
    address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
    address!("dAC17F958D2ee523a2206206994597C13D831ec7"),
    address!("6B175474E89094C44Da98b954EedeAC495271d0F"),
    address!("2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599"),
];
const OPTIMISM: [Address; 2] = [
    address!("0b2C639c533813f4Aa9D7837CAf62653d097Ff85"),
    address!("94b008aA00579c1307B0EF2c499aD98a8ce58e58"),
];
const BSC: [Address; 2] = [
    address!("8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d"),
    address!("55d398326f99059fF775485246999027B3197955"),
];
const POLYGON: [Address; 2] = [
    address!("3c499c542cEF5E3811e1192ce70d8cC03d5c3359"),
    address!("c2132D05D31c914a87C6611C10748AEb04B58e8F"),
];
const XLAYER: [Address; 8] = [
    address!("779Ded0c9e1022225f8E0630b35a9b54bE713736"),
    address!("4ae46a509F6b1D9056937BA4500cb143933D2dc8"),
    address!("B6CEceAB302E2E4948951eE7843FC24E92933061"),
    address!("74b7f16337b8972027f6196a17a631ac6de26d22"),
    address!("1e4a5963abfd975d8c9021ce480b42188849d41d"),
    address!("b7C00000bcDEeF966b20B3D884B98E64d2b06b4f"),
    address!("E7B000003A45145decf8a28FC755aD5eC5EA025A"),
    address!("De6539018B095353A40753Dc54C91C68c9487D4E"),
];
const ZKSYNC: [Address; 2] = [
    address!("1d17CBcF0D6D143135aE902365D2E5e2A16538D4"),
    address!("493257fD37EDB34451f62EDf8D2a0C418852bA4C"),
];
const BASE: [Address; 1] = [address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")];
const ARBITRUM: [Address; 2] = [
    address!("af88d065e77c8cC2239327C5EDb3A432268e5831"),
    address!("Fd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9"),
];
const AVALANCHE: [Address; 2] = [
    address!("B97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E"),
    address!("9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7"),
];
const LINEA: [Address; 2] = [
    address!("176211869cA2b568f2A7D4EE941E073a821EE1ff"),
    address!("A219439258ca9da29E9Cc4cE5596924745e12B93"),
];
const SCROLL: [Address; 2] = [
    address!("06eFdBFf2a14a7c8E15944D1F4A48F9F95F663A4"),
    address!("f55BEC9cafDbE8730f096Aa55dad6D22d44099Df"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::NETWORKS;

    #[test]
    fn every_chain_has_known_tokens_without_duplicates() {
        for network in &NETWORKS {
            let mut found = tokens(network.id);
            assert!(found.len() >= 2, "{}", network.name);
            let count = found.len();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), count, "{}", network.name);
        }
        assert!(tokens(5).is_empty());
    }

    /// A mistyped digit would change the capitals.
    #[test]
    fn addresses_are_as_published() {
        let source = include_str!("known.rs");
        let literals = source
            .split("address!(\"")
            .skip(1)
            .filter_map(|rest| rest.get(..40));
        let mut seen = 0;
        for literal in literals.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            let address: Address = literal.parse().unwrap();
            let capitals = literal.bytes().any(|byte| byte.is_ascii_uppercase());
            assert!(
                !capitals || address.to_checksum(None) == format!("0x{literal}"),
                "{literal}"
            );
            seen += 1;
        }
        assert_eq!(seen, 29);
    }
}
