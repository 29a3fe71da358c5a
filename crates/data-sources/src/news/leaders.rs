//! The tokens whose opinion leaders are read.

/// A token whose opinion leaders are read. It is identified by its contract, because anybody can
/// use a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocialToken {
    /// The symbol for its mood.
    pub symbol: &'static str,
    /// Its chain, by OKX's numbers: 1 Ethereum, 56 BNB Chain, 501 Solana.
    pub chain_index: u32,
    /// Its contract: lower-case hexadecimal, on Solana base58. A coin without a contract is read by
    /// its wrapped form.
    pub contract: &'static str,
}

/// Large tokens on the chains whose leaders OKX knows.
pub(super) const MAJORS: [SocialToken; 7] = [
    of("BTC", 1, "0x2260fac5e5542a773aa44fbcfedf7c193bc2c599"),
    of("ETH", 1, "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"),
    of("SOL", 501, "So11111111111111111111111111111111111111112"),
    of("BNB", 56, "0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c"),
    of("LINK", 1, "0x514910771af9ca656af840dff83e8264ecf986ca"),
    of("AAVE", 1, "0x7fc66500c84a76ad7e9c93437bfc5ac33e2ddae9"),
    of("UNI", 1, "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984"),
];

const fn of(symbol: &'static str, chain_index: u32, contract: &'static str) -> SocialToken {
    SocialToken {
        symbol,
        chain_index,
        contract,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use alloy_primitives::Address;

    use super::*;

    #[test]
    fn contracts_are_addresses_and_each_is_there_once() {
        let contracts: BTreeSet<_> = MAJORS.iter().map(|token| token.contract).collect();
        assert_eq!(contracts.len(), MAJORS.len());
        for token in MAJORS.iter().filter(|token| token.chain_index != 501) {
            let address: Address = token.contract.parse().unwrap();
            assert_eq!(format!("{address:#x}"), token.contract);
        }
    }
}
