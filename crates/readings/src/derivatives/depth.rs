//! The depth of an order book: how much it absorbs before its price moves.

use serde::Serialize;

use super::book::{Book, Level};
use crate::{Decimal, Figure, sum};

/// The sizes of the trades, in dollars.
const SIZES_USD: [u32; 3] = [1_000, 10_000, 100_000];
/// The distances from the middle, in hundredths of a percent.
const BANDS_BPS: [u32; 4] = [10, 25, 50, 100];

/// The depth of a book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Depth {
    /// The price in the middle of the best bid and the best ask.
    pub mid: Figure,
    /// The best ask less the best bid, in hundredths of a percent of the middle.
    pub spread_bps: Figure,
    /// The bids and asks within some distances of the middle.
    pub within: Vec<Band>,
    /// The costs of trades of some sizes.
    pub impact: Vec<BookImpact>,
}

/// The cost of a trade that takes the orders of the book, the best price first, without fees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BookImpact {
    /// The size of the trade, in dollars.
    pub usd: u32,
    /// How far the mean price of a purchase is above the middle, in percent of the middle. `None`
    /// when the known part of the book is too small.
    pub buy_pct: Option<Figure>,
    /// How far the mean price of a sale is below the middle, in percent of the middle. `None` when
    /// the known part of the book is too small.
    pub sell_pct: Option<Figure>,
}

/// The bids and asks within a distance of the middle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Band {
    /// The distance, in hundredths of a percent.
    pub bps: u32,
    /// The bids, in dollars.
    pub bid_usd: Figure,
    /// The asks, in dollars.
    pub ask_usd: Figure,
    /// Whether the known part of the book reaches this far on both sides. If not, there may be
    /// more.
    pub complete: bool,
}

/// Computes the depth of `book`. `None` when a side is empty.
#[must_use]
pub fn depth(book: &Book) -> Option<Depth> {
    let (bid, ask) = (book.bids.first()?.px.0, book.asks.first()?.px.0);
    let mid = bid.checked_add(ask)?.checked_div(Decimal::TWO)?;
    let share = |part: Decimal| part.checked_mul(Decimal::from(10_000))?.checked_div(mid);
    let spread = share(ask.checked_sub(bid)?)?;
    let distance = |level: &Level| share((level.px.0 - mid).abs());
    let within = BANDS_BPS.iter().filter_map(|bps| {
        let limit = Decimal::from(*bps);
        let side = |levels: &[Level]| -> Option<(Figure, bool)> {
            let near = levels
                .iter()
                .filter(|level| distance(level).is_some_and(|far| far <= limit));
            let worth = near.map(|level| level.px.0.checked_mul(level.size.0));
            let sum = sum(worth.collect::<Option<Vec<Decimal>>>()?)?;
            let reaches = levels
                .last()
                .and_then(distance)
                .is_some_and(|far| far >= limit);
            Some((Figure(sum.round_dp(2)), reaches))
        };
        let ((bid_usd, bids), (ask_usd, asks)) = (side(&book.bids)?, side(&book.asks)?);
        Some(Band {
            bps: *bps,
            bid_usd,
            ask_usd,
            complete: bids && asks,
        })
    });
    let cost = |levels: &[Level], usd: u32| {
        let mean = mean_price(levels, Decimal::from(usd))?;
        let apart = crate::percent_change(mid, mean)?.abs();
        Some(Figure(apart.round_dp(4)))
    };
    let impact = SIZES_USD.map(|usd| BookImpact {
        usd,
        buy_pct: cost(&book.asks, usd),
        sell_pct: cost(&book.bids, usd),
    });
    Some(Depth {
        mid: Figure(mid),
        spread_bps: Figure(spread.round_dp(4)),
        within: within.collect(),
        impact: impact.into(),
    })
}

/// Returns the mean price of `usd` dollars taken from `levels`, the best first. `None` when the
/// levels have less.
fn mean_price(levels: &[Level], usd: Decimal) -> Option<Decimal> {
    let (mut left, mut size) = (usd, Decimal::ZERO);
    for level in levels {
        let worth = level.px.0.checked_mul(level.size.0)?;
        let taken = worth.min(left);
        size = size.checked_add(taken.checked_div(level.px.0)?)?;
        left = left.checked_sub(taken)?;
        if left.is_zero() {
            return usd.checked_div(size);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn side(levels: &[(&str, &str)]) -> Vec<Level> {
        let level = |(px, size): &(&str, &str)| Level {
            px: px.parse().unwrap(),
            size: size.parse().unwrap(),
            orders: 1,
        };
        levels.iter().map(level).collect()
    }

    #[test]
    fn orders_near_the_middle_are_counted_in_dollars() {
        let book = Book::new(
            Timestamp::UNIX_EPOCH,
            side(&[("999", "1"), ("997", "2"), ("985", "3")]),
            side(&[("1001", "1"), ("1004", "1")]),
        )
        .unwrap();
        let depth = depth(&book).unwrap();
        assert_eq!(
            (depth.mid.to_string(), depth.spread_bps.to_string()),
            ("1000".into(), "20".into())
        );
        let band = |bps: u32| depth.within.iter().find(|band| band.bps == bps).unwrap();
        assert_eq!(band(10).bid_usd.to_string(), "999");
        assert_eq!(band(50).bid_usd.to_string(), "2993");
        assert_eq!(band(50).ask_usd.to_string(), "2005");
        // The known asks end at 40 hundredths of a percent.
        assert!(band(25).complete && !band(50).complete);
    }

    #[test]
    fn a_trade_pays_the_mean_price_of_the_orders_that_it_takes() {
        // The book offers 1,000 dollars at 1,000, 18,000 at 1,200, and nothing beyond.
        let book = Book::new(
            Timestamp::UNIX_EPOCH,
            side(&[("998", "100")]),
            side(&[("1000", "1"), ("1200", "15")]),
        )
        .unwrap();
        let depth = depth(&book).unwrap();
        let costs = |of: fn(&BookImpact) -> Option<Figure>| {
            let text = |row: &BookImpact| of(row).map(|pct| pct.to_string());
            depth.impact.iter().map(text).collect::<Vec<_>>()
        };
        // The middle is 999. For 10,000 dollars a buyer gets 1 at 1,000 and 7.5 at 1,200, so each
        // costs 1,176.47.
        let paid = |text: &str| Some(text.to_owned());
        assert_eq!(
            costs(|row| row.buy_pct),
            [paid("0.1001"), paid("17.7648"), None]
        );
        // The known bids are 99,800 dollars.
        assert_eq!(
            costs(|row| row.sell_pct),
            [paid("0.1001"), paid("0.1001"), None]
        );
    }

    #[test]
    fn a_book_with_one_side_has_no_depth() {
        let book = Book::new(Timestamp::UNIX_EPOCH, side(&[("999", "1")]), Vec::new()).unwrap();
        assert_eq!(depth(&book), None);
    }
}
