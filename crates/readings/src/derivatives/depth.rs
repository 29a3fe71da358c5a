//! How much a book takes before its price moves.

use serde::Serialize;

use super::book::{Book, Level};
use crate::{Decimal, Figure, sum};

/// Distances from the middle, in hundredths of a percent.
const BANDS_BPS: [u32; 4] = [10, 25, 50, 100];

/// The depth of a book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Depth {
    /// The middle between the best prices.
    pub mid: Figure,
    /// The best ask less the best bid, in hundredths of a percent of the middle.
    pub spread_bps: Figure,
    /// What lies within some distances of the middle.
    pub within: Vec<Band>,
}

/// What lies within a distance of the middle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Band {
    /// The distance, in hundredths of a percent.
    pub bps: u32,
    /// Dollars that buy.
    pub bid_usd: Figure,
    /// Dollars that sell.
    pub ask_usd: Figure,
    /// Whether the part of the book that is known reaches so far on both sides; otherwise there may be more.
    pub complete: bool,
}

/// The depth of `book`; `None` when a side is empty.
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
    Some(Depth {
        mid: Figure(mid),
        spread_bps: Figure(spread.round_dp(4)),
        within: within.collect(),
    })
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
    fn what_lies_near_the_middle_is_counted_in_dollars() {
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
        // The asks that are known end at 40 hundredths of a percent.
        assert!(band(25).complete && !band(50).complete);
    }

    #[test]
    fn a_book_with_one_side_has_no_depth() {
        let book = Book::new(Timestamp::UNIX_EPOCH, side(&[("999", "1")]), Vec::new()).unwrap();
        assert_eq!(depth(&book), None);
    }
}
