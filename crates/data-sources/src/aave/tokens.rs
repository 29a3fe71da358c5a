//! The reserves of the market, as the protocol's public address book lists them.

use alloy_primitives::{Address, address};

/// A token that may be a reserve.
pub(super) struct Token {
    pub(super) address: Address,
    pub(super) symbol: &'static str,
    /// The symbol in ids, in ASCII.
    pub(super) id: &'static str,
}

const fn token(address: Address, symbol: &'static str, id: &'static str) -> Token {
    Token {
        address,
        symbol,
        id,
    }
}

/// The reviewed tokens. The chain says whether a token is a reserve.
pub(super) const TOKENS: [Token; 11] = [
    token(
        address!("0x779Ded0c9e1022225f8E0630b35a9b54bE713736"),
        "USD₮0",
        "usdt0",
    ),
    token(
        address!("0x4ae46a509F6b1D9056937BA4500cb143933D2dc8"),
        "USDG",
        "usdg",
    ),
    token(
        address!("0xB6CEceAB302E2E4948951eE7843FC24E92933061"),
        "USDC",
        "usdc",
    ),
    token(
        address!("0xDe6539018B095353A40753Dc54C91C68c9487D4E"),
        "GHO",
        "gho",
    ),
    token(
        address!("0xb7C00000bcDEeF966b20B3D884B98E64d2b06b4f"),
        "xBTC",
        "xbtc",
    ),
    token(
        address!("0xE7B000003A45145decf8a28FC755aD5eC5EA025A"),
        "xETH",
        "xeth",
    ),
    token(
        address!("0xe538905cf8410324e03A5A23C1c177a474D59b2b"),
        "WOKB",
        "wokb",
    ),
    token(
        address!("0x505000008DE8748DBd4422ff4687a4FC9bEba15b"),
        "xSOL",
        "xsol",
    ),
    token(
        address!("0xAFeab3B85B6A56cF5F02317F0f7A23340eb983D7"),
        "xBETH",
        "xbeth",
    ),
    token(
        address!("0x14a686103854DAB7b8801E31979CAA595835B25d"),
        "xOKSOL",
        "xoksol",
    ),
    token(
        address!("0x9a09a9E491DB3dd8Ada5B1B889991AC9Ad5fd362"),
        "PT-USDG-29OCT2026",
        "pt-usdg-29oct2026",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses as the address book writes them, each with its checksum.
    #[test]
    fn reserves_are_those_of_the_address_book() {
        let listed = [
            "0x779Ded0c9e1022225f8E0630b35a9b54bE713736",
            "0x4ae46a509F6b1D9056937BA4500cb143933D2dc8",
            "0xB6CEceAB302E2E4948951eE7843FC24E92933061",
            "0xDe6539018B095353A40753Dc54C91C68c9487D4E",
            "0xb7C00000bcDEeF966b20B3D884B98E64d2b06b4f",
            "0xE7B000003A45145decf8a28FC755aD5eC5EA025A",
            "0xe538905cf8410324e03A5A23C1c177a474D59b2b",
            "0x505000008DE8748DBd4422ff4687a4FC9bEba15b",
            "0xAFeab3B85B6A56cF5F02317F0f7A23340eb983D7",
            "0x14a686103854DAB7b8801E31979CAA595835B25d",
            "0x9a09a9E491DB3dd8Ada5B1B889991AC9Ad5fd362",
        ];
        let listed = listed.map(|text| Address::parse_checksummed(text, None).unwrap());
        assert_eq!(TOKENS.map(|token| token.address), listed);
        let mut ids = TOKENS.map(|token| token.id).to_vec();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), TOKENS.len());
    }
}
