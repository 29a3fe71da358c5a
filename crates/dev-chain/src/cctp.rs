//! Addresses of CCTP V2, the same on every chain, and the attester of the stages.

use alloy_primitives::{Address, address};

use crate::accounts::{DEV_ACCOUNTS, DevAccount};

/// The token messenger, which is approved and called to burn.
pub const TOKEN_MESSENGER: Address = address!("28b5a0e9C621a5BadaA536219b3a228C8168cf5d");

/// The message transmitter: it logs burns and accepts messages to mint.
pub const MESSAGE_TRANSMITTER: Address = address!("81D40F21F12A8F0E3252Bccb954D722d4c464B64");

/// The token minter.
pub const TOKEN_MINTER: Address = address!("fd78EE919681417d192449715b2594ab58f5D002");

/// The attester whose signatures the stages' transmitters accept: the last account but one.
pub const ATTESTER: DevAccount = {
    let [.., attester, _] = DEV_ACCOUNTS;
    attester
};

/// The recipient of the fees of fast transfers on the stages.
pub const FEE_RECIPIENT: Address = address!("00000000000000000000000000000000000fee00");

/// The domains of the bridge's route set and native USDC on each: Ethereum, Avalanche, Arbitrum,
/// Base and Polygon.
pub const DOMAINS: [(u32, Address); 5] = [
    (0, address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")),
    (1, address!("B97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E")),
    (3, address!("af88d065e77c8cC2239327C5EDb3A432268e5831")),
    (6, address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")),
    (7, address!("3c499c542cEF5E3811e1192ce70d8cC03d5c3359")),
];
