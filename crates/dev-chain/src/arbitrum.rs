//! What [`DevChainBuilder::arbitrum_stage`](crate::DevChainBuilder::arbitrum_stage) puts on a chain
//! with the id of Arbitrum One: the far side of a bridge from Base.

use alloy_primitives::{Address, address};

use crate::{
    builder::DevChainBuilder,
    cctp,
    contract::Contract,
    spec::{Reuse, TokenSpec},
};

/// The chain's id.
pub const CHAIN_ID: u64 = 42161;

/// USDC, issued by Circle: a token with EIP-3009 authorizations, name "USD Coin", version "2".
pub const USDC: Address = address!("af88d065e77c8cC2239327C5EDb3A432268e5831");

/// The CCTP domain of Arbitrum.
pub const DOMAIN: u32 = 3;

/// Puts all of it onto the chain, funded accounts excepted.
pub(crate) fn place(builder: DevChainBuilder) -> DevChainBuilder {
    let usdc = TokenSpec {
        address: USDC,
        name: "USD Coin".to_owned(),
        symbol: "USDC".to_owned(),
        version: "2".to_owned(),
        reuse: Reuse::Reverts,
    };
    builder
        .chain_id(CHAIN_ID)
        .token_with_minters(usdc, &[cctp::TOKEN_MINTER])
        .cctp(cctp::of(DOMAIN, USDC))
        .contract(crate::MULTICALL3, Contract::Multicall3)
}
