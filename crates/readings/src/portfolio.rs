//! The portfolio of an account on several chains: balances, their values, and how complete both
//! are.
//!
//! It combines readings of nodes and of indexes that adapters made. The chain decides amounts, and
//! an index adds values and further tokens. An unknown amount or price never counts as zero.

mod known;

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256};
use exact::format_units;
use serde::{Serialize, Serializer};

pub use self::known::tokens as known_tokens;
use crate::{Decimal, Figure, symbol::SymbolKey};

/// The most tokens of a chain that are shown.
const MAX_SHOWN: usize = 300;
/// The decimal places of a dollar value.
const VALUE_DECIMALS: u32 = 8;
/// A balance worth fewer dollars is dust.
const DUST: Decimal = Decimal::from_parts(1, 0, 0, false, 2);
/// The most decimals that a token may have.
const MAX_DECIMALS: u8 = 36;

/// An asset: a token, or the chain's coin, which sources write as an empty text or as `0xeeee…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asset {
    /// The chain's own coin.
    Native,
    /// A token.
    Token(Address),
}

/// How a source rates the risk of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// The source does not flag it.
    Low,
    /// The source flags it as a scam, as worthless, or as impossible to sell.
    High,
    /// The source does not rate it.
    Unknown,
}

/// A balance as a source states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The asset.
    pub asset: Asset,
    /// The token's own symbol, cleaned. The text is untrusted.
    pub symbol: Option<String>,
    /// Its decimals. `None`, which is not zero, when no source states them.
    pub decimals: Option<u8>,
    /// The amount in atoms. `None`, which is not zero, when it could not be read.
    pub raw: Option<U256>,
    /// The amount in whole units, from a source that does not state it in atoms.
    pub amount: Option<Figure>,
    /// The dollars for one whole unit, above zero.
    pub price_usd: Option<Figure>,
    /// How the source rates its risk.
    pub risk: Risk,
}

/// The reading of one chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainReading {
    /// Its id.
    pub chain_id: u64,
    /// The balances, or the code of the reason why they could not be read.
    pub holdings: Result<Vec<Holding>, String>,
    /// The tokens that were searched.
    pub coverage: Coverage,
}

/// The tokens that a reading searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// All tokens that an index of the chain knows.
    Indexed,
    /// Only the tokens of a list. The account may have others.
    ListedTokens,
}

/// The balances of an account and their values: `data` of `/portfolio`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Portfolio {
    /// The account.
    #[serde(serialize_with = "checksummed")]
    pub address: Address,
    /// The sum of the known values of coins and of tokens that a source rates as no risk or that
    /// are known here. `None` when none is known.
    pub total_usd: Option<Figure>,
    /// Whether the sum is complete: every chain is covered and its native balance was read, and
    /// every token was seen and has a value.
    pub total_usd_complete: bool,
    /// The stated value of flagged tokens. It is not in the sum.
    pub flagged_usd: Figure,
    /// The stated value of tokens that no source rates. It is not in the sum: anybody can send
    /// tokens and trade a few of them at any price.
    pub unrated_usd: Figure,
    /// The chains, in the order of the request.
    pub chains: Vec<ChainBalances>,
}

/// The balances of an account on one chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainBalances {
    /// The chain.
    pub chain_id: u64,
    /// `ok`, or `partial` when a part is unknown, or `unavailable`.
    pub status: ChainStatus,
    /// Why it is not `ok`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The tokens that were searched.
    pub coverage: Coverage,
    /// The sum of the known values, without flagged and unrated tokens. `None` when none is known
    /// and there may be some. It is zero only when everything was read and the account has nothing.
    pub usd: Option<Figure>,
    /// The balances above zero, the most valuable first and flagged ones last.
    pub tokens: Option<Vec<Balance>>,
    /// How many balances are above zero.
    pub tokens_total: Option<usize>,
    /// How many balances are not shown.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens_left_out: usize,
}

/// The state of a chain's reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainStatus {
    /// Everything is known.
    Ok,
    /// A part is unknown.
    Partial,
    /// No part is known.
    Unavailable,
}

/// A balance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Balance {
    /// The token's contract. Empty for the chain's own coin.
    #[serde(serialize_with = "contract")]
    pub address: Asset,
    /// The token's own symbol. The text is untrusted.
    pub symbol: Option<String>,
    /// Its decimals.
    pub decimals: Option<u8>,
    /// The amount in atoms.
    pub raw: Option<String>,
    /// The amount in whole units.
    pub amount: Option<String>,
    /// The dollars for one whole unit.
    pub price_usd: Option<Figure>,
    /// Its value in dollars.
    pub value_usd: Option<Figure>,
    /// How the sources rate its risk.
    pub risk: Risk,
    /// Whether it is worth less than a cent.
    #[serde(skip_serializing_if = "is_false")]
    pub dust: bool,
    /// Whether its symbol has characters that can imitate others.
    #[serde(skip_serializing_if = "is_false")]
    pub odd_symbol: bool,
}

/// Combines the readings of the chains.
#[must_use]
pub fn portfolio(address: Address, readings: Vec<ChainReading>) -> Portfolio {
    let mut apart = Apart {
        flagged: Some(Decimal::ZERO),
        unrated: Some(Decimal::ZERO),
    };
    let chains: Vec<ChainBalances> = readings
        .into_iter()
        .map(|reading| chain(reading, &mut apart))
        .collect();
    let known: Vec<Decimal> = chains
        .iter()
        .filter_map(|chain| chain.usd)
        .map(Figure::get)
        .collect();
    let total = sum(known.iter().copied()).filter(|_| !known.is_empty());
    let complete = chains.iter().all(|chain| chain.status == ChainStatus::Ok);
    Portfolio {
        address,
        total_usd: total.map(Figure),
        total_usd_complete: complete && total.is_some(),
        flagged_usd: Figure(apart.flagged.unwrap_or(Decimal::MAX)),
        unrated_usd: Figure(apart.unrated.unwrap_or(Decimal::MAX)),
        chains,
    }
}

/// Combines balances that were read from the chain with an index's data. The chain decides the
/// amounts, and the index adds values and further tokens.
#[must_use]
pub fn merge(read: Vec<Holding>, indexed: Vec<Holding>) -> Vec<Holding> {
    let mut by_asset: BTreeMap<Asset, Holding> = indexed
        .into_iter()
        .map(|holding| (holding.asset, holding))
        .collect();
    let mut merged: Vec<Holding> = read
        .into_iter()
        .map(|holding| match by_asset.remove(&holding.asset) {
            Some(indexed) => Holding {
                asset: holding.asset,
                symbol: holding.symbol.or(indexed.symbol),
                decimals: holding.decimals.or(indexed.decimals),
                raw: holding.raw.or(indexed.raw),
                amount: holding
                    .amount
                    .or(indexed.amount)
                    .filter(|_| holding.raw.is_none()),
                price_usd: holding.price_usd.or(indexed.price_usd),
                risk: if holding.risk == Risk::Unknown {
                    indexed.risk
                } else {
                    holding.risk
                },
            },
            None => holding,
        })
        .collect();
    merged.extend(by_asset.into_values());
    merged
}

/// Returns the decimals of a token whose balance is known in atoms and in whole units. `None` when
/// the two do not match, or when both are zero.
#[must_use]
pub fn decimals_of(raw: U256, balance: Figure) -> Option<u8> {
    if raw.is_zero() {
        return None;
    }
    let text = balance.to_string();
    (0..=MAX_DECIMALS).find(|decimals| format_units(raw, *decimals) == text)
}

impl Portfolio {
    /// The token that makes most of the sum by the price of one source alone, with its chain. The
    /// chains' coins and the tokens that are known here are never meant.
    #[must_use]
    pub fn unsupported(&self) -> Option<(u64, &Balance)> {
        let half = self.total_usd?.get().checked_div(Decimal::TWO)?;
        let balances = self.chains.iter().flat_map(|chain| {
            let tokens = chain.tokens.iter().flatten();
            tokens.map(move |token| (chain.chain_id, token))
        });
        balances
            .filter(|(chain_id, token)| is_rated(*chain_id, token) && !is_known(*chain_id, token))
            .find(|(_, token)| token.value_usd.is_some_and(|value| value.get() > half))
    }
}

/// What counts apart from the sum.
struct Apart {
    flagged: Option<Decimal>,
    unrated: Option<Decimal>,
}

/// Whether an asset is the chain's coin or one of the tokens that are known here.
fn is_known(chain_id: u64, token: &Balance) -> bool {
    match token.address {
        Asset::Native => true,
        Asset::Token(address) => known_tokens(chain_id).contains(&address),
    }
}

/// Whether the value of an asset counts.
fn is_rated(chain_id: u64, token: &Balance) -> bool {
    match token.risk {
        Risk::Low => true,
        Risk::High => false,
        Risk::Unknown => is_known(chain_id, token),
    }
}

fn chain(reading: ChainReading, apart: &mut Apart) -> ChainBalances {
    let ChainReading {
        chain_id,
        holdings,
        coverage,
    } = reading;
    let holdings = match holdings {
        Ok(holdings) => holdings,
        Err(reason) => {
            return ChainBalances {
                chain_id,
                status: ChainStatus::Unavailable,
                reasons: vec![reason],
                coverage,
                usd: None,
                tokens: None,
                tokens_total: None,
                tokens_left_out: 0,
            };
        }
    };
    // The chain's own coin counts as read only when it is listed, because an index leaves out an
    // unknown balance in the same way as an empty one.
    let native_read = holdings.iter().any(|holding| {
        holding.asset == Asset::Native && (holding.raw.is_some() || holding.amount.is_some())
    });
    let mut tokens: Vec<Balance> = holdings
        .into_iter()
        .filter(|holding| match (holding.raw, holding.amount) {
            (Some(raw), _) => !raw.is_zero(),
            (None, amount) => amount.is_none_or(|amount| !amount.get().is_zero()),
        })
        .map(balance)
        .collect();
    let values = |counts: &dyn Fn(&Balance) -> bool| {
        let of_kind = tokens.iter().filter(|token| counts(token));
        sum(of_kind.filter_map(|token| token.value_usd).map(Figure::get))
    };
    let rated = |token: &Balance| is_rated(chain_id, token);
    let usd = values(&rated);
    let flagged = values(&|token| token.risk == Risk::High);
    let unrated = values(&|token| token.risk != Risk::High && !rated(token));
    for (whole, part) in [(&mut apart.flagged, flagged), (&mut apart.unrated, unrated)] {
        *whole = whole
            .zip(part)
            .and_then(|(sum, part)| sum.checked_add(part));
    }
    let mut reasons = Vec::new();
    let mut because = |holds: bool, reason: &str| {
        if holds {
            reasons.push(reason.to_owned());
        }
    };
    let honest = || tokens.iter().filter(|token| token.risk != Risk::High);
    because(coverage == Coverage::ListedTokens, "only_listed_tokens");
    because(!native_read, "native_balance_unread");
    because(
        tokens
            .iter()
            .any(|token| token.raw.is_none() && token.amount.is_none()),
        "balance_unavailable",
    );
    because(
        honest().any(|token| token.raw.is_some() && token.amount.is_none()),
        "decimals_unknown",
    );
    because(
        honest().any(|token| token.amount.is_some() && token.price_usd.is_none()),
        "price_unknown",
    );
    because(
        honest().any(|token| {
            token.amount.is_some() && token.price_usd.is_some() && token.value_usd.is_none()
        }),
        "value_out_of_range",
    );
    because(
        honest().any(|token| token.value_usd.is_some() && !rated(token)),
        "not_rated",
    );
    because(usd.is_none(), "sum_out_of_range");
    let status = if reasons.is_empty() {
        ChainStatus::Ok
    } else {
        ChainStatus::Partial
    };
    let valued = honest().any(|token| token.value_usd.is_some() && rated(token));
    let usd = usd.filter(|_| valued || status == ChainStatus::Ok);
    tokens.sort_by(|one, other| {
        let rank = |token: &Balance| (token.risk == Risk::High, std::cmp::Reverse(token.value_usd));
        rank(one)
            .cmp(&rank(other))
            .then_with(|| one.address.cmp(&other.address))
    });
    let tokens_total = tokens.len();
    let tokens_left_out = tokens_total.saturating_sub(MAX_SHOWN);
    tokens.truncate(MAX_SHOWN);
    ChainBalances {
        chain_id,
        status,
        reasons,
        coverage,
        usd: usd.map(Figure),
        tokens: Some(tokens),
        tokens_total: Some(tokens_total),
        tokens_left_out,
    }
}

fn balance(holding: Holding) -> Balance {
    let amount = match holding.raw {
        Some(raw) => holding.decimals.map(|decimals| format_units(raw, decimals)),
        None => holding.amount.map(|amount| amount.to_string()),
    };
    let value = amount
        .as_ref()
        .zip(holding.price_usd)
        .and_then(|(amount, price)| {
            let amount: Figure = amount.parse().ok()?;
            let value = amount.get().checked_mul(price.get())?;
            Some(Figure(value.round_dp(VALUE_DECIMALS).normalize()))
        });
    let odd = holding
        .symbol
        .as_deref()
        .is_some_and(|symbol| SymbolKey::new(symbol).is_none_or(|key| !key.is_plain()));
    Balance {
        address: holding.asset,
        symbol: holding.symbol,
        decimals: holding.decimals,
        raw: holding.raw.map(|raw| raw.to_string()),
        amount,
        price_usd: holding.price_usd,
        dust: value.is_some_and(|value| value.get() < DUST),
        value_usd: value,
        risk: holding.risk,
        odd_symbol: odd,
    }
}

/// Returns the sum. `None` when it overflows.
fn sum(values: impl Iterator<Item = Decimal>) -> Option<Decimal> {
    let mut values = values;
    values
        .try_fold(Decimal::ZERO, |sum, value| sum.checked_add(value))
        .map(|sum| sum.normalize())
}

fn contract<S: Serializer>(asset: &Asset, serializer: S) -> Result<S::Ok, S::Error> {
    match asset {
        Asset::Native => serializer.serialize_str(""),
        Asset::Token(address) => checksummed(address, serializer),
    }
}

fn checksummed<S: Serializer>(address: &Address, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&address.to_checksum(None))
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests;
