//! The assets of chain 196.

use alloy_primitives::{Address, address};

use crate::spec::{Reuse, TokenSpec};

/// The address of USD₮0 on chain 196.
pub const USDT0: Address = address!("779Ded0c9e1022225f8E0630b35a9b54bE713736");

/// The address of USDC, issued by Circle, on chain 196.
pub const USDC: Address = address!("B6CEceAB302E2E4948951eE7843FC24E92933061");

/// The address of USDG on chain 196.
pub const USDG: Address = address!("4ae46a509F6b1D9056937BA4500cb143933D2dc8");

/// The chain's id.
pub const CHAIN_ID: u64 = 196;

/// The three assets.
pub(crate) const ALL: [Address; 3] = [USDT0, USDC, USDG];

pub(crate) fn tokens() -> [TokenSpec; 3] {
    let token = |address, name: &str, symbol: &str, version: &str, reuse| TokenSpec {
        address,
        name: name.to_owned(),
        symbol: symbol.to_owned(),
        version: version.to_owned(),
        reuse,
    };
    [
        token(USDT0, "USD\u{20ae}0", "USD\u{20ae}0", "1", Reuse::Reverts),
        token(USDC, "USD Coin", "USDC", "2", Reuse::Reverts),
        token(USDG, "Global Dollar", "USDG", "1", Reuse::Returns),
    ]
}
