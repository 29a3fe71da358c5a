//! The reviewed contracts of the venue: its two exchanges, its collateral and its outcome tokens,
//! on Polygon.

use alloy_primitives::{Address, address};

/// The chain of the venue.
pub const CHAIN_ID: u64 = 137;
/// The generation of the venue's protocol that the crate supports.
pub const VENUE_VERSION: u64 = 2;
/// The collateral, pUSD (6 decimals).
pub const COLLATERAL: Address = address!("0xC011a7E12a19f7B1f670d46F03B03f3342E82DFB");
/// The outcome tokens (ERC-1155, 6 decimals).
pub const CONDITIONAL_TOKENS: Address = address!("0x4D97DCd97eC945f40cF65F87097ACe5EA0476045");

/// A reviewed exchange contract of the second generation. There are no others: a second
/// negative-risk address in community code is in no client of the venue.
///
/// # Example
/// ```
/// use alloy_primitives::Address;
/// use calldata_checks::pm_order::Exchange;
///
/// let exchange = Exchange::of_market(true);
/// assert_eq!(Exchange::at(exchange.address()), Some(Exchange::NegRisk));
/// assert_eq!(Exchange::at(Address::repeat_byte(1)), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exchange {
    /// The exchange of markets whose outcomes settle by themselves.
    Normal,
    /// The exchange of markets that share their risk with others of one event.
    NegRisk,
}

impl Exchange {
    /// Both exchanges.
    pub const ALL: [Self; 2] = [Self::Normal, Self::NegRisk];

    /// Returns the exchange that settles a market.
    #[must_use]
    pub const fn of_market(neg_risk: bool) -> Self {
        if neg_risk {
            Self::NegRisk
        } else {
            Self::Normal
        }
    }

    /// Returns the exchange's contract. It verifies the order's signature and moves the tokens.
    #[must_use]
    pub const fn address(self) -> Address {
        match self {
            Self::Normal => address!("0xE111180000d2663C0091e4f400237545B87B996B"),
            Self::NegRisk => address!("0xe2222d279d744050d28e00520010520000310F59"),
        }
    }

    /// Finds the exchange at an address.
    #[must_use]
    pub fn at(address: Address) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|exchange| exchange.address() == address)
    }

    /// Returns the exchange's name in a judgement.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal exchange",
            Self::NegRisk => "neg-risk exchange",
        }
    }
}
