//! Coins of a catalogue, and which of several coins with one symbol is meant.

use std::cmp::Ordering;

use jiff::{Timestamp, civil::Date};
use serde::Serialize;

use super::larger_first;
use crate::{Decimal, Figure, median, percent_change, symbol::SymbolKey};

/// The most alternatives that are named with the chosen coin.
pub const MAX_ALTERNATIVES: usize = 10;

/// When the mark of a perpetual differs by more than this from a coin's price, in percent of it,
/// the perpetual belongs to another coin of that name.
const SAME_COIN_PCT: Decimal = Decimal::from_parts(20, 0, 0, false, 0);

/// A coin: the main facts about a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Coin {
    /// The catalogue's id, or `chain:address` for a token that only exchanges list.
    pub id: String,
    /// Its symbol. The text is untrusted, and has no control characters.
    pub symbol: String,
    /// Its name. The text is untrusted, and has no control characters.
    pub name: String,
    /// The dollars for one whole coin, above zero.
    pub price_usd: Option<Figure>,
    /// Price times circulating supply, in dollars.
    pub market_cap_usd: Option<Figure>,
    /// Price times the largest supply, in dollars.
    pub fdv_usd: Option<Figure>,
    /// The dollars that were traded within a day.
    pub volume_24h_usd: Option<Figure>,
    /// The change of the price over an hour, in percent.
    pub change_1h_pct: Option<Figure>,
    /// The change of the price over a day, in percent.
    pub change_24h_pct: Option<Figure>,
    /// The change of the price over a week, in percent.
    pub change_7d_pct: Option<Figure>,
    /// The change of the price over thirty days, in percent.
    pub change_30d_pct: Option<Figure>,
    /// How many coins are in circulation.
    pub circulating_supply: Option<Figure>,
    /// The largest possible supply.
    pub max_supply: Option<Figure>,
    /// The highest price so far.
    pub ath: Option<AllTimeHigh>,
    /// The rank by market capitalisation, from 1. `None` for a coin without a rank.
    pub rank: Option<u32>,
    /// Its token contracts. Empty for the native coin of a chain, and `None` when they are unknown.
    pub contracts: Option<Vec<Contract>>,
    /// Other coins with the same symbol, the highest ranked first.
    pub alternatives: Vec<Alternative>,
    /// How many other coins have the symbol. [`Self::alternatives`] has the first of them.
    #[serde(skip)]
    pub alternatives_total: usize,
    /// When the catalogue last updated it.
    #[serde(skip)]
    pub as_of: Option<Timestamp>,
}

/// The highest price of a coin so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AllTimeHigh {
    /// The price in dollars.
    pub price: Figure,
    /// The day of that price.
    #[serde(
        serialize_with = "super::written",
        skip_serializing_if = "Option::is_none"
    )]
    pub date: Option<Date>,
}

/// A contract of a coin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contract {
    /// The chain's id, for a supported EVM chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain_id: Option<u64>,
    /// The chain, by the name that the catalogue gives it.
    pub platform: String,
    /// The address in its chain's spelling. On EVM chains it has the checksum.
    pub address: String,
}

/// Another coin with the same symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alternative {
    /// The catalogue's id.
    pub id: String,
    /// Its name. The text is untrusted, and has no control characters.
    pub name: String,
    /// The rank by market capitalisation, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// The dollars for one whole coin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_usd: Option<Figure>,
    /// Price times circulating supply, in dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub market_cap_usd: Option<Figure>,
}

impl Coin {
    /// Sets `others` as its alternatives, of which the first ones are named.
    #[must_use]
    pub(super) fn beside(mut self, others: impl ExactSizeIterator<Item = Self>) -> Self {
        self.alternatives_total = others.len();
        self.alternatives = others
            .take(MAX_ALTERNATIVES)
            .map(Alternative::from)
            .collect();
        self
    }

    /// The contract on `chain_id`.
    #[must_use]
    pub fn contract_on(&self, chain_id: u64) -> Option<&Contract> {
        self.contracts
            .as_ref()?
            .iter()
            .find(|contract| contract.chain_id == Some(chain_id))
    }

    /// Whether perpetuals with these marks (dollars for one coin) can belong to this coin. A symbol
    /// alone does not prove it, but a price does. `None` when one side has no price.
    #[must_use]
    pub fn is_marked_at(&self, marks: &[Decimal]) -> Option<bool> {
        let price = self.price_usd?.get();
        let change = percent_change(price, median(marks)?);
        Some(change.is_some_and(|change| change.abs() <= SAME_COIN_PCT))
    }

    /// Whether the catalogue says that it is the native coin of a chain and a token nowhere.
    #[must_use]
    pub fn has_no_contract(&self) -> bool {
        self.contracts.as_ref().is_some_and(Vec::is_empty)
    }
}

/// Returns the coin of `found` that `query` means: the highest ranked one with exactly this symbol.
/// The others become its alternatives. `None` when no symbol is equal.
#[must_use]
pub fn choose(query: &SymbolKey, found: Vec<Coin>) -> Option<Coin> {
    let mut named: Vec<Coin> = found
        .into_iter()
        .filter(|coin| query.names(&coin.symbol))
        .collect();
    named.sort_by(order);
    named.dedup_by(|a, b| a.id == b.id);
    let mut named = named.into_iter();
    let chosen = named.next()?;
    Some(chosen.beside(named))
}

/// Orders the best rank first, then the larger market, then the larger volume. Coins without a rank
/// come last.
fn order(a: &Coin, b: &Coin) -> Ordering {
    let place = |coin: &Coin| coin.rank.unwrap_or(u32::MAX);
    place(a)
        .cmp(&place(b))
        .then_with(|| larger_first(a.market_cap_usd, b.market_cap_usd))
        .then_with(|| larger_first(a.volume_24h_usd, b.volume_24h_usd))
        .then_with(|| a.id.cmp(&b.id))
}

impl From<Coin> for Alternative {
    fn from(coin: Coin) -> Self {
        Self {
            id: coin.id,
            name: coin.name,
            rank: coin.rank,
            price_usd: coin.price_usd,
            market_cap_usd: coin.market_cap_usd,
        }
    }
}

/// Returns the EVM chain that a catalogue calls by this name.
#[must_use]
pub fn chain_of(platform: &str) -> Option<u64> {
    Some(match platform {
        "ethereum" => 1,
        "optimistic-ethereum" | "optimism" => 10,
        "binance-smart-chain" | "bsc" => 56,
        "polygon-pos" | "polygon" => 137,
        "x-layer" | "xlayer" => 196,
        "zksync" => 324,
        "base" => 8453,
        "arbitrum-one" | "arbitrum" => 42161,
        "avalanche" => 43114,
        "linea" => 59144,
        "scroll" => 534_352,
        _ => return None,
    })
}

/// Makes a coin that has only names.
#[must_use]
pub fn unpriced(id: String, symbol: String, name: String) -> Coin {
    Coin {
        id,
        symbol,
        name,
        price_usd: None,
        market_cap_usd: None,
        fdv_usd: None,
        volume_24h_usd: None,
        change_1h_pct: None,
        change_24h_pct: None,
        change_7d_pct: None,
        change_30d_pct: None,
        circulating_supply: None,
        max_supply: None,
        ath: None,
        rank: None,
        contracts: None,
        alternatives: Vec::new(),
        alternatives_total: 0,
        as_of: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coin(id: &str, symbol: &str, rank: Option<u32>, cap: Option<&str>) -> Coin {
        Coin {
            rank,
            market_cap_usd: cap.map(|text| text.parse().unwrap()),
            ..unpriced(id.to_owned(), symbol.to_owned(), id.to_owned())
        }
    }

    fn chosen(query: &str, found: Vec<Coin>) -> Option<(String, Vec<String>)> {
        let coin = choose(&SymbolKey::new(query).unwrap(), found)?;
        Some((
            coin.id,
            coin.alternatives
                .into_iter()
                .map(|other| other.id)
                .collect(),
        ))
    }

    #[test]
    fn the_highest_ranked_coin_is_meant_and_the_others_are_named() {
        let found = vec![
            coin("batcat", "btc", None, Some("1200")),
            coin("bitcoin", "btc", Some(1), Some("1555886872303")),
            coin("bitcat", "BTC", Some(2400), None),
            coin("satoshi-street", "btc", None, Some("99999999999999")),
            coin("wrapped-bitcoin", "wbtc", Some(12), None),
        ];
        let (id, others) = chosen("$BTC", found).unwrap();
        assert_eq!(id, "bitcoin");
        assert_eq!(others, ["bitcat", "satoshi-street", "batcat"]);
    }

    #[test]
    fn an_imitation_or_a_similar_symbol_is_not_meant() {
        let found = vec![
            coin("fake", "ВТС", Some(1), None),
            coin("wrapped", "WBTC", Some(12), None),
        ];
        assert_eq!(chosen("BTC", found), None);
        assert_eq!(chosen("BTC", Vec::new()), None);
        assert_eq!(
            chosen("usdt0", vec![coin("usdt0", "USD₮0", None, None)])
                .unwrap()
                .0,
            "usdt0"
        );
    }

    #[test]
    fn a_perpetual_at_another_price_is_of_another_coin() {
        let marked = |price: Option<&str>, marks: &[&str]| {
            let mut coin = coin("x", "X", None, None);
            coin.price_usd = price.map(|text| text.parse().unwrap());
            let marks: Vec<Decimal> = marks.iter().map(|mark| mark.parse().unwrap()).collect();
            coin.is_marked_at(&marks)
        };
        assert_eq!(marked(Some("0.0000052"), &["0.0000053"]), Some(true));
        assert_eq!(marked(Some("100"), &["120", "119", "900"]), Some(true));
        assert_eq!(marked(Some("100"), &["120.1"]), Some(false));
        assert_eq!(marked(Some("0.0000052"), &["0.0052"]), Some(false));
        assert_eq!(
            marked(Some("1e-28"), &["79228162514264337593543950335"]),
            Some(false)
        );
        assert_eq!(marked(None, &["1"]), None);
        assert_eq!(marked(Some("1"), &[]), None);
    }

    #[test]
    fn rows_of_one_coin_are_one_and_alternatives_are_bounded() {
        let mut found = vec![coin("x", "X", Some(1), None), coin("x", "X", Some(1), None)];
        found.extend((0..30).map(|n| coin(&format!("x{n:02}"), "X", None, None)));
        let coin = choose(&SymbolKey::new("x").unwrap(), found).unwrap();
        assert_eq!(coin.alternatives.len(), MAX_ALTERNATIVES);
        assert_eq!((coin.id.as_str(), coin.alternatives_total), ("x", 30));
        assert!(coin.alternatives.iter().all(|other| other.id != "x"));
    }

    #[test]
    fn no_contract_is_not_an_unknown_contract() {
        let mut btc = coin("bitcoin", "btc", Some(1), None);
        assert!(!btc.has_no_contract() && btc.contract_on(1).is_none());
        btc.contracts = Some(Vec::new());
        assert!(btc.has_no_contract());
        let platform = "x-layer".to_owned();
        let chain_id = chain_of(&platform);
        btc.contracts = Some(vec![Contract {
            chain_id,
            platform,
            address: "0x1".to_owned(),
        }]);
        assert!(btc.contract_on(196).is_some() && btc.contract_on(1).is_none());
        assert_eq!(chain_of("solana"), None);
    }
}
