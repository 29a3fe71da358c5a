//! The eleven chains whose transactions and balances are read.

use alloy_primitives::{Address, address};

/// A chain, and the contracts on it that a reading depends on.
#[derive(Debug, PartialEq, Eq)]
pub struct Network {
    /// Its EIP-155 id.
    pub id: u64,
    /// Its name in lower case, as in parameters.
    pub name: &'static str,
    /// The symbol of its native coin. Every native coin here has 18 decimals.
    pub native_symbol: &'static str,
    /// The contract that wraps the native coin. One coin gives one token.
    pub wrapped_native: Address,
    /// Whether that contract logs each wrapping and unwrapping as `Deposit` and `Withdrawal`.
    pub wrapped_logs: bool,
    /// Where `Multicall3` is deployed.
    pub multicall3: Address,
    /// Whether each receipt states a separate fee for data on layer 1. Then a receipt without one
    /// is incomplete.
    pub l1_data_fee: bool,
    /// The system contract whose `Transfer` logs are movements of the native coin, if there is one.
    pub native_ledger: Option<Address>,
}

/// The decimals of every native coin.
pub const NATIVE_DECIMALS: u8 = 18;

const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");
const OP_WETH: Address = address!("4200000000000000000000000000000000000006");

const fn evm(
    id: u64,
    name: &'static str,
    native_symbol: &'static str,
    wrapped_native: Address,
) -> Network {
    Network {
        id,
        name,
        native_symbol,
        wrapped_native,
        wrapped_logs: true,
        multicall3: MULTICALL3,
        l1_data_fee: false,
        native_ledger: None,
    }
}

/// Every chain, by ascending id.
pub static NETWORKS: [Network; 11] = [
    evm(
        1,
        "ethereum",
        "ETH",
        address!("C02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"),
    ),
    Network {
        l1_data_fee: true,
        ..evm(10, "optimism", "ETH", OP_WETH)
    },
    evm(
        56,
        "bsc",
        "BNB",
        address!("bb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c"),
    ),
    evm(
        137,
        "polygon",
        "POL",
        address!("0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270"),
    ),
    evm(
        196,
        "xlayer",
        "OKB",
        address!("e538905cf8410324e03A5A23C1c177a474D59b2b"),
    ),
    Network {
        wrapped_logs: false,
        multicall3: address!("F9cda624FBC7e059355ce98a31693d299FACd963"),
        native_ledger: Some(address!("000000000000000000000000000000000000800A")),
        ..evm(
            324,
            "zksync",
            "ETH",
            address!("5AEa5775959fBC2557Cc8789bC1bf90A239D9a91"),
        )
    },
    Network {
        l1_data_fee: true,
        ..evm(8453, "base", "ETH", OP_WETH)
    },
    Network {
        wrapped_logs: false,
        ..evm(
            42_161,
            "arbitrum",
            "ETH",
            address!("82aF49447D8a07e3bd95BD0d56f35241523fBab1"),
        )
    },
    evm(
        43_114,
        "avalanche",
        "AVAX",
        address!("B31f66AA3C1e785363F0875A1B74E27b85FD66c7"),
    ),
    evm(
        59_144,
        "linea",
        "ETH",
        address!("e5D7C2a44FfDDf6b295A15c148167daaAf5Cf34f"),
    ),
    Network {
        l1_data_fee: true,
        ..evm(
            534_352,
            "scroll",
            "ETH",
            address!("5300000000000000000000000000000000000004"),
        )
    },
];

impl Network {
    /// The chain with this id, if it is one of the eleven.
    #[must_use]
    pub fn by_id(id: u64) -> Option<&'static Self> {
        NETWORKS.iter().find(|network| network.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_in_order_and_found_by_id() {
        assert!(NETWORKS.windows(2).all(|pair| pair[0].id < pair[1].id));
        assert_eq!(
            Network::by_id(196).map(|network| network.native_symbol),
            Some("OKB")
        );
        assert_eq!(Network::by_id(0), None);
    }

    /// The addresses are typed by hand, so the test checks their checksums.
    #[test]
    fn addresses_have_their_published_checksums() {
        let published = [
            (1, "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"),
            (56, "0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c"),
            (137, "0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270"),
            (196, "0xe538905cf8410324e03A5A23C1c177a474D59b2b"),
            (324, "0x5AEa5775959fBC2557Cc8789bC1bf90A239D9a91"),
            (42_161, "0x82aF49447D8a07e3bd95BD0d56f35241523fBab1"),
            (43_114, "0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7"),
            (59_144, "0xe5D7C2a44FfDDf6b295A15c148167daaAf5Cf34f"),
        ];
        for (id, text) in published {
            let network = Network::by_id(id).unwrap();
            assert_eq!(network.wrapped_native.to_checksum(None), text, "{id}");
        }
    }
}
