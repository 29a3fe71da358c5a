//! What is trending: the coins that several rankings name at once.

mod excluded;
mod words;

use std::{cmp::Ordering, collections::BTreeMap};

use serde::Serialize;

pub use self::excluded::is_excluded;
use super::{market::HotToken, search};
use crate::{Decimal, Extent, Figure, symbol::SymbolKey};

/// Most rows of an answer.
pub const MAX_ROWS: usize = 3;
/// Two rankings that use one symbol mean the same coin only when their prices are this close, in
/// percent of the lower one.
const SAME_COIN_PCT: Decimal = Decimal::TEN;

/// A coin that many look for, in the order of the ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchedCoin {
    /// The catalogue's own name of it, safe as a part of a URL.
    pub id: String,
    /// Its symbol. Untrusted text without control characters.
    pub symbol: String,
    /// Its name. Untrusted text without control characters.
    pub name: String,
    /// Place by market capitalisation, from 1.
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

/// A symbol that many talk about, in the order of the ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MentionedSymbol {
    /// The symbol. Which coin it means is not said.
    pub symbol: String,
    /// Mentions within a day.
    pub mentions: u64,
    /// Share of the mentions that are bullish, 0 to 1.
    pub bullish_ratio: Option<Figure>,
    /// Share of the mentions that are bearish, 0 to 1.
    pub bearish_ratio: Option<Figure>,
}

/// The rankings that answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rankings<'a> {
    /// What is looked for.
    pub searched: Option<&'a [SearchedCoin]>,
    /// What is traded on exchanges without an operator.
    pub hot: Option<&'a [HotToken]>,
    /// What is talked about.
    pub mentioned: Option<&'a [MentionedSymbol]>,
}

/// A trending coin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrendingRow {
    /// Place in this answer, from 1.
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
    /// In how many rankings it is.
    pub named_by: usize,
    /// What each ranking says of it.
    pub why: Vec<String>,
    /// What speaks against it.
    pub risks: Vec<&'static str>,
    /// Where to read on.
    pub links: BTreeMap<&'static str, String>,
}

/// One coin in all rankings.
#[derive(Clone, Debug, Default)]
struct Candidate<'a> {
    searched: Option<(usize, &'a SearchedCoin)>,
    hot: Option<(usize, &'a HotToken)>,
    mentioned: Option<(usize, &'a MentionedSymbol)>,
}

/// The coins that most rankings name, the first [`MAX_ROWS`] or all of them, and how many are named
/// at all; among equals the better places. Bitcoin, what is meant to be worth a dollar, wrapped and
/// staked forms, imitations and tokens of a high risk are left out. A symbol that is only talked
/// about is no coin, and what is said of a symbol is not said of a token of an exchange that bears
/// it.
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
            // Another token with the symbol of a coin that is there already.
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
        // Mentions are counted by symbol: they are of the coin that a catalogue lists under it,
        // never of a token of an exchange that bears it.
        if let Some(candidate) = candidate.filter(|candidate| candidate.searched.is_some()) {
            candidate.mentioned.get_or_insert((place, mention));
        }
    }
    by_symbol.into_values().chain(others).collect()
}

/// Elements with their places from 1.
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

/// Whether both are the same coin: a symbol alone does not say so, a price does.
fn same_coin(coin: &SearchedCoin, token: &HotToken) -> bool {
    let prices = coin.price_usd.zip(token.price_usd);
    prices.is_some_and(|(a, b)| {
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        crate::percent_change(low.get(), high.get()).is_some_and(|pct| pct <= SAME_COIN_PCT)
    })
}

/// More rankings first, then the better mean place, then the larger market.
fn order(a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
    let mean = |candidate: &Candidate<'_>| {
        let places = candidate.places();
        // Of equally many places the sum compares as the mean does.
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

    /// A figure of the catalogue, otherwise of the exchanges.
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
