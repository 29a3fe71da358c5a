//! An account at Hyperliquid, as the venue describes it.

use jiff::Timestamp;
use serde::Serialize;

use crate::Figure;

/// The margin and the open positions of an account at one dex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The dex. Empty for the venue's own.
    pub dex: String,
    /// Value and margin.
    pub margin: MarginSummary,
    /// Open positions.
    pub positions: Vec<Position>,
    /// The venue's time of these facts.
    pub as_of: Timestamp,
}

impl Account {
    /// Whether the account neither holds nor owes anything there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
            && self.margin.account_value_usd.0.is_zero()
            && self.margin.withdrawable_usd.0.is_zero()
    }
}

/// The value and the margin at one dex, in its collateral, which counts as dollars.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MarginSummary {
    /// The dex. Empty for the venue's own.
    pub dex: String,
    /// The collateral and the unrealised profit.
    pub account_value_usd: Figure,
    /// The value of the positions at their mark price, with longs and shorts added up.
    pub total_notional_usd: Figure,
    /// The collateral without the unrealised profit.
    pub total_raw_usd: Figure,
    /// The margin that the positions use.
    pub total_margin_used_usd: Figure,
    /// The value of the account below which positions of cross margin are liquidated.
    pub cross_maintenance_margin_usd: Option<Figure>,
    /// The amount that can be withdrawn now.
    pub withdrawable_usd: Figure,
}

/// An open position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The coin, with its dex as a prefix.
    pub coin: String,
    /// The dex. Empty for the venue's own.
    pub dex: String,
    /// `long` or `short`.
    pub side: &'static str,
    /// The size in coins. Negative when short.
    pub size: Figure,
    /// The mean price of entry.
    pub entry_px: Option<Figure>,
    /// The size at the mark price, without a sign.
    pub value_usd: Figure,
    /// The unrealised profit.
    pub unrealized_pnl_usd: Figure,
    /// The price of liquidation. `null` when the position cannot be liquidated.
    pub liquidation_px: Option<Figure>,
    /// The margin that it uses.
    pub margin_used_usd: Figure,
    /// Leverage.
    pub leverage: u32,
    /// `cross` or `isolated`.
    pub margin_mode: String,
    /// The funding that was paid since it was opened. Negative when received.
    pub funding_since_open_usd: Option<Figure>,
}

/// A balance of the spot account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpotBalance {
    /// The token's symbol. Anybody may deploy a token under any name.
    pub coin: String,
    /// The token's index at the venue, which identifies the token.
    pub token: u32,
    /// The whole balance.
    pub total: Figure,
    /// The part that is reserved for open orders.
    pub hold: Figure,
    /// The price that was paid for it.
    pub entry_value_usd: Option<Figure>,
}

/// An order that is not filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenOrder {
    /// The coin, with its dex as a prefix.
    pub coin: String,
    /// The venue's number of the order.
    pub order_id: u64,
    /// `buy` or `sell`.
    pub side: &'static str,
    /// `Limit`, `Stop Market` and the like, in the venue's words.
    pub order_type: String,
    /// The limit price.
    pub limit_px: Figure,
    /// The size that is still open, in coins.
    pub size: Figure,
    /// The original size, in coins.
    pub original_size: Option<Figure>,
    /// Whether it may only reduce a position.
    pub reduce_only: bool,
    /// The price at which it becomes active. `null` for an active order.
    pub trigger_px: Option<Figure>,
    /// When it was placed.
    pub placed_at: Timestamp,
    /// How many orders become active when this one is filled.
    pub children: usize,
}
