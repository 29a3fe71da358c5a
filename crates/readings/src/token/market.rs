//! A token's market data: its price, the facts about its origin and holders, its pools, and its
//! place in a ranking. This module has the types only; adapters fill them.

use alloy_primitives::Address;
use jiff::Timestamp;
use serde::Serialize;

use super::checksummed;
use crate::Figure;

/// The market data of one token at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenMarket {
    /// The token.
    #[serde(serialize_with = "checksummed")]
    pub address: Address,
    /// Its chain.
    #[serde(skip)]
    pub chain_id: u64,
    /// When the source observed it.
    #[serde(skip)]
    pub as_of: Timestamp,
    /// Dollars for one whole token, above zero.
    pub price_usd: Figure,
    /// Change of the price over five minutes, in percent.
    pub change_5m_pct: Option<Figure>,
    /// Change of the price over an hour, in percent.
    pub change_1h_pct: Option<Figure>,
    /// Change of the price over four hours, in percent.
    pub change_4h_pct: Option<Figure>,
    /// Change of the price over a day, in percent.
    pub change_24h_pct: Option<Figure>,
    /// Dollars traded within a day.
    pub volume_24h_usd: Option<Figure>,
    /// Dollars in the token's pools.
    pub liquidity_usd: Option<Figure>,
    /// Price times circulating supply, in dollars.
    pub market_cap_usd: Option<Figure>,
    /// Accounts that hold it.
    pub holders: Option<u64>,
    /// Trades within a day.
    pub txs_24h: Option<u64>,
}

/// A token in a ranking by trades or mentions. The ranking's order is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotToken {
    /// Its chain.
    pub chain_id: u64,
    /// Its contract in the spelling of its chain: a ranking may name chains without 20-byte
    /// addresses.
    pub contract: String,
    /// Its symbol. Untrusted text without control characters.
    pub symbol: String,
    /// Dollars for one whole token, above zero.
    pub price_usd: Option<Figure>,
    /// Change of the price over a day, in percent.
    pub change_24h_pct: Option<Figure>,
    /// Dollars traded within a day.
    pub volume_24h_usd: Option<Figure>,
    /// Dollars in the token's pools.
    pub liquidity_usd: Option<Figure>,
    /// Price times circulating supply, in dollars.
    pub market_cap_usd: Option<Figure>,
    /// Accounts that traded it within a day.
    pub traders_24h: Option<u64>,
    /// Accounts that hold it.
    pub holders: Option<u64>,
    /// The share of the supply that the ten largest holders have, from 0 to 100.
    pub top10_hold_pct: Option<Figure>,
    /// The level of risk that the ranking states: 1 low, 2 medium, 3 medium to high, 4 and 5 high.
    pub risk_level: Option<u8>,
}

impl HotToken {
    /// Returns its contract as an address. `None` on a chain without 20-byte addresses.
    #[must_use]
    pub fn address(&self) -> Option<Address> {
        self.contract.parse().ok()
    }

    /// Whether the ranking states a high risk.
    #[must_use]
    pub fn is_high_risk(&self) -> bool {
        self.risk_level.is_some_and(|level| level >= 4)
    }
}

/// The facts about a token's origin and holders.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TokenOrigin {
    /// The account that created it.
    pub creator: Option<Address>,
    /// When it was created.
    pub created_at: Option<Timestamp>,
    /// The level of risk that the source states, from 1 (low) to 5 (high).
    pub risk_level: Option<u8>,
    /// The share of the supply that the ten largest holders have, from 0 to 100.
    pub top10_hold_pct: Option<Figure>,
    /// The share of the supply that the creator holds, from 0 to 100.
    pub creator_hold_pct: Option<Figure>,
    /// The share of the supply that suspicious accounts hold, from 0 to 100.
    pub suspicious_hold_pct: Option<Figure>,
    /// The share of liquidity that was burned and cannot be withdrawn, 0 to 100.
    pub lp_burned_pct: Option<Figure>,
    /// How many tokens the creator has made before.
    pub creator_tokens: Option<u64>,
    /// How many of the creator's earlier tokens ended as a rug pull.
    pub creator_rug_pulls: Option<u64>,
    /// The source's labels, such as `communityRecognized` or `honeypot`.
    pub tags: Vec<String>,
}

/// One pool of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenPool {
    /// The names of both tokens, as the source writes them. Untrusted text without control
    /// characters.
    pub name: String,
    /// The exchange.
    pub protocol: String,
    /// The pool's contract.
    pub address: Option<Address>,
    /// Dollars in the pool.
    pub liquidity_usd: Option<Figure>,
    /// The pool's fee for a trade, in percent.
    pub fee_pct: Option<Figure>,
}
