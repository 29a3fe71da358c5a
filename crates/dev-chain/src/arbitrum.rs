//! The contracts that [`DevChainBuilder::arbitrum_stage`](crate::DevChainBuilder::arbitrum_stage)
//! places on a chain with the id of Arbitrum One: those of [Base](crate::base), with the tokens and
//! the CCTP domain of Arbitrum. The venue's address is assumed to be the same.

use alloy_primitives::{Address, address};

use crate::base::Rails;

pub use crate::base::{EXCHANGE, FORWARDER, ROUTER};

/// The chain's id.
pub const CHAIN_ID: u64 = 42161;

/// USDC, issued by Circle: a token with EIP-3009 authorizations, name "USD Coin", version "2".
pub const USDC: Address = address!("af88d065e77c8cC2239327C5EDb3A432268e5831");

/// Wrapped ether: a plain ERC-20 token with 18 decimals that wraps nothing.
pub const WETH: Address = address!("82aF49447D8a07e3bd95BD0d56f35241523fBab1");

/// The CCTP domain of Arbitrum.
pub const DOMAIN: u32 = 3;

/// The contracts and numbers of this chain.
pub(crate) const RAILS: Rails = Rails {
    chain_id: CHAIN_ID,
    domain: DOMAIN,
    usdc: USDC,
    weth: WETH,
};
