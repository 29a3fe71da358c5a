//! The versioned set of reviewed contracts, functions and tokens.

use alloy_primitives::{Address, FixedBytes, address, fixed_bytes};

/// The chain of the reviewed aggregator.
pub const CHAIN_ID: u64 = 196;

/// The address that stands for the chain's native coin in OKX's interface. It is not an ERC-20
/// token.
pub const NATIVE_COIN: Address = address!("eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");

/// The reviewed set. It is data, so that an operator can replace it: OKX publishes new routers
/// before it uses them.
///
/// A quote whose router, spender or function is not in the set is refused.
///
/// ```
/// use alloy_primitives::address;
/// use calldata_checks::okx::ReviewedContracts;
///
/// let reviewed = ReviewedContracts::default();
/// assert!(!reviewed.routers.contains(&reviewed.spender), "approvals never go to the router");
/// assert_eq!(reviewed.problem(), None);
/// let usdg = reviewed.source_token(address!("4ae46a509F6b1D9056937BA4500cb143933D2dc8"));
/// assert_eq!(usdg.map(|token| token.symbol.as_str()), Some("USDG"));
///
/// let approves_a_router = ReviewedContracts { spender: reviewed.routers[0], ..reviewed };
/// assert!(approves_a_router.problem().unwrap().starts_with("spender"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewedContracts {
    /// Name of this set. Every answer that relied on it carries the name.
    pub version: String,
    /// The chain of the set.
    pub chain_id: u64,
    /// The approve proxy: the only spender an approval may name.
    pub spender: Address,
    /// Routers a swap may be sent to.
    pub routers: Vec<Address>,
    /// Router functions that a swap may call: those of the public router source whose layout hashes
    /// to the selector. The default leaves out `0xe1842255` and `0x7f086579`: some lists give them
    /// for the two smart swaps, but no public layout produces them.
    pub selectors: Vec<FixedBytes<4>>,
    /// Tokens a swap may start from.
    pub source_tokens: Vec<SourceToken>,
    /// Tokens whose `approve` refuses to change one non-zero allowance into another.
    pub allowance_reset_tokens: Vec<Address>,
    /// The furthest that a deadline inside calldata may lie ahead of now, in seconds.
    pub max_deadline_seconds: u64,
}

impl ReviewedContracts {
    /// Returns the reason why the set cannot be used, in words; `None` for a usable one.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let forbidden = |address: &Address| address.is_zero() || *address == NATIVE_COIN;
        let said = if self.version.trim().is_empty() || self.version.len() > 64 {
            "version: expected 1 to 64 characters".to_owned()
        } else if self.chain_id != CHAIN_ID {
            format!("chain_id: expected {CHAIN_ID}, observed {}", self.chain_id)
        } else if self.routers.is_empty() || self.routers.iter().any(forbidden) {
            "routers: expected one or more contracts".to_owned()
        } else if forbidden(&self.spender) || self.routers.contains(&self.spender) {
            "spender: expected a contract that is no router".to_owned()
        } else if self.selectors.is_empty() {
            "selectors: expected one or more".to_owned()
        } else if self.source_tokens.is_empty() {
            "source_tokens: expected one or more".to_owned()
        } else {
            return None;
        };
        Some(said)
    }

    /// Finds the source token at `address`.
    #[must_use]
    pub fn source_token(&self, address: Address) -> Option<&SourceToken> {
        self.source_tokens
            .iter()
            .find(|token| token.address == address)
    }
}

impl Default for ReviewedContracts {
    /// The review of chain 196 in November 2026.
    fn default() -> Self {
        let source = |address, symbol: &str| SourceToken {
            address,
            symbol: symbol.to_owned(),
            decimals: 6,
        };
        Self {
            version: "okx-196/2026-11-21".to_owned(),
            chain_id: CHAIN_ID,
            spender: address!("8b773D83bc66Be128c60e07E17C8901f7a64F000"),
            routers: vec![
                address!("7c5bEE2a8091C3ef39072f64F18Fac913060AEaF"),
                address!("722db4f285F8bD91ef7AF6DA397e83f7fA4E80a7"),
                address!("D1b8997AaC08c619d40Be2e4284c9C72cAB33954"),
            ],
            selectors: vec![
                fixed_bytes!("f2c42696"),
                fixed_bytes!("0c307f76"),
                fixed_bytes!("b80c2f09"),
                fixed_bytes!("03b87e5f"),
                fixed_bytes!("9871efa4"),
                fixed_bytes!("08298b5a"),
                fixed_bytes!("0d5f0e3b"),
            ],
            source_tokens: vec![
                source(
                    address!("779Ded0c9e1022225f8E0630b35a9b54bE713736"),
                    "USD₮0",
                ),
                source(address!("4ae46a509F6b1D9056937BA4500cb143933D2dc8"), "USDG"),
                source(address!("1E4a5963aBFD975d8c9021ce480b42188849D41d"), "USDT"),
            ],
            allowance_reset_tokens: Vec::new(),
            max_deadline_seconds: 86_400,
        }
    }
}

/// A token that a swap may start from (USDT or USDG).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceToken {
    /// The token's contract.
    pub address: Address,
    /// The token's symbol, for people.
    pub symbol: String,
    /// The token's decimals: they convert the caller's amount.
    pub decimals: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_that_approves_its_router_cannot_be_used() {
        let good = ReviewedContracts::default();
        assert_eq!(good.problem(), None);
        let router = *good.routers.first().unwrap();
        for (bad, key) in [
            (
                ReviewedContracts {
                    spender: router,
                    ..good.clone()
                },
                "spender",
            ),
            (
                ReviewedContracts {
                    routers: Vec::new(),
                    ..good.clone()
                },
                "routers",
            ),
            (
                ReviewedContracts {
                    selectors: Vec::new(),
                    ..good.clone()
                },
                "selectors",
            ),
            (
                ReviewedContracts {
                    chain_id: 1,
                    ..good.clone()
                },
                "chain_id",
            ),
            (
                ReviewedContracts {
                    version: " ".to_owned(),
                    ..good
                },
                "version",
            ),
        ] {
            assert!(bad.problem().unwrap().starts_with(key), "{key}");
        }
    }
}
