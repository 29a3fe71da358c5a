//! The five chains of the bridge, and the reviewed facts about each (Circle's CCTP V2 contract and
//! domain tables).

use alloy_primitives::{Address, U256, address};

use super::kinds::TransferSpeed;
use crate::Violation;

/// One chain of the route set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeChain {
    /// The chain's EIP-155 id.
    pub chain_id: u64,
    /// The chain's name.
    pub name: &'static str,
    /// The chain's protocol domain. It differs from the chain id; zero is a valid domain.
    pub domain: u32,
    /// The chain's native USDC, the only token that burns.
    pub usdc: Address,
    /// Whether a fast transfer can leave the chain.
    pub fast_source: bool,
    /// Whether the protocol's relayer mints on the chain.
    pub forwarding: bool,
    /// A token that is also called USDC and does not burn, with its usual name.
    pub bridged_usdc: Option<BridgedToken>,
}

/// A token that looks like native USDC and is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgedToken {
    /// The token's usual name.
    pub symbol: &'static str,
    /// The token's address.
    pub address: Address,
}

/// `TokenMessengerV2`, the same on all five chains: the spender of the approval and the target of
/// the call.
pub const TOKEN_MESSENGER: Address = address!("28b5a0e9C621a5BadaA536219b3a228C8168cf5d");

/// `MessageTransmitterV2`, the same on all five chains. The caller submits the mint to it. It is
/// never a target of a plan.
pub const MESSAGE_TRANSMITTER: Address = address!("81D40F21F12A8F0E3252Bccb954D722d4c464B64");

/// The most that one burn may move: 10,000,000 USDC in its smallest unit (`burnLimitsPerMessage`).
pub const BURN_LIMIT: U256 = U256::from_limbs([10_000_000_000_000, 0, 0, 0]);

/// Decimals of native USDC on every one of the chains.
pub const USDC_DECIMALS: u8 = 6;

/// The chains, by id.
pub static CHAINS: [BridgeChain; 5] = [
    BridgeChain {
        chain_id: 1,
        name: "Ethereum",
        domain: 0,
        usdc: address!("A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
        fast_source: true,
        forwarding: true,
        bridged_usdc: None,
    },
    BridgeChain {
        chain_id: 137,
        name: "Polygon",
        domain: 7,
        usdc: address!("3c499c542cEF5E3811e1192ce70d8cC03d5c3359"),
        fast_source: false,
        forwarding: true,
        bridged_usdc: Some(BridgedToken {
            symbol: "USDC.e",
            address: address!("2791Bca1f2de4661ED88A30C99A7a9449Aa84174"),
        }),
    },
    BridgeChain {
        chain_id: 8453,
        name: "Base",
        domain: 6,
        usdc: address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
        fast_source: true,
        forwarding: true,
        bridged_usdc: Some(BridgedToken {
            symbol: "USDbC",
            address: address!("d9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"),
        }),
    },
    BridgeChain {
        chain_id: 42161,
        name: "Arbitrum",
        domain: 3,
        usdc: address!("af88d065e77c8cC2239327C5EDb3A432268e5831"),
        fast_source: true,
        forwarding: true,
        bridged_usdc: Some(BridgedToken {
            symbol: "USDC.e",
            address: address!("FF970A61A04b1cA14834A43f5dE4533eBDDB5CC8"),
        }),
    },
    BridgeChain {
        chain_id: 43114,
        name: "Avalanche",
        domain: 1,
        usdc: address!("B97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E"),
        fast_source: false,
        forwarding: true,
        bridged_usdc: Some(BridgedToken {
            symbol: "USDC.e",
            address: address!("A7D7079b0FEaD91F3e65f86E8915Cb59c1a4C664"),
        }),
    },
];

/// Finds the chain of this id, if it is in the route set.
///
/// # Example
/// ```
/// use calldata_checks::bridge::chains;
///
/// let arbitrum = chains::find(42161).unwrap();
/// assert_eq!((arbitrum.name, arbitrum.domain), ("Arbitrum", 3));
/// assert!(chains::find(10).is_none());
/// ```
#[must_use]
pub fn find(chain_id: u64) -> Option<&'static BridgeChain> {
    CHAINS.iter().find(|chain| chain.chain_id == chain_id)
}

/// Returns the chain of this id.
///
/// # Errors
/// The chain is not in the route set.
///
/// # Example
/// ```
/// use calldata_checks::bridge::chains;
///
/// assert_eq!(chains::reviewed(42161)?.domain, 3);
/// assert_eq!(chains::reviewed(10).unwrap_err().observed, "10");
/// # Ok::<(), calldata_checks::Violation>(())
/// ```
pub fn reviewed(chain_id: u64) -> Result<&'static BridgeChain, Violation> {
    find(chain_id).ok_or_else(|| {
        Violation::new(
            "the chain is not in the route set",
            "one of 1, 137, 8453, 42161, 43114",
            chain_id,
        )
    })
}

impl BridgeChain {
    /// Checks that a transfer of this speed can leave the chain. The protocol accepts a burn with
    /// the fast threshold from every chain; from one without fast transfers it is as slow as any
    /// other.
    ///
    /// # Errors
    /// A fast transfer from a chain that has none.
    ///
    /// # Example
    /// ```
    /// use calldata_checks::bridge::{TransferSpeed, chains};
    ///
    /// let polygon = chains::reviewed(137)?;
    /// assert_eq!(polygon.judge_speed(TransferSpeed::Standard), Ok(()));
    /// assert_eq!(polygon.judge_speed(TransferSpeed::Fast).unwrap_err().expected, "standard");
    /// # Ok::<(), calldata_checks::Violation>(())
    /// ```
    pub fn judge_speed(&self, speed: TransferSpeed) -> Result<(), Violation> {
        if speed == TransferSpeed::Fast && !self.fast_source {
            return Err(Violation::new(
                format!("there is no fast transfer from {}", self.name),
                TransferSpeed::Standard.as_str(),
                speed.as_str(),
            ));
        }
        Ok(())
    }

    /// Checks that the token of this address is the chain's native USDC.
    ///
    /// # Errors
    /// Another token. The message names the well-known ones that are also called USDC.
    ///
    /// # Example
    /// ```
    /// use alloy_primitives::address;
    /// use calldata_checks::bridge::chains;
    ///
    /// let polygon = chains::reviewed(137)?;
    /// assert_eq!(polygon.judge_token(polygon.usdc), Ok(()));
    /// let bridged = address!("2791Bca1f2de4661ED88A30C99A7a9449Aa84174");
    /// let refused = polygon.judge_token(bridged).unwrap_err();
    /// assert_eq!(refused.message, "USDC.e on Polygon is not native USDC");
    /// # Ok::<(), calldata_checks::Violation>(())
    /// ```
    pub fn judge_token(&self, token: Address) -> Result<(), Violation> {
        if token == self.usdc {
            return Ok(());
        }
        let message = match &self.bridged_usdc {
            Some(bridged) if bridged.address == token => {
                format!("{} on {} is not native USDC", bridged.symbol, self.name)
            }
            _ => format!("the token is not the native USDC of {}", self.name),
        };
        Err(Violation::new(message, self.usdc, token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reviewed_table_is_the_published_one() {
        let rows: Vec<_> = CHAINS
            .iter()
            .map(|c| {
                (
                    c.chain_id,
                    c.domain,
                    c.usdc.to_string(),
                    c.fast_source,
                    c.forwarding,
                )
            })
            .collect();
        let row = |id, domain, usdc: &str, fast| (id, domain, usdc.to_owned(), fast, true);
        assert_eq!(
            rows,
            [
                row(1, 0, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", true),
                row(137, 7, "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359", false),
                row(8453, 6, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", true),
                row(42161, 3, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831", true),
                row(
                    43114,
                    1,
                    "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E",
                    false
                ),
            ]
        );
        assert_eq!(
            TOKEN_MESSENGER.to_string(),
            "0x28b5a0e9C621a5BadaA536219b3a228C8168cf5d"
        );
        assert_eq!(
            MESSAGE_TRANSMITTER.to_string(),
            "0x81D40F21F12A8F0E3252Bccb954D722d4c464B64"
        );
        assert_eq!(
            BURN_LIMIT,
            U256::from(10_000_000u64) * U256::from(1_000_000u64)
        );
    }

    #[test]
    fn another_chain_is_refused_even_with_a_protocol_domain() {
        // 196 is domain 37 since 2026 and is not in the route set. A domain is no chain id.
        for chain_id in [0, 3, 6, 7, 10, 37, 56, 196, 11_155_111, u64::MAX] {
            assert_eq!(find(chain_id), None);
            assert_eq!(
                reviewed(chain_id).unwrap_err().observed,
                chain_id.to_string()
            );
        }
    }

    #[test]
    fn tokens_that_are_only_called_usdc_are_named() {
        let named = [
            (137, "USDC.e"),
            (8453, "USDbC"),
            (42161, "USDC.e"),
            (43114, "USDC.e"),
        ];
        for (chain_id, symbol) in named {
            let chain = reviewed(chain_id).unwrap();
            let bridged = chain.bridged_usdc.as_ref().unwrap();
            let violation = chain.judge_token(bridged.address).unwrap_err();
            let message = format!("{symbol} on {} is not native USDC", chain.name);
            assert_eq!(violation.message, message);
        }
        let ethereum = reviewed(1).unwrap();
        for chain in &CHAINS {
            assert_eq!(chain.judge_token(chain.usdc), Ok(()));
            assert_eq!(
                ethereum.judge_token(chain.usdc).is_ok(),
                chain.chain_id == 1
            );
        }
    }
}
