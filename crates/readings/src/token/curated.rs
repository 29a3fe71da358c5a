//! The tokens of chain 196 that a reader of its market expects.

use alloy_primitives::{Address, address};

/// A token whose contract was reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Curated {
    /// Its contract.
    pub address: Address,
    /// Its symbol, as its issuer writes it.
    pub symbol: &'static str,
    /// Whether it is a dollar stablecoin.
    pub stable: bool,
}

/// The curated tokens of chain 196 in November 2026: the assets of its lending market (address book
/// of Aave), and USDC. The native coin is represented by its wrapper, which pools use.
pub const XLAYER: [Curated; 10] = [
    listed(address!("e538905cf8410324e03A5A23C1c177a474D59b2b"), "WOKB"),
    stable(
        address!("779Ded0c9e1022225f8E0630b35a9b54bE713736"),
        "USD₮0",
    ),
    stable(address!("4ae46a509F6b1D9056937BA4500cb143933D2dc8"), "USDG"),
    stable(address!("B6CEceAB302E2E4948951eE7843FC24E92933061"), "USDC"),
    listed(address!("b7C00000bcDEeF966b20B3D884B98E64d2b06b4f"), "xBTC"),
    listed(address!("E7B000003A45145decf8a28FC755aD5eC5EA025A"), "xETH"),
    listed(address!("505000008DE8748DBd4422ff4687a4FC9bEba15b"), "xSOL"),
    listed(
        address!("AFeab3B85B6A56cF5F02317F0f7A23340eb983D7"),
        "xBETH",
    ),
    listed(
        address!("14a686103854DAB7b8801E31979CAA595835B25d"),
        "xOKSOL",
    ),
    stable(address!("De6539018B095353A40753Dc54C91C68c9487D4E"), "GHO"),
];

const fn listed(address: Address, symbol: &'static str) -> Curated {
    Curated {
        address,
        symbol,
        stable: false,
    }
}

const fn stable(address: Address, symbol: &'static str) -> Curated {
    Curated {
        address,
        symbol,
        stable: true,
    }
}

/// The curated token at `address`.
#[must_use]
pub fn find(address: Address) -> Option<&'static Curated> {
    XLAYER.iter().find(|token| token.address == address)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_token_is_listed_once() {
        let addresses: BTreeSet<_> = XLAYER.iter().map(|token| token.address).collect();
        let symbols: BTreeSet<_> = XLAYER.iter().map(|token| token.symbol).collect();
        assert_eq!(
            (addresses.len(), symbols.len()),
            (XLAYER.len(), XLAYER.len())
        );
        assert_eq!(
            find(XLAYER[4].address).map(|token| token.symbol),
            Some("xBTC")
        );
        assert_eq!(find(Address::ZERO), None);
    }
}
