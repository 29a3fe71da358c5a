//! Trending coins: the coins that several rankings name at the same time. A price must show that
//! two rankings mean the same coin by a symbol.

mod excluded;
mod words;

use std::{cmp::Ordering, collections::BTreeMap};

use serde::Serialize;

pub use self::excluded::is_excluded;
use super::{market::HotToken, search};
use crate::{Decimal, Extent, Figure, symbol::SymbolKey};

/// The most rows of a short answer.
pub const MAX_ROWS: usize = 3;
/// The largest difference between the prices of two rankings that mean the same coin by one symbol,
/// in percent of the lower price.
const SAME_COIN_PCT: Decimal = Decimal::TEN;

/// A coin that many people search for. The ranking's order is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedCoin {
    /// The catalogue's id. It is safe as a part of a URL.
    pub id: String,
    /// Its symbol. Untrusted text without control characters.
    pub symbol: String,
    /// Its name. Untrusted text without control characters.
    pub name: String,
    /// Rank by market capitalisation, from 1.
    pub rank: Option<u32>,
    /// Dollars for one whole coin, above zero.
    pub price_usd: Option<Figure>,
    /// Change of the price over a day, in percent.
    pub change_24h_pct: Option<Figure>,
    /// Price times circulating supply, in dollars.
    pub market_cap_usd: Option<Figure>,
    /// Dollars traded within a day.
    pub volume_24h_usd: Option<Figure>,
}

/// A symbol that is mentioned often. The ranking's order is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MentionedSymbol {
    /// The symbol. The source does not say which coin it means.
    pub symbol: String,
    /// Mentions within a day.
    pub mentions: u64,
    /// Share of the mentions that are bullish, 0 to 1.
    pub bullish_ratio: Option<Figure>,
    /// Share of the mentions that are bearish, 0 to 1.
    pub bearish_ratio: Option<Figure>,
}

/// The rankings. A ranking that did not answer is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rankings<'a> {
    /// The most searched coins.
    pub searched: Option<&'a [SearchedCoin]>,
    /// The most traded tokens of decentralised exchanges.
    pub hot: Option<&'a [HotToken]>,
    /// The most mentioned symbols.
    pub mentioned: Option<&'a [MentionedSymbol]>,
}

/// One trending coin of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrendingRow {
    /// Rank in this answer, from 1.
    pub rank: usize,
    /// Its symbol. Untrusted text without control characters.
    pub symbol: String,
    /// Its name. Untrusted text without control characters.
    pub name: Option<String>,
    /// Dollars for one whole coin.
    pub price_usd: Option<Figure>,
    /// Change of the price over a day, in percent.
    pub change_24h_pct: Option<Figure>,
    /// Price times circulating supply, in dollars.
    pub market_cap_usd: Option<Figure>,
    /// Dollars traded within a day.
    pub volume_24h_usd: Option<Figure>,
    /// How many rankings name it.
    pub named_by: usize,
    /// A sentence for each ranking that names it.
    pub why: Vec<String>,
    /// The codes of its risks.
    pub risks: Vec<&'static str>,
    /// Links for further reading.
    pub links: BTreeMap<&'static str, String>,
}

/// One coin, with its rank and its entry in each ranking that names it.
#[derive(Clone, Debug, Default)]
struct Candidate<'a> {
    searched: Option<(usize, &'a SearchedCoin)>,
    hot: Option<(usize, &'a HotToken)>,
    mentioned: Option<(usize, &'a MentionedSymbol)>,
}

/// Returns the coins that the most rankings name, the first [`MAX_ROWS`] or all of them, and the
/// number of all named coins. Among coins with equally many rankings, those with the better ranks
/// come first.
///
/// Leaves out bitcoin, stablecoins, wrapped and staked forms, imitations, and tokens with a high
/// risk. A symbol that is only mentioned is no coin. Mentions of a symbol do not count for a token
/// of an exchange that has this symbol.
#[must_use]
pub fn trending(rankings: Rankings<'_>, extent: Extent) -> (Vec<TrendingRow>, usize) {
    let mut found = candidates(rankings);
    found.sort_by(order);
    let most = extent.most(MAX_ROWS);
    let rows = found.iter().take(most).enumerate();
    let rows = rows.map(|(place, candidate)| candidate.row(place.saturating_add(1)));
    (rows.collect(), found.len())
}

fn candidates(rankings: Rankings<'_>) -> Vec<Candidate<'_>> {
    let mut by_symbol: BTreeMap<SymbolKey, Candidate<'_>> = BTreeMap::new();
    for (place, coin) in numbered(rankings.searched) {
        let Some(key) = admitted(&coin.symbol, Some(&coin.name)) else {
            continue;
        };
        let candidate = by_symbol.entry(key).or_default();
        candidate.searched.get_or_insert((place, coin));
    }
    let mut others = Vec::new();
    for (place, token) in numbered(rankings.hot) {
        let Some(key) = admitted(&token.symbol, None).filter(|_| !token.is_high_risk()) else {
            continue;
        };
        let candidate = by_symbol.entry(key).or_default();
        let apart = candidate
            .searched
            .is_some_and(|(_, coin)| !same_coin(coin, token));
        if apart || candidate.hot.is_some() {
            // This is another token with the symbol of a coin that is already listed.
            others.push(Candidate {
                hot: Some((place, token)),
                ..Candidate::default()
            });
        } else {
            candidate.hot = Some((place, token));
        }
    }
    for (place, mention) in numbered(rankings.mentioned) {
        let key = SymbolKey::new(&mention.symbol);
        let candidate = key.and_then(|key| by_symbol.get_mut(&key));
        // A source counts mentions by symbol. They count for the coin that the catalogue lists
        // under the symbol, and never for a token of an exchange.
        if let Some(candidate) = candidate.filter(|candidate| candidate.searched.is_some()) {
            candidate.mentioned.get_or_insert((place, mention));
        }
    }
    by_symbol.into_values().chain(others).collect()
}

/// Numbers the elements of a ranking from 1.
fn numbered<T>(ranking: Option<&[T]>) -> impl Iterator<Item = (usize, &T)> {
    ranking
        .unwrap_or_default()
        .iter()
        .enumerate()
        .map(|(n, item)| (n.saturating_add(1), item))
}

fn admitted(symbol: &str, name: Option<&str>) -> Option<SymbolKey> {
    let key = SymbolKey::new(symbol)?;
    (!search::is_imitation(symbol) && !is_excluded(&key, name)).then_some(key)
}

/// Whether both are the same coin. Equal symbols do not prove that; close prices do.
fn same_coin(coin: &SearchedCoin, token: &HotToken) -> bool {
    let prices = coin.price_usd.zip(token.price_usd);
    prices.is_some_and(|(a, b)| {
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        crate::percent_change(low.get(), high.get()).is_some_and(|pct| pct <= SAME_COIN_PCT)
    })
}

/// Sorts by more rankings, then by the better mean rank, then by the larger market.
fn order(a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
    let mean = |candidate: &Candidate<'_>| {
        let places = candidate.places();
        // Both have equally many ranks here, so comparing the sums compares the means.
        (
            std::cmp::Reverse(places.len()),
            places.iter().sum::<usize>(),
        )
    };
    mean(a)
        .cmp(&mean(b))
        .then_with(|| super::larger_first(a.market_cap_usd(), b.market_cap_usd()))
        .then_with(|| a.symbol().cmp(b.symbol()))
}

impl Candidate<'_> {
    fn places(&self) -> Vec<usize> {
        let places = [
            self.searched.map(|(place, _)| place),
            self.hot.map(|(place, _)| place),
            self.mentioned.map(|(place, _)| place),
        ];
        places.into_iter().flatten().collect()
    }

    fn symbol(&self) -> &str {
        let searched = self.searched.map(|(_, coin)| coin.symbol.as_str());
        searched
            .or_else(|| self.hot.map(|(_, token)| token.symbol.as_str()))
            .unwrap_or_default()
    }

    fn market_cap_usd(&self) -> Option<Figure> {
        self.of(|coin| coin.market_cap_usd, |token| token.market_cap_usd)
    }

    /// Returns the catalogue's figure, otherwise the figure of the exchanges.
    fn of(
        &self,
        coin: impl Fn(&SearchedCoin) -> Option<Figure>,
        token: impl Fn(&HotToken) -> Option<Figure>,
    ) -> Option<Figure> {
        let searched = self.searched.and_then(|(_, found)| coin(found));
        searched.or_else(|| self.hot.and_then(|(_, found)| token(found)))
    }

    fn row(&self, rank: usize) -> TrendingRow {
        TrendingRow {
            rank,
            symbol: self.symbol().to_owned(),
            name: self.searched.map(|(_, coin)| coin.name.clone()),
            price_usd: self.of(|coin| coin.price_usd, |token| token.price_usd),
            change_24h_pct: self.of(|coin| coin.change_24h_pct, |token| token.change_24h_pct),
            market_cap_usd: self.market_cap_usd(),
            volume_24h_usd: self.of(|coin| coin.volume_24h_usd, |token| token.volume_24h_usd),
            named_by: self.places().len(),
            why: words::why(self),
            risks: words::risks(self),
            links: words::links(self),
        }
    }
}

#[cfg(test)]
mod tests;
