//! Pairs of decentralised exchanges: a token's price by its deepest pair, and the tokens that pairs
//! have under a symbol.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{
    coin::{Coin, Contract, chain_of, unpriced},
    consensus::CONTRADICTION_PCT,
    search,
};
use crate::{Decimal, Figure, percent_change, symbol::SymbolKey};

/// A token that is known only from its pools needs this many dollars in them. Anybody can open a
/// pool for a token with a well-known symbol.
const LEAST_LIQUIDITY_USD: Decimal = Decimal::from_parts(50_000, 0, 0, false, 0);
/// The number of digits of a price that is computed from two other prices.
const DERIVED_DIGITS: u32 = 15;

/// One pair of an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DexPair {
    /// The chain, by the source's name.
    pub platform: String,
    /// The pair's own address.
    pub pair: String,
    /// The priced token.
    pub base: DexToken,
    /// The token that the price is expressed in.
    pub quote: DexToken,
    /// Dollars for one whole base token.
    pub price_usd: Option<Figure>,
    /// Quote tokens for one whole base token.
    pub price_native: Option<Figure>,
    /// Dollars in the pool, as the source states them. Anybody can inflate them with a token of its
    /// own: [`DexPair::depth_usd`] is what counts.
    pub liquidity_usd: Option<Figure>,
    /// Whole base tokens in the pool.
    pub base_reserve: Option<Figure>,
    /// Whole quote tokens in the pool.
    pub quote_reserve: Option<Figure>,
    /// Dollars traded within a day.
    pub volume_24h_usd: Option<Figure>,
    /// The shortest window before the source's observation that has a trade or a volume, in
    /// seconds. `None` when no window has one.
    pub traded_within_seconds: Option<u64>,
    /// Change of the base token's price over an hour, in percent.
    pub change_1h_pct: Option<Figure>,
    /// Change of the base token's price over a day, in percent.
    pub change_24h_pct: Option<Figure>,
    /// Price times circulating supply of the base token, in dollars.
    pub market_cap_usd: Option<Figure>,
    /// Price times the whole supply of the base token, in dollars.
    pub fdv_usd: Option<Figure>,
}

/// One side of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DexToken {
    /// Its contract in the spelling of its chain; on EVM chains with the checksum.
    pub address: String,
    /// Its symbol. Untrusted text without control characters.
    pub symbol: String,
    /// Its name. Untrusted text without control characters.
    pub name: String,
}

/// A token's price in its deepest pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DexPrice {
    /// Dollars for one whole token, above zero.
    pub price_usd: Figure,
    /// The same as [`DexPair::depth_usd`].
    pub liquidity_usd: Figure,
    /// The same as [`DexPair::traded_within_seconds`].
    pub traded_within_seconds: Option<u64>,
}

impl DexPrice {
    /// The same as [`DexPair::traded_at`].
    #[must_use]
    pub fn traded_at(&self, seen: Timestamp) -> Option<Timestamp> {
        traded_at(self.traded_within_seconds, seen)
    }
}

fn traded_at(within_seconds: Option<u64>, seen: Timestamp) -> Option<Timestamp> {
    let within = i64::try_from(within_seconds?).ok()?;
    seen.checked_sub(SignedDuration::from_secs(within)).ok()
}

/// Returns the source's name of an EVM chain. `None` for a chain whose tokens are not scanned.
#[must_use]
pub fn platform_of(chain_id: u64) -> Option<&'static str> {
    Some(match chain_id {
        1 => "ethereum",
        10 => "optimism",
        56 => "bsc",
        137 => "polygon",
        196 => "xlayer",
        8453 => "base",
        42161 => "arbitrum",
        43114 => "avalanche",
        _ => return None,
    })
}

/// Returns the price of the token at `address` on `platform`, from the pair of which sales can take
/// the most dollars. In a pair whose quote token it is, the price is derived from both prices of
/// the pair.
#[must_use]
pub fn spot(platform: &str, address: &str, pairs: &[DexPair]) -> Option<DexPrice> {
    pairs
        .iter()
        .filter(|pair| pair.platform == platform)
        .filter_map(|pair| pair.price_of(address))
        .max_by_key(|price| price.liquidity_usd)
}

/// Returns the deepest pool that contradicts `price`, the price of the deepest of all
/// ([`spot`]): it is traded, at least a tenth as deep, and its price differs by more than
/// [`CONTRADICTION_PCT`]. The two pools cannot both be right, and which one is, is not known.
#[must_use]
pub fn contrary(
    platform: &str,
    address: &str,
    pairs: &[DexPair],
    price: &DexPrice,
) -> Option<DexPrice> {
    let least = price.liquidity_usd.get().checked_div(Decimal::TEN)?;
    pairs
        .iter()
        .filter(|pair| pair.platform == platform && pair.traded_within_seconds.is_some())
        .filter_map(|pair| pair.price_of(address))
        .filter(|other| other.liquidity_usd.get() >= least)
        .filter(|other| {
            let (low, high) = match other.price_usd < price.price_usd {
                true => (other.price_usd, price.price_usd),
                false => (price.price_usd, other.price_usd),
            };
            percent_change(low.get(), high.get()).is_none_or(|spread| spread > CONTRADICTION_PCT)
        })
        .max_by_key(|other| other.liquidity_usd)
}

impl DexPair {
    /// Returns the earliest time at which the last trade can have happened, for an observation at
    /// `seen`. The price is not older than that. `None` when no window has a trade.
    #[must_use]
    pub fn traded_at(&self, seen: Timestamp) -> Option<Timestamp> {
        traded_at(self.traded_within_seconds, seen)
    }

    /// Returns the dollars that sales can take out of the pool: its smaller side, doubled, and no
    /// more than the source states. `None` when a side is unknown.
    ///
    /// The other side may be any number of a token that its own issuer has printed.
    #[must_use]
    pub fn depth_usd(&self) -> Option<Figure> {
        let depth = self.smaller_side_usd()?.checked_mul(Decimal::TWO)?;
        let stated = self.liquidity_usd.map_or(depth, Figure::get);
        Some(Figure(depth.min(stated).round_dp(2)))
    }

    /// Returns the dollars on the smaller side. `None` when a side is unknown.
    pub(super) fn smaller_side_usd(&self) -> Option<Decimal> {
        let usd = self.price_usd?.get();
        let base = self.base_reserve?.get().checked_mul(usd)?;
        let usd_of_quote = usd.checked_div(self.price_native?.get())?;
        let quote = self.quote_reserve?.get().checked_mul(usd_of_quote)?;
        Some(base.min(quote))
    }

    fn price_of(&self, address: &str) -> Option<DexPrice> {
        let usd = self.price_usd?.get();
        let price = if self.base.address == address {
            usd
        } else if self.quote.address == address {
            usd.checked_div(self.price_native?.get())?
                .round_sf(DERIVED_DIGITS)?
        } else {
            return None;
        };
        let liquidity_usd = self.depth_usd()?;
        (price > Decimal::ZERO).then_some(DexPrice {
            price_usd: Figure(price),
            liquidity_usd,
            traded_within_seconds: self.traded_within_seconds,
        })
    }
}

/// Returns the token of `pairs` that has exactly the symbol `query` and the most dollars in its
/// pools ([`DexPair::depth_usd`]). It gets the price of its deepest pool and the volume of all its
/// pools. Other tokens with the symbol become its alternatives.
///
/// Leaves out imitations, tokens with little liquidity, and tokens whose deepest pool has no known
/// trade within a day. No token gets a rank, because a pool does not say which token a symbol
/// means.
///
/// `seen` is the time of the source's observation. The coin's `as_of` is the earliest time at which
/// the last trade can have happened: the state of a pool does not say when somebody last paid its
/// price.
#[must_use]
pub fn deepest(query: &SymbolKey, pairs: &[DexPair], seen: Timestamp) -> Option<Coin> {
    let mut tokens: BTreeMap<(&str, &str), Vec<&DexPair>> = BTreeMap::new();
    for pair in pairs {
        if query.names(&pair.base.symbol) && !search::is_imitation(&pair.base.symbol) {
            let token = (pair.platform.as_str(), pair.base.address.as_str());
            tokens.entry(token).or_default().push(pair);
        }
    }
    let mut coins: Vec<(Figure, Coin)> = tokens
        .into_values()
        .filter_map(|pairs| coin(&pairs, seen))
        .collect();
    coins.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)));
    let mut coins = coins.into_iter().map(|(_, coin)| coin);
    let chosen = coins.next()?;
    Some(chosen.beside(coins))
}

/// Makes a coin of one token's pairs. Also returns the dollars in the token's pools.
fn coin(pairs: &[&DexPair], seen: Timestamp) -> Option<(Figure, Coin)> {
    let deepest = pairs.iter().max_by_key(|pair| pair.depth_usd())?;
    // A price without a known recent trade does not count.
    let traded = deepest.traded_at(seen)?;
    let liquidity = sum(pairs, DexPair::depth_usd)?;
    if liquidity.get() < LEAST_LIQUIDITY_USD {
        return None;
    }
    let contract = Contract {
        chain_id: chain_of(&deepest.platform),
        platform: deepest.platform.clone(),
        address: deepest.base.address.clone(),
    };
    let id = format!("{}:{}", deepest.platform, deepest.base.address);
    let coin = Coin {
        price_usd: Some(deepest.price_usd?),
        market_cap_usd: deepest.market_cap_usd,
        fdv_usd: deepest.fdv_usd,
        volume_24h_usd: sum(pairs, |pair| pair.volume_24h_usd),
        change_1h_pct: deepest.change_1h_pct,
        change_24h_pct: deepest.change_24h_pct,
        contracts: Some(vec![contract]),
        as_of: Some(traded),
        ..unpriced(id, deepest.base.symbol.clone(), deepest.base.name.clone())
    };
    Some((liquidity, coin))
}

/// Sums the known figures. `None` when there are none.
fn sum(pairs: &[&DexPair], of: impl Fn(&DexPair) -> Option<Figure>) -> Option<Figure> {
    pairs
        .iter()
        .filter_map(|pair| of(pair))
        .try_fold(None::<Decimal>, |sum, figure| {
            sum.unwrap_or_default().checked_add(figure.get()).map(Some)
        })?
        .map(Figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: Timestamp = Timestamp::constant(1_795_222_920, 0);

    fn token(address: &str, symbol: &str) -> DexToken {
        DexToken {
            address: address.to_owned(),
            symbol: symbol.to_owned(),
            name: symbol.to_owned(),
        }
    }

    fn pair(base: (&str, &str), price: &str, native: &str, liquidity: Option<&str>) -> DexPair {
        let figure = |text: &str| text.parse::<Figure>().ok();
        // Both sides hold half of the dollars.
        let half = liquidity
            .and_then(figure)
            .map(|usd| usd.get() / Decimal::TWO);
        let side = |price: Option<Decimal>| Some(Figure(half?.checked_div(price?)?));
        let (usd, in_quote) = (
            figure(price).map(Figure::get),
            figure(native).map(Figure::get),
        );
        let of_quote = usd
            .zip(in_quote)
            .and_then(|(usd, native)| usd.checked_div(native));
        DexPair {
            platform: "xlayer".to_owned(),
            pair: "0x33".to_owned(),
            base: token(base.0, base.1),
            quote: token("0xusd", "USD₮0"),
            price_usd: figure(price),
            price_native: figure(native),
            liquidity_usd: liquidity.and_then(figure),
            volume_24h_usd: figure("10"),
            traded_within_seconds: Some(300),
            change_1h_pct: None,
            change_24h_pct: None,
            market_cap_usd: None,
            base_reserve: side(usd),
            quote_reserve: side(of_quote),
            fdv_usd: None,
        }
    }

    #[test]
    fn the_names_of_chains_convert_both_ways() {
        for chain_id in [1, 10, 56, 137, 196, 8453, 42161, 43114] {
            assert_eq!(platform_of(chain_id).and_then(chain_of), Some(chain_id));
        }
        assert_eq!(platform_of(59144), None);
    }

    #[test]
    fn the_deepest_pool_has_the_price() {
        let pairs = [
            pair(("0xa", "WOKB"), "90", "90", Some("2000")),
            pair(("0xa", "WOKB"), "118.42", "118.42", Some("2345678.9")),
            pair(("0xa", "WOKB"), "1", "1", None),
            pair(("0xb", "X"), "7", "7", Some("99999999")),
        ];
        let price = spot("xlayer", "0xa", &pairs).unwrap();
        assert_eq!(price.price_usd.to_string(), "118.42");
        assert_eq!(price.liquidity_usd.to_string(), "2345678.9");
        assert_eq!(spot("base", "0xa", &pairs), None);
        assert_eq!(spot("xlayer", "0xc", &pairs), None);
    }

    /// A stranger fills one side of a pool with a token of its own, and states a price.
    #[test]
    fn what_one_side_holds_is_no_liquidity() {
        let figure = |text: &str| text.parse::<Figure>().ok();
        let honest = pair(("0xa", "WOKB"), "118.42", "118.42", Some("2345678.9"));
        let lopsided = DexPair {
            base_reserve: figure("10000"),
            quote_reserve: figure("0.40"),
            ..pair(("0xa", "WOKB"), "5000", "5000", Some("50000000"))
        };
        assert_eq!(lopsided.depth_usd(), figure("0.8"));
        let price = spot("xlayer", "0xa", &[lopsided.clone(), honest]).unwrap();
        assert_eq!(price.price_usd.to_string(), "118.42");
        // A side that the source does not name supports nothing.
        let unknown = DexPair {
            quote_reserve: None,
            ..lopsided
        };
        assert_eq!(unknown.depth_usd(), None);
        assert_eq!(spot("xlayer", "0xa", &[unknown]), None);
    }

    #[test]
    fn two_deep_pools_contradict_each_other() {
        let deep = pair(("0xa", "WOKB"), "118.42", "118.42", Some("2000000"));
        let other = |price: &str, liquidity: &str| {
            let pairs = [
                deep.clone(),
                pair(("0xa", "WOKB"), price, price, Some(liquidity)),
            ];
            let spot = spot("xlayer", "0xa", &pairs).unwrap();
            assert_eq!(spot.price_usd.to_string(), "118.42");
            contrary("xlayer", "0xa", &pairs, &spot).map(|other| other.price_usd.to_string())
        };
        assert_eq!(other("124.4", "200000").as_deref(), Some("124.4"));
        assert_eq!(other("112.7", "200000").as_deref(), Some("112.7"));
        // It differs by less than the limit, or is not deep enough to say anything.
        assert_eq!(other("124.3", "200000"), None);
        assert_eq!(other("124.4", "199999"), None);
        let dormant = DexPair {
            traded_within_seconds: None,
            ..pair(("0xa", "WOKB"), "200", "200", Some("1000000"))
        };
        let pairs = [deep.clone(), dormant];
        let spot = spot("xlayer", "0xa", &pairs).unwrap();
        assert_eq!(contrary("xlayer", "0xa", &pairs, &spot), None);
    }

    #[test]
    fn a_pool_without_trades_names_no_coin() {
        let mut pairs = [pair(("0xa", "WOKB"), "118", "118", Some("900000"))];
        let query = SymbolKey::new("WOKB").unwrap();
        let coin = deepest(&query, &pairs, SEEN).unwrap();
        assert_eq!(
            coin.as_of.unwrap().duration_until(SEEN).as_secs(),
            300,
            "the end of the window in which it was traded"
        );
        pairs[0].traded_within_seconds = None;
        assert_eq!(deepest(&query, &pairs, SEEN), None);
        let price = spot("xlayer", "0xa", &pairs).unwrap();
        assert_eq!(price.traded_within_seconds, None);
    }

    #[test]
    fn a_quote_token_is_priced_by_its_pairs() {
        let pairs = [pair(("0xa", "WOKB"), "118.30", "118.42", Some("5000"))];
        let price = spot("xlayer", "0xusd", &pairs).unwrap();
        assert_eq!(price.price_usd.to_string(), "0.998986657659179");
        for broken in [("118", "0"), ("0", "118"), ("x", "1"), ("1", "x")] {
            let pairs = [pair(("0xa", "WOKB"), broken.0, broken.1, Some("5000"))];
            assert_eq!(spot("xlayer", "0xusd", &pairs), None, "{broken:?}");
        }
    }

    #[test]
    fn tokens_by_symbol_are_exact_deep_and_unranked() {
        let query = SymbolKey::new("doge2").unwrap();
        let pairs = [
            pair(("0xb", "doge2"), "9", "9", Some("55000")),
            pair(("0xa", "DOGE2"), "2", "2", Some("40000")),
            pair(("0xa", "DOGE2"), "3", "3", Some("20000")),
            pair(("0xe", "doge2"), "9", "9", Some("49999")),
            pair(("0xc", "DОGE2"), "9", "9", Some("900000")),
            pair(("0xd", "DOGE"), "9", "9", Some("900000")),
        ];
        let coin = deepest(&query, &pairs, SEEN).unwrap();
        assert_eq!((coin.id.as_str(), coin.rank), ("xlayer:0xa", None));
        assert_eq!(coin.price_usd.unwrap().to_string(), "2");
        assert_eq!(coin.volume_24h_usd.unwrap().to_string(), "20");
        assert_eq!(coin.contract_on(196).unwrap().address, "0xa");
        assert_eq!(coin.circulating_supply, None);
        let others: Vec<_> = coin
            .alternatives
            .iter()
            .map(|other| other.id.as_str())
            .collect();
        assert_eq!(others, ["xlayer:0xb"]);
        let other = SymbolKey::new("BTC").unwrap();
        assert_eq!(deepest(&other, &pairs, SEEN), None);
    }
}
