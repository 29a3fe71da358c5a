//! The chains that routes accept, by the ids and names that callers write.

use std::fmt;

/// An EVM chain that a route accepts, by id or by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chain {
    /// The EIP-155 chain id.
    pub id: u64,
    /// The name in lower case. A caller may write it in any case.
    pub name: &'static str,
}

impl Chain {
    /// Finds a chain of `set` by its id or by its name. The case of the name does not matter.
    ///
    /// ```
    /// use route_catalog::{Chain, SECURITY_CHAINS};
    ///
    /// assert_eq!(Chain::find(&SECURITY_CHAINS, "XLayer").map(|chain| chain.id), Some(196));
    /// assert_eq!(Chain::find(&SECURITY_CHAINS, "8453").map(|chain| chain.name), Some("base"));
    /// assert_eq!(Chain::find(&SECURITY_CHAINS, "solana"), None);
    /// ```
    pub fn find(set: &[Self], text: &str) -> Option<Self> {
        let canonical_id = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        set.iter()
            .find(|chain| match text.parse::<u64>() {
                Ok(id) if canonical_id => chain.id == id,
                _ => chain.name.eq_ignore_ascii_case(text),
            })
            .copied()
    }
}

impl fmt::Display for Chain {
    /// Writes the id in decimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.id, f)
    }
}

/// The chain of the service itself. It is the default of every `chain` parameter that has a
/// default.
pub const HOME_CHAIN: Chain = Chain {
    id: 196,
    name: "xlayer",
};

const ETHEREUM: Chain = Chain {
    id: 1,
    name: "ethereum",
};
const OPTIMISM: Chain = Chain {
    id: 10,
    name: "optimism",
};
const BSC: Chain = Chain {
    id: 56,
    name: "bsc",
};
const POLYGON: Chain = Chain {
    id: 137,
    name: "polygon",
};
const ZKSYNC: Chain = Chain {
    id: 324,
    name: "zksync",
};
const BASE: Chain = Chain {
    id: 8453,
    name: "base",
};
const ARBITRUM: Chain = Chain {
    id: 42161,
    name: "arbitrum",
};
const AVALANCHE: Chain = Chain {
    id: 43114,
    name: "avalanche",
};
const LINEA: Chain = Chain {
    id: 59144,
    name: "linea",
};
const SCROLL: Chain = Chain {
    id: 534352,
    name: "scroll",
};

/// The chains that `/token-security` accepts.
pub static SECURITY_CHAINS: [Chain; 8] = [
    ETHEREUM, OPTIMISM, BSC, POLYGON, HOME_CHAIN, BASE, ARBITRUM, AVALANCHE,
];

/// The eleven chains whose transactions and balances the service reads.
pub static EVM_CHAINS: [Chain; 11] = [
    ETHEREUM, OPTIMISM, BSC, POLYGON, HOME_CHAIN, ZKSYNC, BASE, ARBITRUM, AVALANCHE, LINEA, SCROLL,
];

/// The chains on which a sub-wallet acts.
pub static WALLET_CHAINS: [Chain; 4] = [POLYGON, HOME_CHAIN, BASE, ARBITRUM];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chain_is_found_by_id_and_by_name() {
        let rows = [
            (1, "ethereum"),
            (10, "optimism"),
            (56, "bsc"),
            (137, "polygon"),
            (196, "xlayer"),
            (8453, "base"),
            (42161, "arbitrum"),
            (43114, "avalanche"),
        ];
        assert_eq!(rows.len(), SECURITY_CHAINS.len());
        for (id, name) in rows {
            let expected = Some(Chain { id, name });
            assert_eq!(Chain::find(&SECURITY_CHAINS, &id.to_string()), expected);
            assert_eq!(Chain::find(&SECURITY_CHAINS, name), expected);
            assert_eq!(
                Chain::find(&SECURITY_CHAINS, &name.to_uppercase()),
                expected
            );
        }
    }

    #[test]
    fn near_misses_are_not_found() {
        for text in [
            "", "0196", "+196", " 196", "196 ", "0x1", "x-layer", "linea", "1e0",
        ] {
            assert_eq!(Chain::find(&SECURITY_CHAINS, text), None, "{text:?}");
        }
    }

    #[test]
    fn every_set_is_ordered_and_distinct() {
        for set in [&SECURITY_CHAINS[..], &EVM_CHAINS, &WALLET_CHAINS] {
            assert!(set.windows(2).all(|pair| pair[0].id < pair[1].id));
            assert!(set.contains(&HOME_CHAIN));
        }
    }
}
