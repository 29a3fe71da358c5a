//! One coin at several venues: each venue's reading, and sums and means over the venues that list
//! the same coin.

use serde::Serialize;

use super::{Venue, VenueReading};
use crate::{Decimal, Figure, median, percent_change};

/// The decimal places of a weighted rate.
const RATE_PLACES: u32 = 12;
/// The decimal places of basis points.
const BPS_PLACES: u32 = 4;
/// When a venue's mark is further from the middle than this, it lists another coin of that name.
const SAME_COIN_PCT: i64 = 20;

/// One coin, with each venue's reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SymbolMarket {
    /// The coin.
    pub symbol: String,
    /// The venues that list it.
    pub venues: Vec<VenueReading>,
    /// The sums and means over the venues that list the same coin.
    pub aggregate: Aggregate,
    /// The highest funding for eight hours less the lowest, in basis points. `None` with a single
    /// venue.
    pub spread_bps: Option<Figure>,
    /// Venues whose price belongs to another coin with the same name. They are in no sum and no
    /// mean.
    pub conflicting: Vec<Venue>,
}

/// Sums and means over venues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Aggregate {
    /// The open interest of `oi_venues`, in dollars.
    pub oi_usd: Option<Figure>,
    /// The funding for eight hours, weighted by open interest in dollars.
    pub oi_weighted_rate_8h: Option<Figure>,
    /// The venues whose open interest is in `oi_usd`. A sum over some venues is not the whole
    /// market.
    pub oi_venues: Vec<Venue>,
}

impl SymbolMarket {
    /// Makes the market of `symbol` from the readings of venues. The first reading of each venue
    /// counts.
    #[must_use]
    pub fn new(symbol: impl Into<String>, mut venues: Vec<VenueReading>) -> Self {
        venues.sort_by_key(|reading| reading.venue);
        venues.dedup_by_key(|reading| reading.venue);
        let conflicting = conflicting(&venues);
        let agreeing: Vec<_> = venues
            .iter()
            .filter(|reading| !conflicting.contains(&reading.venue))
            .collect();
        Self {
            symbol: symbol.into(),
            aggregate: Aggregate::over(&agreeing),
            spread_bps: spread_bps(&agreeing),
            conflicting,
            venues,
        }
    }
}

impl Aggregate {
    fn over(venues: &[&VenueReading]) -> Self {
        let mut total = Decimal::ZERO;
        let mut oi_venues = Vec::new();
        for reading in venues {
            let Some(sum) = reading
                .open_interest_usd()
                .and_then(|usd| total.checked_add(usd))
            else {
                continue;
            };
            total = sum;
            oi_venues.push(reading.venue);
        }
        Self {
            oi_usd: (!oi_venues.is_empty()).then_some(Figure(total)),
            oi_weighted_rate_8h: weighted(venues).map(|rate| Figure(rate.round_dp(RATE_PLACES))),
            oi_venues,
        }
    }
}

fn weighted(venues: &[&VenueReading]) -> Option<Decimal> {
    let (mut sum, mut weight) = (Decimal::ZERO, Decimal::ZERO);
    for reading in venues {
        let (Some(funding), Some(usd)) = (&reading.funding, reading.open_interest_usd()) else {
            continue;
        };
        sum = sum.checked_add(funding.rate_8h.0.checked_mul(usd)?)?;
        weight = weight.checked_add(usd)?;
    }
    sum.checked_div(weight)
}

fn spread_bps(venues: &[&VenueReading]) -> Option<Figure> {
    let rates: Vec<_> = venues
        .iter()
        .filter_map(|reading| Some(reading.funding.as_ref()?.rate_8h.0))
        .collect();
    if rates.len() < 2 {
        return None;
    }
    let (high, low) = (rates.iter().max()?, rates.iter().min()?);
    let spread = high.checked_sub(*low)?.checked_mul(Decimal::from(10_000))?;
    Some(Figure(spread.round_dp(BPS_PLACES)))
}

/// Returns the venues that list another coin under this name, by their price. When only two venues
/// differ, neither is known to be right.
fn conflicting(venues: &[VenueReading]) -> Vec<Venue> {
    let marks: Vec<_> = venues
        .iter()
        .filter_map(|reading| Some(reading.mark_px?.0))
        .collect();
    let Some(middle) = median(&marks) else {
        return Vec::new();
    };
    let off = |reading: &&VenueReading| {
        reading.mark_px.is_some_and(|mark| {
            percent_change(middle, mark.0)
                .is_none_or(|change| change.abs() > Decimal::from(SAME_COIN_PCT))
        })
    };
    venues
        .iter()
        .filter(off)
        .map(|reading| reading.venue)
        .collect()
}

/// By which figure the coins of an overview are ranked, and which coins have no rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankedBy {
    /// The figure.
    pub by: &'static str,
    /// The venues whose open interest counts when the first coins are chosen. A coin that is large
    /// only at another venue may be missing.
    pub venues: Vec<Venue>,
    /// Coins without a rank, because no venue that lists them states an open interest that counts.
    /// Only the first ones by name.
    pub unranked: Vec<String>,
    /// How many such coins there are.
    pub unranked_total: usize,
}

/// The most coins without a rank that are named.
const MAX_UNRANKED: usize = 100;

impl RankedBy {
    /// The ranking information of an overview.
    #[must_use]
    pub fn over(markets: &[SymbolMarket]) -> Self {
        let counted = markets
            .iter()
            .flat_map(|market| &market.aggregate.oi_venues);
        let venues: std::collections::BTreeSet<Venue> = counted.copied().collect();
        let mut unranked: Vec<String> = markets
            .iter()
            .filter(|market| market.aggregate.oi_usd.is_none())
            .map(|market| market.symbol.clone())
            .collect();
        unranked.sort_unstable();
        let unranked_total = unranked.len();
        unranked.truncate(MAX_UNRANKED);
        Self {
            by: "open_interest_usd",
            venues: venues.into_iter().collect(),
            unranked,
            unranked_total,
        }
    }
}

/// Returns the `most` coins with the highest open interest in dollars. Equal ones are ordered by
/// name, and coins without any come last.
#[must_use]
pub fn top_by_open_interest(mut markets: Vec<SymbolMarket>, most: usize) -> Vec<SymbolMarket> {
    markets.sort_by(|one, other| {
        let usd = |market: &SymbolMarket| market.aggregate.oi_usd;
        usd(other)
            .cmp(&usd(one))
            .then_with(|| one.symbol.cmp(&other.symbol))
    });
    markets.truncate(most);
    markets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derivatives::{Funding, FundingInterval, OpenInterest};

    fn of(text: &str) -> Decimal {
        text.parse::<Figure>().unwrap().0
    }

    fn reading(venue: Venue, rate: &str, hours: u64, usd: &str, mark: &str) -> VenueReading {
        let interval = FundingInterval::hours(hours).unwrap();
        VenueReading {
            funding: Funding::new(of(rate), interval, None, "s").ok(),
            open_interest: OpenInterest::stated(None, Some(of(usd))),
            mark_px: Some(Figure(of(mark))),
            ..VenueReading::empty(venue, "BTC")
        }
    }

    #[test]
    fn an_aggregate_has_a_sum_a_mean_and_a_spread() {
        let market = SymbolMarket::new(
            "BTC",
            vec![
                reading(Venue::Binance, "0.0001", 8, "300", "100"),
                reading(Venue::Hyperliquid, "0.0000375", 1, "100", "100.5"),
            ],
        );
        assert_eq!(market.aggregate.oi_usd.unwrap().to_string(), "400");
        // (0.0001 × 300 + 0.0003 × 100) / 400
        assert_eq!(
            market.aggregate.oi_weighted_rate_8h.unwrap().to_string(),
            "0.00015"
        );
        assert_eq!(market.spread_bps.unwrap().to_string(), "2");
        assert_eq!(
            market.aggregate.oi_venues,
            [Venue::Hyperliquid, Venue::Binance]
        );
        assert!(market.conflicting.is_empty());
    }

    #[test]
    fn an_unknown_value_enters_no_aggregate() {
        let mut blind = reading(Venue::Okx, "0.01", 8, "1", "100");
        blind.open_interest = None;
        let market = SymbolMarket::new(
            "BTC",
            vec![blind, reading(Venue::Bybit, "0.0001", 8, "5", "100")],
        );
        assert_eq!(
            market.aggregate.oi_weighted_rate_8h.unwrap().to_string(),
            "0.0001"
        );
        assert_eq!(market.aggregate.oi_venues, [Venue::Bybit]);
        let alone = SymbolMarket::new("BTC", vec![reading(Venue::Bybit, "0.0001", 8, "0", "100")]);
        assert_eq!(
            (alone.spread_bps, alone.aggregate.oi_weighted_rate_8h),
            (None, None)
        );
        let nothing = SymbolMarket::new("BTC", Vec::new());
        assert_eq!((nothing.aggregate.oi_usd, nothing.spread_bps), (None, None));
    }

    #[test]
    fn another_coin_of_the_same_name_counts_nowhere() {
        let market = SymbolMarket::new(
            "LUNA",
            vec![
                reading(Venue::Binance, "0.0001", 8, "10", "0.40"),
                reading(Venue::Okx, "0.0001", 8, "10", "0.41"),
                reading(Venue::Bybit, "0.09", 8, "999999", "0.00006"),
            ],
        );
        assert_eq!(market.conflicting, [Venue::Bybit]);
        assert_eq!(market.aggregate.oi_usd.unwrap().to_string(), "20");
        assert_eq!(market.spread_bps.unwrap().to_string(), "0");
        let two = SymbolMarket::new(
            "LUNA",
            vec![
                reading(Venue::Binance, "0.0001", 8, "10", "1"),
                reading(Venue::Okx, "0.0001", 8, "10", "100"),
            ],
        );
        assert_eq!((two.conflicting.len(), two.aggregate.oi_usd), (2, None));
    }

    #[test]
    fn a_venue_counts_once() {
        let twice = vec![
            reading(Venue::Okx, "0.0001", 8, "10", "1"),
            reading(Venue::Okx, "0.0001", 8, "10", "1"),
        ];
        let market = SymbolMarket::new("X", twice);
        assert_eq!(
            (
                market.venues.len(),
                market.aggregate.oi_usd.unwrap().to_string().as_str()
            ),
            (1, "10")
        );
    }

    #[test]
    fn a_coin_without_a_place_in_the_ranking_is_named() {
        let mut listed = reading(Venue::Binance, "0.0001", 8, "1", "7");
        listed.open_interest = None;
        let markets = [
            SymbolMarket::new("BTC", vec![reading(Venue::Okx, "0.0001", 8, "9", "1")]),
            SymbolMarket::new("ONLY", vec![listed]),
            // The two readings contradict each other, so the true size is unknown.
            SymbolMarket::new(
                "LUNA",
                vec![
                    reading(Venue::Bybit, "0.0001", 8, "10", "1"),
                    reading(Venue::Okx, "0.0001", 8, "10", "100"),
                ],
            ),
        ];
        let ranked = RankedBy::over(&markets);
        assert_eq!(ranked.venues, [Venue::Okx]);
        assert_eq!(ranked.unranked, ["LUNA", "ONLY"]);
        assert_eq!(ranked.unranked_total, 2);
    }

    #[test]
    fn coins_rank_by_dollars_and_then_by_name() {
        let market = |symbol: &str, usd: &str| {
            SymbolMarket::new(symbol, vec![reading(Venue::Okx, "0", 8, usd, "1")])
        };
        let unknown = SymbolMarket::new("Z", vec![VenueReading::empty(Venue::Okx, "Z")]);
        let markets = vec![
            unknown,
            market("B", "9"),
            market("C", "10"),
            market("A", "9"),
        ];
        let top = top_by_open_interest(markets.clone(), 3);
        let names: Vec<_> = top.iter().map(|market| market.symbol.as_str()).collect();
        assert_eq!(names, ["C", "A", "B"]);
        assert_eq!(top_by_open_interest(markets, 9).last().unwrap().symbol, "Z");
    }
}
