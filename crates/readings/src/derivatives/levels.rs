//! The structure of candles: the range, the mean price, the usual movement, and the prices at which
//! the market turned.

use serde::Serialize;

use super::book::Candle;
use crate::{Decimal, Extent, Figure, mean, percent_change, sum};

/// How many candles on each side a turning point must exceed.
const BESIDE: usize = 2;
/// The most levels of a side.
const MOST: usize = 4;
/// Two turning points are one level when their distance is less than this share of a candle's usual
/// range.
const SAME: Decimal = Decimal::from_parts(5, 0, 0, false, 1);
const PLACES: u32 = 4;

/// The structure of a list of candles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Structure {
    /// The number of whole candles: a running one has less volume and range than it will have, so
    /// it does not count for the usual range, the volumes and the turning points.
    pub candles: usize,
    /// The highest price.
    pub high: Figure,
    /// The lowest price.
    pub low: Figure,
    /// The last price.
    pub last: Figure,
    /// Where the last price is between the lowest (0) and the highest (100).
    pub range_position_pct: Option<Figure>,
    /// How the last price differs from the first, in percent.
    pub change_pct: Option<Figure>,
    /// The mean of the candles' typical prices, weighted by volume.
    pub vwap: Option<Figure>,
    /// The usual range of one candle, in percent of the last price.
    pub mean_range_pct: Option<Figure>,
    /// How the volume of the later half differs from that of the earlier half, in percent.
    pub volume_change_pct: Option<Figure>,
    /// Prices below the last one at which the price turned up, the nearest first.
    pub supports: Vec<PriceLevel>,
    /// Prices above the last one at which the price turned down, the nearest first.
    pub resistances: Vec<PriceLevel>,
    /// How many levels there are below and above the last price. The lists may have only the
    /// nearest ones.
    #[serde(skip)]
    pub levels_total: (usize, usize),
}

/// A price at which the market turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PriceLevel {
    /// The price.
    pub px: Figure,
    /// How often the market turned there.
    pub touches: usize,
    /// The distance from the last price, in percent of that price.
    pub distance_pct: Option<Figure>,
}

/// Returns the structure of `candles`, which are the oldest first, with the nearest levels or all
/// of them. `None` for fewer than five whole candles.
#[must_use]
pub fn structure(candles: &[Candle], extent: Extent) -> Option<Structure> {
    let running = candles.iter().rev().take_while(|candle| candle.running);
    let whole = candles.get(..candles.len().checked_sub(running.count())?)?;
    if whole.len() < 2 * BESIDE + 1 {
        return None;
    }
    let (first, last) = (candles.first()?, candles.last()?.close);
    let high = candles.iter().map(|candle| candle.high).max()?;
    let low = candles.iter().map(|candle| candle.low).min()?;
    let ranges = whole.iter().map(|candle| candle.high.0 - candle.low.0);
    let range = sum(ranges)?.checked_div(Decimal::from(whole.len()))?;
    let (mut supports, mut resistances) = levels(whole, last, range);
    let levels_total = (supports.len(), resistances.len());
    let most = extent.most(MOST);
    supports.truncate(most);
    resistances.truncate(most);
    let width = high.0 - low.0;
    let of_last = |part: Decimal| part.checked_mul(Decimal::ONE_HUNDRED)?.checked_div(last.0);
    let position = (last.0 - low.0)
        .checked_mul(Decimal::ONE_HUNDRED)
        .and_then(|part| part.checked_div(width));
    let halves = whole.split_at(whole.len() / 2);
    let volume = |part: &[Candle]| sum(part.iter().map(|candle| candle.volume_base.0));
    let rounded = |value: Decimal| Figure(value.round_dp(PLACES));
    Some(Structure {
        candles: whole.len(),
        high,
        low,
        last,
        range_position_pct: position.map(rounded),
        change_pct: percent_change(first.open.0, last.0).map(rounded),
        vwap: vwap(candles).map(|price| Figure(price.round_sf(8).unwrap_or(price))),
        mean_range_pct: of_last(range).map(rounded),
        volume_change_pct: volume(halves.0)
            .zip(volume(halves.1))
            .and_then(|(then, now)| percent_change(then, now))
            .map(rounded),
        supports,
        resistances,
        levels_total,
    })
}

fn vwap(candles: &[Candle]) -> Option<Decimal> {
    let (mut paid, mut traded) = (Decimal::ZERO, Decimal::ZERO);
    for candle in candles {
        let sum = candle
            .high
            .0
            .checked_add(candle.low.0)?
            .checked_add(candle.close.0)?;
        let typical = sum.checked_div(Decimal::from(3))?;
        paid = paid.checked_add(typical.checked_mul(candle.volume_base.0)?)?;
        traded = traded.checked_add(candle.volume_base.0)?;
    }
    paid.checked_div(traded)
}

/// Returns the turning points below and above the last price, each with the nearest first.
fn levels(candles: &[Candle], last: Figure, range: Decimal) -> (Vec<PriceLevel>, Vec<PriceLevel>) {
    let same = range.checked_mul(SAME).unwrap_or(range);
    let (mut lows, mut highs) = (Vec::new(), Vec::new());
    for window in candles.windows(2 * BESIDE + 1) {
        let Some(middle) = window.get(BESIDE) else {
            continue;
        };
        if window.iter().all(|other| other.low >= middle.low) {
            lows.push(middle.low.0);
        }
        if window.iter().all(|other| other.high <= middle.high) {
            highs.push(middle.high.0);
        }
    }
    let mut below = clusters(lows, same, last);
    let mut above = clusters(highs, same, last);
    below.retain(|level| level.px < last);
    above.retain(|level| level.px > last);
    below.sort_by_key(|level| std::cmp::Reverse(level.px));
    above.sort_by_key(|level| level.px);
    (below, above)
}

/// Merges prices that are close to each other into one level at their mean.
fn clusters(mut prices: Vec<Decimal>, same: Decimal, last: Figure) -> Vec<PriceLevel> {
    prices.sort_unstable();
    let mut groups: Vec<Vec<Decimal>> = Vec::new();
    for price in prices {
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|known| price - known <= same) => {
                group.push(price);
            }
            _ => groups.push(vec![price]),
        }
    }
    let level = |group: Vec<Decimal>| {
        let mean = mean(&group)?;
        let mean = mean.round_sf(8).unwrap_or(mean);
        Some(PriceLevel {
            px: Figure(mean),
            touches: group.len(),
            distance_pct: percent_change(last.0, mean).map(|pct| Figure(pct.round_dp(PLACES))),
        })
    };
    groups.into_iter().filter_map(level).collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn candle(hour: i64, low: i64, high: i64, close: i64) -> Candle {
        let figure = |value: i64| Figure(Decimal::from(value));
        Candle {
            open_time: Timestamp::from_second(hour * 3600).unwrap(),
            close_time: Timestamp::from_second(hour * 3600 + 3599).unwrap(),
            open: figure(close),
            high: figure(high),
            low: figure(low),
            close: figure(close),
            volume_base: figure(if hour < 5 { 10 } else { 20 }),
            trades: 1,
            running: false,
        }
    }

    /// Candles that go up to 120, down to 100, up to 120 again, and to 110.
    fn zigzag() -> Vec<Candle> {
        let closes = [101, 110, 118, 110, 102, 109, 118, 112, 110, 110];
        let candles = closes.iter().zip(0..);
        candles
            .map(|(close, hour)| candle(hour, close - 2, close + 2, *close))
            .collect()
    }

    #[test]
    fn prices_turn_at_levels() {
        let shown = structure(&zigzag(), Extent::First).unwrap();
        assert_eq!(
            (shown.high.to_string(), shown.low.to_string()),
            ("120".into(), "99".into())
        );
        let level = |level: &PriceLevel| (level.px.to_string(), level.touches);
        assert_eq!(
            shown.resistances.iter().map(level).collect::<Vec<_>>(),
            [("120".to_owned(), 2)]
        );
        assert_eq!(
            shown.supports.iter().map(level).collect::<Vec<_>>(),
            [("100".to_owned(), 1)]
        );
        assert_eq!(
            shown.resistances[0].distance_pct.unwrap().to_string(),
            "9.0909"
        );
        assert_eq!(shown.volume_change_pct.unwrap().to_string(), "100");
        assert_eq!(shown.range_position_pct.unwrap().to_string(), "52.381");
        let vwap = shown.vwap.unwrap();
        assert!(shown.low < vwap && vwap < shown.high);
    }

    #[test]
    fn levels_beyond_the_nearest_are_counted() {
        // The prices turn at ever higher levels that are far apart, and the last price is below all
        // of them.
        let mut candles = Vec::new();
        for turn in 0..7 {
            let base = 1_000 + 200 * turn;
            for (offset, high) in [(0, 1), (1, 2), (2, 9), (3, 2), (4, 1)] {
                candles.push(candle(turn * 5 + offset, base, base + high, base));
            }
        }
        candles.extend((35..38).map(|hour| candle(hour, 10, 11, 10)));
        let shown = structure(&candles, Extent::First).unwrap();
        assert_eq!(shown.resistances.len(), MOST);
        assert!(shown.levels_total.1 > MOST, "{:?}", shown.levels_total);
        assert!(shown.supports.len() <= shown.levels_total.0);
    }

    #[test]
    fn a_running_candle_counts_only_for_the_prices_it_has_seen() {
        let mut candles = zigzag();
        let whole = structure(&candles, Extent::First).unwrap();
        candles.push(Candle {
            running: true,
            volume_base: Figure(Decimal::ONE),
            ..candle(10, 109, 130, 111)
        });
        let shown = structure(&candles, Extent::First).unwrap();
        assert_eq!(shown.candles, whole.candles);
        assert_eq!(shown.volume_change_pct, whole.volume_change_pct);
        assert_eq!(shown.resistances.len(), whole.resistances.len());
        assert_eq!(
            (shown.high.to_string(), shown.last.to_string()),
            ("130".into(), "111".into())
        );
        // Of five candles, the last one still running, four are whole.
        let few: Vec<_> = candles.split_off(6);
        assert_eq!(structure(&few, Extent::First), None);
    }

    #[test]
    fn few_candles_have_no_structure() {
        assert_eq!(structure(&zigzag()[..4], Extent::First), None);
        // When a price never moves, it has no position in its range.
        let flat: Vec<_> = (0..6).map(|hour| candle(hour, 5, 5, 5)).collect();
        let shown = structure(&flat, Extent::First).unwrap();
        assert_eq!(shown.range_position_pct, None);
        assert!(shown.supports.is_empty() && shown.resistances.is_empty());
    }
}
