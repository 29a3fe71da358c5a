//! Reads an action's values from its text. Accepts only the canonical form of every number, name
//! and id. The checks decide whether a value is the requested one.

use std::str::FromStr as _;

use alloy_primitives::{Address, B128};

use super::wire::{WireAction, WireBuilder, WireOrder, WireOrderKind};
use crate::{Decimal, Violation};

/// A decoded order action: the first order is the entry, the others are its children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The first order.
    pub entry: Order,
    /// The orders after it.
    pub children: Vec<Order>,
    /// The relation of the orders.
    pub grouping: Grouping,
    /// The recipient of a builder fee.
    pub builder: Option<Builder>,
}

impl Action {
    /// Iterates over the orders, the entry first.
    pub fn orders(&self) -> impl Iterator<Item = &Order> {
        std::iter::once(&self.entry).chain(&self.children)
    }

    /// Reads an action's text. Only canonical forms are accepted, because the venue hashes the form
    /// that it would write itself.
    ///
    /// # Errors
    /// The first text that is not canonical or not known.
    pub fn parse(wire: &WireAction) -> Result<Self, Violation> {
        if wire.kind != "order" {
            return Err(unknown("the action's type", "order", &wire.kind));
        }
        let (entry, children) = wire
            .orders
            .split_first()
            .ok_or_else(|| unknown("the action's orders", "at least one", "none"))?;
        Ok(Self {
            entry: Order::parse(entry)?,
            children: children
                .iter()
                .map(Order::parse)
                .collect::<Result<_, _>>()?,
            grouping: Grouping::ALL
                .into_iter()
                .find(|grouping| grouping.as_str() == wire.grouping)
                .ok_or_else(|| {
                    unknown(
                        "the grouping",
                        "na, normalTpsl or positionTpsl",
                        &wire.grouping,
                    )
                })?,
            builder: wire.builder.as_ref().map(Builder::parse).transpose()?,
        })
    }
}

/// One order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The asset id.
    pub asset: u32,
    /// Whether the order buys or sells.
    pub side: Side,
    /// The limit price in USD.
    pub price: Decimal,
    /// The size in units of the coin.
    pub size: Decimal,
    /// Whether the order only reduces a position.
    pub reduce_only: bool,
    /// The type of the order: plain or trigger.
    pub kind: OrderKind,
    /// The client order id.
    pub cloid: Option<B128>,
}

impl Order {
    fn parse(wire: &WireOrder) -> Result<Self, Violation> {
        Ok(Self {
            asset: wire.asset,
            side: if wire.is_buy { Side::Buy } else { Side::Sell },
            price: decimal("a price", &wire.price)?,
            size: decimal("a size", &wire.size)?,
            reduce_only: wire.reduce_only,
            kind: OrderKind::parse(&wire.kind)?,
            cloid: wire.cloid.as_deref().map(cloid).transpose()?,
        })
    }

    /// Returns the trigger, if it is a trigger order.
    #[must_use]
    pub const fn trigger(&self) -> Option<&Trigger> {
        match &self.kind {
            OrderKind::Trigger(trigger) => Some(trigger),
            OrderKind::Limit(_) => None,
        }
    }
}

/// The direction of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Buys: opens or adds to a long position.
    Buy,
    /// Sells: opens or adds to a short position.
    Sell,
}

impl Side {
    /// The name in a request.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Buy => "buy",
            Self::Sell => "sell",
        }
    }

    /// Returns the opposite side.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Buy => Self::Sell,
            Self::Sell => Self::Buy,
        }
    }
}

/// The type of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderKind {
    /// A plain limit order.
    Limit(TimeInForce),
    /// An order that waits for the mark price.
    Trigger(Trigger),
}

impl OrderKind {
    fn parse(wire: &WireOrderKind) -> Result<Self, Violation> {
        match wire {
            WireOrderKind::Limit { tif } => TimeInForce::ALL
                .into_iter()
                .find(|known| known.as_str() == tif)
                .map(Self::Limit)
                .ok_or_else(|| unknown("the time in force", "Gtc, Ioc or Alo", tif)),
            WireOrderKind::Trigger {
                is_market,
                trigger_price,
                tpsl,
            } => {
                let kind = Protection::ALL
                    .into_iter()
                    .find(|known| known.as_str() == tpsl)
                    .ok_or_else(|| unknown("the trigger's kind", "tp or sl", tpsl))?;
                let price = decimal("a trigger price", trigger_price)?;
                Ok(Self::Trigger(Trigger {
                    is_market: *is_market,
                    price,
                    kind,
                }))
            }
        }
    }
}

/// The time that an order stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeInForce {
    /// It stays until it is cancelled.
    Gtc,
    /// The rest that does not fill at once is cancelled.
    Ioc,
    /// It may only be a maker: the venue refuses it when it would fill at once.
    Alo,
}

impl TimeInForce {
    /// Every time in force that the rail offers.
    pub const ALL: [Self; 3] = [Self::Gtc, Self::Ioc, Self::Alo];

    /// The name on the wire and in a request.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gtc => "Gtc",
            Self::Ioc => "Ioc",
            Self::Alo => "Alo",
        }
    }
}

/// A trigger: the mark price that fires it, and its order after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trigger {
    /// Whether the fired order accepts any price up to its limit at once.
    pub is_market: bool,
    /// The mark price that fires the trigger.
    pub price: Decimal,
    /// The purpose of the trigger.
    pub kind: Protection,
}

/// The purpose of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protection {
    /// Take-profit.
    TakeProfit,
    /// Stop-loss.
    StopLoss,
}

impl Protection {
    /// Both purposes.
    pub const ALL: [Self; 2] = [Self::TakeProfit, Self::StopLoss];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TakeProfit => "tp",
            Self::StopLoss => "sl",
        }
    }
}

/// The relation of an action's orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Grouping {
    /// The orders are independent.
    Na,
    /// The children are tied to the entry: fixed size, live once it fills, one cancels the other.
    NormalTpsl,
    /// The orders are attached to the whole position.
    PositionTpsl,
}

impl Grouping {
    /// Every grouping that the venue knows.
    pub const ALL: [Self; 3] = [Self::Na, Self::NormalTpsl, Self::PositionTpsl];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Na => "na",
            Self::NormalTpsl => "normalTpsl",
            Self::PositionTpsl => "positionTpsl",
        }
    }
}

/// The recipient of a builder fee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builder {
    /// The recipient.
    pub address: Address,
    /// The fee in tenths of a basis point.
    pub fee_tenth_bps: u32,
}

impl Builder {
    fn parse(wire: &WireBuilder) -> Result<Self, Violation> {
        // The venue hashes the address as text: another case gives another signer.
        let address = exact::parse_lower_hex_array(&wire.address)
            .map(Address::new)
            .ok_or_else(|| {
                unknown(
                    "the builder",
                    "0x and 40 lower-case hex digits",
                    &wire.address,
                )
            })?;
        Ok(Self {
            address,
            fee_tenth_bps: wire.fee,
        })
    }
}

/// A client order id: 16 bytes, hashed as text.
fn cloid(text: &str) -> Result<B128, Violation> {
    exact::parse_lower_hex_array(text)
        .map(B128::new)
        .ok_or_else(|| {
            unknown(
                "the client order id",
                "0x and 32 lower-case hex digits",
                text,
            )
        })
}

fn decimal(what: &'static str, text: &str) -> Result<Decimal, Violation> {
    let value = Decimal::from_str(text).map_err(|error| unknown(what, error, text))?;
    let canonical = value.to_string();
    if canonical == text {
        Ok(value)
    } else {
        Err(unknown(what, canonical, text))
    }
}

fn unknown(what: &'static str, expected: impl ToString, observed: &str) -> Violation {
    Violation::new(
        format!("{what} is not in canonical form"),
        expected,
        observed,
    )
}
