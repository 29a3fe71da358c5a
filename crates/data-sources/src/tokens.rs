//! The adapters' types for tokens: prices, lists, approvals and swaps.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};
use calldata_checks::okx::{NATIVE_COIN, ReviewedContracts, SwapAsked, Trim};
use exact::DecimalText;
use jiff::Timestamp;

use crate::{error::RequestError, slippage::SlippagePercent};

/// A token's price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenPrice {
    /// The token.
    pub token: Address,
    /// Its chain.
    pub chain_id: u64,
    /// Dollars for one whole token, greater than zero, in the source's own digits.
    pub price_usd: DecimalText,
    /// When the source observed it.
    pub as_of: Timestamp,
}

/// A token list at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSnapshot {
    /// The chain.
    pub chain_id: u64,
    /// The tokens, in the source's order.
    pub tokens: Arc<[Token]>,
    /// Rows of the source that were left out because they contradicted themselves or each other.
    pub rejected: usize,
}

/// A token of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its contract; `Display` writes its checksum. The native coin has [`NATIVE_COIN`].
    pub address: Address,
    /// Its symbol. Untrusted text without control characters.
    pub symbol: String,
    /// Its name; `None` when the source has none. Untrusted text without control characters.
    pub name: Option<String>,
    /// Its unit; `None` when the source does not know it, which is not zero.
    pub decimals: Option<u8>,
    /// Its logo, an `https` URL. Untrusted: never fetched here.
    pub logo_url: Option<String>,
}

impl Token {
    /// Whether this is the chain's native coin and not a contract.
    pub fn is_native(&self) -> bool {
        self.address == NATIVE_COIN
    }
}

/// An unsigned approval: send `data` to the **token**.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Where to send it: the token.
    pub to: Address,
    /// `approve(spender, amount)`. It sends no native coin.
    pub data: Bytes,
    /// The reviewed spender.
    pub spender: Address,
    /// Amount in the token's unit.
    pub amount: U256,
    /// The chain.
    pub chain_id: u64,
    /// Gas the aggregator suggests, when it answered.
    pub gas_limit: Option<u64>,
    /// Whether a non-zero allowance must be set to zero first; `None` when that is unknown.
    pub needs_reset: Option<bool>,
    /// Version of the reviewed set that has the spender.
    pub reviewed_version: String,
}

/// A swap request that passed every check that needs no upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapRequest {
    /// Token to spend.
    pub from_token: Address,
    /// Token to receive; [`NATIVE_COIN`] for the native coin.
    pub to_token: Address,
    /// Amount to spend, in the unit of `from_token`.
    pub amount: U256,
    /// The wallet that signs, sends and receives.
    pub user: Address,
    /// Tolerance in percent.
    pub slippage: SlippagePercent,
    /// The loss above which the aggregator itself refuses, in basis points. `None` leaves its own
    /// default.
    pub max_price_impact_bps: Option<u32>,
}

impl SwapRequest {
    /// Checks the parameters of a swap: the source token is an accepted ERC-20 token other than the
    /// target, `amount` (human-readable) is exact in its unit and not zero, `slippage` (percent,
    /// default 1) is between 0.1 and 50.
    ///
    /// # Errors
    ///
    /// A [`RequestError`] that names the field.
    pub fn parse(
        from_token: Address,
        to_token: Address,
        amount: &str,
        user: Address,
        slippage: Option<&str>,
        reviewed: &ReviewedContracts,
    ) -> Result<Self, RequestError> {
        if from_token == NATIVE_COIN {
            return Err(RequestError::NativeSource);
        }
        let source = reviewed
            .source_token(from_token)
            .ok_or(RequestError::SourceToken {
                observed: from_token,
            })?;
        if from_token == to_token {
            return Err(RequestError::SameToken);
        }
        for (field, address) in [("toToken", to_token), ("userWalletAddress", user)] {
            if address.is_zero() {
                return Err(RequestError::ZeroAddress { field });
            }
        }
        let amount = DecimalText::parse(amount)
            .and_then(|amount| amount.to_atoms(source.decimals))
            .map_err(RequestError::Amount)?;
        if amount.is_zero() {
            return Err(RequestError::ZeroAmount);
        }
        let slippage = match slippage {
            Some(text) => SlippagePercent::parse(text).map_err(RequestError::Slippage)?,
            None => SlippagePercent::default(),
        };
        Ok(Self {
            from_token,
            to_token,
            amount,
            user,
            slippage,
            max_price_impact_bps: None,
        })
    }

    /// Sets the loss above which the aggregator itself refuses, in basis points.
    #[must_use]
    pub fn guarded(self, max_price_impact_bps: u32) -> Self {
        Self {
            max_price_impact_bps: Some(max_price_impact_bps),
            ..self
        }
    }

    /// The request as the judgement of a quote takes it.
    pub(crate) fn asked(&self) -> SwapAsked {
        SwapAsked {
            account: self.user,
            from_token: self.from_token,
            to_token: self.to_token,
            amount: self.amount,
            slippage: self.slippage.tolerance(),
        }
    }
}

/// A quote and the unsigned transaction that executes it, every fact compared with the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapQuote {
    /// The request.
    pub request: SwapRequest,
    /// Output expected, in the output token's unit.
    pub amount_out: U256,
    /// Least output; the router reverts below it.
    pub min_amount_out: U256,
    /// Effect of the swap on the price in percent, signed, in the aggregator's own digits.
    pub price_impact_pct: Option<String>,
    /// Pools on the way, as the aggregator describes them. Untrusted text without control
    /// characters.
    pub route: Vec<RouteHop>,
    /// The token spent, as the aggregator sees it.
    pub from_token: TokenStanding,
    /// The token received, as the aggregator sees it.
    pub to_token: TokenStanding,
    /// Call target: a reviewed router.
    pub to: Address,
    /// Calldata. The transaction sends no native coin.
    pub data: Bytes,
    /// Gas the aggregator suggests.
    pub gas_limit: Option<u64>,
    /// The chain.
    pub chain_id: u64,
    /// Router function that is called.
    pub function: &'static str,
    /// Unix time in seconds after which the transaction reverts.
    pub deadline: Option<u64>,
    /// The share of a better-than-quoted output that the aggregator keeps.
    pub trim: Option<Trim>,
    /// Bytes after the calldata's arguments, all of them recognised.
    pub trailing_bytes: usize,
    /// Version of the reviewed set the quote was checked against.
    pub reviewed_version: String,
}

/// One step of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteHop {
    /// Exchange or pool.
    pub venue: String,
    /// Share of the step in percent, in the aggregator's own digits.
    pub share_pct: Option<String>,
}

/// The aggregator's statements about a token of a quote. `None` is unknown, never `false` or zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenStanding {
    /// Symbol. Untrusted text without control characters.
    pub symbol: Option<String>,
    /// Unit.
    pub decimals: Option<u8>,
    /// Whether it can be bought but not sold.
    pub is_honeypot: Option<bool>,
    /// Tax on transfers, in the aggregator's own digits and unit.
    pub tax_rate: Option<DecimalText>,
}
