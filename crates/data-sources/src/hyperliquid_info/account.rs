//! The balances, positions and orders of an account. The answer for an unused address is zeros,
//! like that of an empty account.

use std::{sync::Arc, time::Duration};

use alloy_primitives::Address;
use readings::{
    Decimal, Figure,
    derivatives::{Account, MarginSummary, OpenOrder, Position, SpotBalance},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ACCOUNT, HyperliquidInfo, ORDERS, ROLE, SPOT, plain_name};
use crate::{
    error::{Error, SourceErrorKind},
    hyperliquid::info::{HEAVY, LIGHT, USUAL},
    provenance::Sourced,
    text::clean,
    wire::{Millis, malformed},
};

/// Most characters of a word of the venue.
const WORD_CHARS: usize = 48;

impl HyperliquidInfo {
    /// Margin and positions of `user` at `dex`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] for an unknown dex, or a [`SourceError`](crate::SourceError).
    pub async fn account(
        &self,
        user: Address,
        dex: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Account>, Error> {
        self.known_dex(dex).await?;
        let (this, of) = (self.clone(), dex.to_owned());
        let fetch = move || async move {
            let body = request_body("clearinghouseState", user, &of);
            let state = this.present::<State>(ACCOUNT, &body, LIGHT).await?;
            let reject_response = |kind| this.source.reject_response(ACCOUNT, kind);
            let time = state
                .value
                .time
                .past(this.source.now(), "$.time")
                .map_err(reject_response)?;
            let account = state.value.read(&of, time).map_err(reject_response)?;
            let sources = state.sources;
            Ok(Sourced {
                value: account,
                sources,
            }
            .as_of(Some(time)))
        };
        self.accounts
            .get((user, dex.to_owned()), max_age, fetch)
            .await
    }

    /// Balances of the spot account of `user`.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn spot_balances(
        &self,
        user: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<SpotBalance>>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let body = request_body("spotClearinghouseState", user, "");
            let state = this.present::<Spot>(SPOT, &body, LIGHT).await?;
            Ok(state.map(|spot| Arc::new(spot.balances.into_iter().map(balance).collect())))
        };
        self.spot.get(user, max_age, fetch).await
    }

    /// Open orders of `user` at `dex`, newest first.
    ///
    /// # Errors
    ///
    /// As of [`Self::account`].
    pub async fn open_orders(
        &self,
        user: Address,
        dex: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<OpenOrder>>>, Error> {
        self.known_dex(dex).await?;
        let (this, of) = (self.clone(), dex.to_owned());
        let fetch = move || async move {
            let body = request_body("frontendOpenOrders", user, &of);
            let list = this.present::<Vec<RawOrder>>(ORDERS, &body, USUAL).await?;
            let now = this.source.now();
            let read: Result<Vec<_>, _> = list
                .value
                .into_iter()
                .map(|order| order.read(now))
                .collect();
            let mut orders = read.map_err(|kind| this.source.reject_response(ORDERS, kind))?;
            orders.sort_by(|one, other| {
                (other.placed_at, other.order_id).cmp(&(one.placed_at, one.order_id))
            });
            orders.dedup_by_key(|order| order.order_id);
            let sources = list.sources;
            Ok(Sourced {
                value: Arc::new(orders),
                sources,
            })
        };
        self.orders
            .get((user, dex.to_owned()), max_age, fetch)
            .await
    }

    /// The role of `user` at the venue: `user`, `vault`, `agent`, `subAccount` or `missing`. It
    /// only names the account: its age does not count as the age of an answer.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn role(
        &self,
        user: Address,
        max_age: Option<Duration>,
    ) -> Result<Sourced<String>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let body = request_body("userRole", user, "");
            let role = this.present::<Role>(ROLE, &body, HEAVY).await?;
            Ok(role.map(|role| clean(&role.role, WORD_CHARS)))
        };
        let role = self.roles.get(user, max_age, fetch).await?;
        Ok(role.as_reference())
    }
}

fn request_body(kind: &str, user: Address, dex: &str) -> Value {
    let mut body = json!({"type": kind, "user": format!("{user:#x}")});
    if let (false, Some(members)) = (dex.is_empty(), body.as_object_mut()) {
        members.insert("dex".to_owned(), Value::from(dex));
    }
    body
}

/// `buy` or `sell` from the venue's letter: bid or ask.
pub(super) fn side(letter: &str) -> Result<&'static str, SourceErrorKind> {
    match letter {
        "B" => Ok("buy"),
        "A" => Ok("sell"),
        other => Err(malformed("$[].side", "B or A", other)),
    }
}

/// A coin's name in the form that is shown.
pub(super) fn coin(name: &str) -> String {
    if plain_name(name) {
        name.to_owned()
    } else {
        clean(name, WORD_CHARS)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct State {
    margin_summary: Margin,
    #[serde(default, deserialize_with = "Figure::or_none")]
    cross_maintenance_margin_used: Option<Figure>,
    withdrawable: Figure,
    asset_positions: Vec<Held>,
    time: Millis,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Margin {
    account_value: Figure,
    total_ntl_pos: Figure,
    total_raw_usd: Figure,
    total_margin_used: Figure,
}

#[derive(Deserialize)]
struct Held {
    position: RawPosition,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPosition {
    coin: String,
    szi: Figure,
    #[serde(default, deserialize_with = "Figure::or_none")]
    entry_px: Option<Figure>,
    position_value: Figure,
    unrealized_pnl: Figure,
    #[serde(default, deserialize_with = "Figure::or_none")]
    liquidation_px: Option<Figure>,
    margin_used: Figure,
    leverage: Leverage,
    #[serde(default)]
    cum_funding: Option<Paid>,
}

#[derive(Deserialize)]
struct Leverage {
    #[serde(rename = "type")]
    mode: String,
    value: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Paid {
    #[serde(default, deserialize_with = "Figure::lenient")]
    since_open: Option<Figure>,
}

impl State {
    fn read(self, dex: &str, as_of: jiff::Timestamp) -> Result<Account, SourceErrorKind> {
        let margin = MarginSummary {
            dex: dex.to_owned(),
            account_value_usd: self.margin_summary.account_value,
            total_notional_usd: self.margin_summary.total_ntl_pos,
            total_raw_usd: self.margin_summary.total_raw_usd,
            total_margin_used_usd: self.margin_summary.total_margin_used,
            cross_maintenance_margin_usd: self.cross_maintenance_margin_used,
            withdrawable_usd: self.withdrawable,
        };
        let mut positions = Vec::with_capacity(self.asset_positions.len());
        for Held { position } in self.asset_positions {
            let prefix = position
                .coin
                .split_once(':')
                .map_or("", |(prefix, _)| prefix);
            if prefix != dex {
                let path = "$.assetPositions[].position.coin";
                return Err(malformed(
                    path,
                    "a coin of the dex that was asked for",
                    position.coin,
                ));
            }
            positions.push(position.read(dex));
        }
        Ok(Account {
            dex: dex.to_owned(),
            margin,
            positions,
            as_of,
        })
    }
}

impl RawPosition {
    fn read(self, dex: &str) -> Position {
        Position {
            coin: coin(&self.coin),
            dex: dex.to_owned(),
            side: if self.szi.0 < Decimal::ZERO {
                "short"
            } else {
                "long"
            },
            size: self.szi,
            entry_px: self.entry_px,
            value_usd: self.position_value,
            unrealized_pnl_usd: self.unrealized_pnl,
            liquidation_px: self.liquidation_px,
            margin_used_usd: self.margin_used,
            leverage: self.leverage.value,
            margin_mode: clean(&self.leverage.mode, WORD_CHARS),
            funding_since_open_usd: self.cum_funding.and_then(|paid| paid.since_open),
        }
    }
}

#[derive(Deserialize)]
struct Spot {
    balances: Vec<RawBalance>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBalance {
    coin: String,
    token: u32,
    total: Figure,
    hold: Figure,
    #[serde(default, deserialize_with = "Figure::lenient")]
    entry_ntl: Option<Figure>,
}

fn balance(raw: RawBalance) -> SpotBalance {
    SpotBalance {
        coin: coin(&raw.coin),
        token: raw.token,
        total: raw.total,
        hold: raw.hold,
        entry_value_usd: raw.entry_ntl,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawOrder {
    coin: String,
    oid: u64,
    side: String,
    #[serde(default)]
    order_type: String,
    limit_px: Figure,
    sz: Figure,
    #[serde(default, deserialize_with = "Figure::lenient")]
    orig_sz: Option<Figure>,
    reduce_only: bool,
    #[serde(default)]
    is_trigger: bool,
    #[serde(default, deserialize_with = "Figure::or_none")]
    trigger_px: Option<Figure>,
    timestamp: Millis,
    #[serde(default)]
    children: Vec<serde::de::IgnoredAny>,
}

impl RawOrder {
    fn read(self, now: jiff::Timestamp) -> Result<OpenOrder, SourceErrorKind> {
        Ok(OpenOrder {
            coin: coin(&self.coin),
            order_id: self.oid,
            side: side(&self.side)?,
            order_type: clean(&self.order_type, WORD_CHARS),
            limit_px: self.limit_px,
            size: self.sz,
            original_size: self.orig_sz,
            reduce_only: self.reduce_only,
            // An order without a trigger states a trigger price of zero.
            trigger_px: self.trigger_px.filter(|_| self.is_trigger),
            placed_at: self.timestamp.past(now, "$[].timestamp")?,
            children: self.children.len(),
        })
    }
}

#[derive(Deserialize)]
struct Role {
    role: String,
}
