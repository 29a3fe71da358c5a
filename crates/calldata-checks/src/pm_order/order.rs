//! The order that an account signs, with its side. The struct is that of the venue's exchange
//! contracts.

use alloy_primitives::{Address, B256, U256};

use super::{COLLATERAL, CONDITIONAL_TOKENS};

/// An order as the exchange verifies it.
///
/// # Example
/// ```
/// use alloy_primitives::{B256, U256, address, b256};
/// use calldata_checks::pm_order::{Exchange, Order, Side, domain};
///
/// // 100 shares at 0.5.
/// let account = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
/// let order = Order {
///     salt: U256::from(479249096354_u64),
///     maker: account,
///     signer: account,
///     token_id: "68037499376105572055155402848342376736342093236553438132563031797889957479533".parse()?,
///     maker_amount: U256::from(50_000_000),
///     taker_amount: U256::from(100_000_000),
///     side: Side::Buy,
///     signature_type: 0,
///     timestamp: U256::from(1_790_000_000_000_u64),
///     metadata: B256::ZERO,
///     builder: B256::ZERO,
/// };
/// let struct_hash = b256!("57d2c6b83e61bb7b11c0eee79f9ef3bb5177ba15350f9b03dea2922aaca31cae");
/// assert_eq!(order.struct_hash(), struct_hash);
/// let digest = order.hash(&domain(Exchange::Normal)); // what the account signs
/// assert_eq!(digest, b256!("e0a9c4db47126f488712902874b5a2da5ad033bd515f143f9f8b281812ca6726"));
/// # Ok::<(), alloy_primitives::ruint::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Makes the order one of its kind.
    pub salt: U256,
    /// The account whose tokens move.
    pub maker: Address,
    /// The account that signs.
    pub signer: Address,
    /// The outcome token.
    pub token_id: U256,
    /// The amount that the maker gives, in the smallest unit.
    pub maker_amount: U256,
    /// The least amount that the maker gets, in the smallest unit.
    pub taker_amount: U256,
    /// Buy or sell.
    pub side: Side,
    /// The kind of signature; 0 for an EOA.
    pub signature_type: u8,
    /// The time of its making, in milliseconds of Unix time.
    pub timestamp: U256,
    /// Free for the maker.
    pub metadata: B256,
    /// The attribution code.
    pub builder: B256,
}

/// Buy or sell.
///
/// # Example
/// ```
/// use calldata_checks::pm_order::Side;
///
/// assert_eq!(Side::from_text("SELL"), Some(Side::Sell));
/// assert_eq!(Side::from_text("sell"), None);
/// assert_eq!(Side::from_number(1), Some(Side::Sell));
/// assert_eq!(Side::Buy.number(), 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Gives collateral for outcome tokens.
    Buy,
    /// Gives outcome tokens for collateral.
    Sell,
}

/// The approval that an order of one side needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SideApproval {
    /// The token contract.
    pub contract: Address,
    /// The signature of its function.
    pub function: &'static str,
    /// The signature of the function that reads the approval back.
    pub read_back: &'static str,
}

impl Side {
    /// Both sides.
    pub const ALL: [Self; 2] = [Self::Buy, Self::Sell];

    /// The name in a request and in the REST form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Buy => "BUY",
            Self::Sell => "SELL",
        }
    }

    /// From the REST form.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|side| side.as_str() == text)
    }

    /// The number in the typed data.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Buy => 0,
            Self::Sell => 1,
        }
    }

    /// From the number in the typed data.
    #[must_use]
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|side| u64::from(side.number()) == number)
    }

    /// The approval that the exchange needs of the maker.
    #[must_use]
    pub const fn approval(self) -> SideApproval {
        match self {
            Self::Buy => SideApproval {
                contract: COLLATERAL,
                function: "approve(address,uint256)",
                read_back: "allowance(address,address)",
            },
            Self::Sell => SideApproval {
                contract: CONDITIONAL_TOKENS,
                function: "setApprovalForAll(address,bool)",
                read_back: "isApprovedForAll(address,address)",
            },
        }
    }
}
