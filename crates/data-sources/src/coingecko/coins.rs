//! `GET /api/v3/coins/markets` by symbol, and the contracts of `GET /api/v3/coins/{id}`. Several
//! coins may share a symbol: the caller chooses.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use alloy_primitives::Address;
use jiff::{Timestamp, civil::Date};
use readings::{
    Figure,
    symbol::SymbolKey,
    token::{
        coin::{AllTimeHigh, Coin, Contract, chain_of, unpriced},
        measure,
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;
use url::form_urlencoded::byte_serialize;

use super::{Coingecko, is_slug};
use crate::{
    error::{Error, SourceErrorKind},
    json::read_json,
    provenance::Sourced,
    source::Fault,
    text::clean,
    transport::QUOTED_CHARS,
};

pub(super) const MARKETS: &str = "coingecko.markets";
pub(super) const CONTRACTS: &str = "coingecko.contracts";
/// The time limit of the request for contracts, which only complete an answer.
const CONTRACTS_PATIENCE: Duration = Duration::from_millis(2_500);
/// How far a time of the source may be ahead of our clock.
const AHEAD: Duration = Duration::from_secs(300);

#[derive(Deserialize)]
struct Row {
    id: String,
    symbol: String,
    name: String,
    #[serde(default, deserialize_with = "Figure::or_none")]
    current_price: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    market_cap: Option<Figure>,
    market_cap_rank: Option<u32>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    fully_diluted_valuation: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    total_volume: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    price_change_percentage_24h: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    price_change_percentage_1h_in_currency: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    price_change_percentage_7d_in_currency: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    price_change_percentage_30d_in_currency: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    circulating_supply: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    max_supply: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    ath: Option<Figure>,
    ath_date: Option<String>,
    last_updated: Option<String>,
}

#[derive(Deserialize)]
struct Platforms {
    id: String,
    platforms: BTreeMap<String, Option<String>>,
}

impl Coingecko {
    /// Every coin with this symbol, without contracts, in no particular order. The list may be
    /// empty.
    ///
    /// # Errors
    ///
    /// When the answer is unusable.
    pub async fn coins(
        &self,
        symbol: &SymbolKey,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<Coin>>>, Error> {
        let (this, symbol) = (self.clone(), symbol.clone());
        let key = symbol.as_str().to_owned();
        let fetch = move || async move {
            let text = symbol.as_str().to_lowercase();
            let text: String = byte_serialize(text.as_bytes()).collect();
            let path = format!(
                "/api/v3/coins/markets?vs_currency=usd&symbols={text}&include_tokens=all\
                 &order=market_cap_desc&per_page=50&price_change_percentage=1h,24h,7d,30d&precision=full"
            );
            let now = this.source.now();
            let coins: Result<Sourced<Vec<Coin>>, Error> = this
                .source
                .ask(this.ask(MARKETS, &path), |reply| {
                    coins(read_json(&reply.body)?, &symbol, now).map_err(Fault::Upstream)
                })
                .await;
            Ok(coins?.map(Arc::new))
        };
        self.coins.get(key, max_age, fetch).await
    }

    /// The contracts of a coin. The native coin of a chain has none.
    ///
    /// # Errors
    ///
    /// When the answer is unusable, for example because it is about another coin.
    pub async fn contracts(&self, id: &str) -> Result<Sourced<Arc<Vec<Contract>>>, Error> {
        if !is_slug(id) {
            return Err(Error::NotFound {
                reason: "symbol_not_found",
                message: "no such coin".to_owned(),
            });
        }
        let (this, id) = (self.clone(), id.to_owned());
        let key = id.clone();
        let fetch = move || async move {
            let path = format!(
                "/api/v3/coins/{id}?localization=false&tickers=false&market_data=false\
                 &community_data=false&developer_data=false&sparkline=false"
            );
            let found: Result<Sourced<Vec<Contract>>, Error> = this
                .source
                .ask(
                    this.ask(CONTRACTS, &path).timeout(CONTRACTS_PATIENCE),
                    |reply| contracts(read_json(&reply.body)?, &id).map_err(Fault::Upstream),
                )
                .await;
            Ok(found?.map(Arc::new))
        };
        self.contracts.get(key, None, fetch).await
    }
}

fn coins(
    raw: Vec<Box<RawValue>>,
    symbol: &SymbolKey,
    now: Timestamp,
) -> Result<Vec<Coin>, SourceErrorKind> {
    let mut problem = None;
    let mut found = Vec::new();
    for raw in &raw {
        match read_json::<Row>(raw.get().as_bytes()) {
            Ok(row) => found.extend(coin(row, now)),
            Err(kind) => problem = problem.or(Some(kind)),
        }
    }
    match problem {
        Some(kind) if found.is_empty() => return Err(kind),
        _ => {}
    }
    let answered = found.len();
    found.retain(|coin| symbol.names(&coin.symbol));
    if answered > 0 && found.is_empty() {
        return Err(malformed("$", "coins with the symbol asked for", "others"));
    }
    Ok(found)
}

fn coin(row: Row, now: Timestamp) -> Option<Coin> {
    let symbol = clean(&row.symbol, 32).to_uppercase();
    let name = clean(&row.name, 64);
    if !is_slug(&row.id) || symbol.is_empty() || name.is_empty() {
        return None;
    }
    let seen = row
        .last_updated
        .and_then(|text| text.parse::<Timestamp>().ok());
    let ahead = |time: &Timestamp| now.checked_add(AHEAD).is_ok_and(|latest| *time > latest);
    if seen.as_ref().is_some_and(ahead) {
        return None;
    }
    let date = row
        .ath_date
        .and_then(|text| text.get(..10)?.parse::<Date>().ok());
    Some(Coin {
        price_usd: above_zero(row.current_price),
        market_cap_usd: above_zero(row.market_cap),
        fdv_usd: above_zero(row.fully_diluted_valuation),
        volume_24h_usd: measure(row.total_volume),
        change_1h_pct: row.price_change_percentage_1h_in_currency,
        change_24h_pct: row.price_change_percentage_24h,
        change_7d_pct: row.price_change_percentage_7d_in_currency,
        change_30d_pct: row.price_change_percentage_30d_in_currency,
        circulating_supply: above_zero(row.circulating_supply),
        max_supply: above_zero(row.max_supply),
        ath: above_zero(row.ath).map(|price| AllTimeHigh { price, date }),
        rank: row.market_cap_rank.filter(|rank| *rank > 0),
        as_of: seen,
        ..unpriced(row.id, symbol, name)
    })
}

fn contracts(coin: Platforms, id: &str) -> Result<Vec<Contract>, SourceErrorKind> {
    if coin.id != id {
        return Err(malformed("$.id", "the coin asked for", &coin.id));
    }
    let contract = |(platform, address): (String, Option<String>)| {
        let address = clean(&address?, 128);
        let platform = clean(&platform, 48);
        if platform.is_empty() || address.is_empty() {
            return None;
        }
        let chain_id = chain_of(&platform);
        let address = match (address.parse::<Address>(), chain_id) {
            (Ok(address), _) => address.to_string(),
            // Addresses of an EVM chain have no other form.
            (Err(_), Some(_)) => return None,
            (Err(_), None) => address,
        };
        Some(Contract {
            chain_id,
            platform,
            address,
        })
    };
    Ok(coin.platforms.into_iter().filter_map(contract).collect())
}

/// This source writes zero for an unknown figure.
fn above_zero(figure: Option<Figure>) -> Option<Figure> {
    measure(figure).filter(|figure| !figure.get().is_zero())
}

fn malformed(path: &str, expected: &'static str, observed: &str) -> SourceErrorKind {
    SourceErrorKind::Malformed {
        path: path.to_owned(),
        expected,
        observed: clean(observed, QUOTED_CHARS),
    }
}
