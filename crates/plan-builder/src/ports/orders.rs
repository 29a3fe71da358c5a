//! The ports to the venues of the two order rails.

use std::future::Future;

use alloy_primitives::{Address, B256, U256};
use calldata_checks::{Decimal, UtcSeconds};
use serde::{Deserialize, Serialize};

use super::PortError;
use crate::wire::{As, Digits, Exact, Time, Word};

/// The prediction market's venue.
///
/// # Example
/// [`pm_order::build`](crate::pm_order::build) has an implementation.
pub trait PmVenue: Send + Sync {
    /// Reads now every fact about a token's market that an order needs.
    ///
    /// # Errors
    /// [`PortError`]
    fn market(&self, token_id: U256) -> impl Future<Output = Result<PmMarket, PortError>> + Send;

    /// Reads now the venue's fee for an attribution code.
    ///
    /// # Errors
    /// [`PortError`]
    fn builder_fee(
        &self,
        code: B256,
    ) -> impl Future<Output = Result<PmBuilderFee, PortError>> + Send;
}

/// A market as the venue describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PmMarket {
    /// The number that `GET /version` returns.
    pub version: u64,
    /// The market's condition.
    #[serde(with = "As::<Word>")]
    pub condition_id: B256,
    /// The two tokens with their outcomes, in the venue's order.
    pub tokens: [PmToken; 2],
    /// The price step.
    #[serde(with = "As::<Exact>")]
    pub tick_size: Decimal,
    /// The least size in shares.
    #[serde(with = "As::<Exact>")]
    pub min_order_size: Decimal,
    /// Whether the negative-risk exchange settles the market.
    pub neg_risk: bool,
    /// Whether the market accepts orders.
    pub accepting_orders: bool,
    /// Whether the market has an order book.
    pub order_book: bool,
    /// Whether the market is active.
    pub active: bool,
    /// Whether the market is closed.
    pub closed: bool,
    /// The rate of the taker's fee. `None` when the venue does not state it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<Exact>>"
    )]
    pub fee_rate: Option<Decimal>,
    /// When the market was read.
    #[serde(with = "As::<Time>")]
    pub read_at: UtcSeconds,
}

/// A token of a market.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PmToken {
    /// The token's id.
    #[serde(with = "As::<Digits>")]
    pub token_id: U256,
    /// The token's outcome. The text is untrusted, and has no control characters.
    pub outcome: String,
}

/// The venue's fee for an attribution code, in basis points of the order's worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PmBuilderFee {
    /// The fee when another order matches this one.
    #[serde(with = "As::<Exact>")]
    pub maker_bps: Decimal,
    /// The fee when this order matches another one.
    #[serde(with = "As::<Exact>")]
    pub taker_bps: Decimal,
}

/// The perpetuals venue.
///
/// # Example
/// [`perp_order::build`](crate::perp_order::build) has an implementation.
pub trait PerpVenue: Send + Sync {
    /// Reads now the asset that a coin names (`BTC`, `xyz:TSLA`).
    ///
    /// # Errors
    /// [`PortError`]
    fn asset(&self, coin: &str) -> impl Future<Output = Result<PerpAsset, PortError>> + Send;

    /// Reads the highest fee that a user has approved for a builder, in tenths of a basis point.
    ///
    /// # Errors
    /// [`PortError`]
    fn max_builder_fee(
        &self,
        user: Address,
        builder: Address,
    ) -> impl Future<Output = Result<u64, PortError>> + Send;
}

/// A perpetual as the venue describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerpAsset {
    /// The asset's name in the universe.
    pub coin: String,
    /// The asset's dex. Empty for the first one.
    pub dex: String,
    /// The position of the dex in `perpDexs` (0 for the first one).
    pub dex_index: u32,
    /// The asset's position in the universe of its dex.
    pub universe_index: u32,
    /// The asset's id on the wire.
    pub asset_id: u32,
    /// The decimals of a size.
    pub size_decimals: u8,
    /// The highest leverage.
    pub max_leverage: u32,
    /// Whether the asset is delisted.
    pub delisted: bool,
    /// The position of the dex's collateral in the venue's list of spot tokens (0 is USDC).
    pub collateral_token: u32,
    /// The name of that token. The text is untrusted, and has no control characters.
    pub collateral: String,
    /// The mark price, if the venue has one.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "As::<Option<Exact>>"
    )]
    pub mark_price: Option<Decimal>,
    /// When the asset was read.
    #[serde(with = "As::<Time>")]
    pub read_at: UtcSeconds,
}
