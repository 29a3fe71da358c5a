//! The market as it was read, in the form of the wire.

use calldata_checks::{
    UtcSeconds,
    pm_order::{self as checks, PmMarketFacts},
};
use serde::{Deserialize, Serialize};

use crate::{
    ports::{PmBuilderFee, PmMarket, PmToken},
    wire::{Digits, Exact, Label, Time, Word},
};

/// The market as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Market {
    accepting_orders: bool,
    active: bool,
    closed: bool,
    condition_id: Word,
    min_order_size: Exact,
    neg_risk: bool,
    order_book: bool,
    read_at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taker_fee_rate: Option<Exact>,
    tick_size: Exact,
    tokens: [Token; 2],
    version: u64,
}

/// A token of the market.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Token {
    outcome: Label,
    token_id: Digits,
}

/// The venue's fee for a builder code, in basis points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BuilderFee {
    maker_bps: Exact,
    taker_bps: Exact,
}

impl BuilderFee {
    /// The fee in the form of the checks.
    pub(in crate::pm_order) const fn as_read(self) -> checks::PmBuilderFee {
        checks::PmBuilderFee {
            maker_bps: self.maker_bps.0,
            taker_bps: self.taker_bps.0,
        }
    }
}

impl From<PmBuilderFee> for BuilderFee {
    fn from(fee: PmBuilderFee) -> Self {
        Self {
            maker_bps: Exact(fee.maker_bps),
            taker_bps: Exact(fee.taker_bps),
        }
    }
}

impl Market {
    /// When the market was read.
    pub(in crate::pm_order) const fn read_at(&self) -> UtcSeconds {
        self.read_at.0
    }

    /// The market in the form of the checks.
    pub(in crate::pm_order) fn as_facts(&self) -> PmMarketFacts {
        PmMarketFacts {
            version: self.version,
            condition_id: self.condition_id.0,
            tokens: self
                .tokens
                .each_ref()
                .map(|token| (token.token_id.0, token.outcome.as_str().to_owned())),
            tick_size: self.tick_size.0,
            min_order_size: self.min_order_size.0,
            neg_risk: self.neg_risk,
            accepting_orders: self.accepting_orders,
            order_book: self.order_book,
            active: self.active,
            closed: self.closed,
            read_at: self.read_at.0,
        }
    }
}

impl From<&PmMarket> for Market {
    fn from(market: &PmMarket) -> Self {
        let token = |token: &PmToken| Token {
            outcome: Label::of(&token.outcome),
            token_id: Digits(token.token_id),
        };
        Self {
            accepting_orders: market.accepting_orders,
            active: market.active,
            closed: market.closed,
            condition_id: Word(market.condition_id),
            min_order_size: Exact(market.min_order_size),
            neg_risk: market.neg_risk,
            order_book: market.order_book,
            read_at: Time(market.read_at),
            taker_fee_rate: market.fee_rate.map(Exact),
            tick_size: Exact(market.tick_size),
            tokens: market.tokens.each_ref().map(token),
            version: market.version,
        }
    }
}
