//! The order book and the candles of one market. Contradictory ones are refused.

use jiff::Timestamp;
use serde::Serialize;

use crate::{Decimal, Figure};

/// One price of a book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Level {
    /// The price, in dollars.
    pub px: Figure,
    /// The size, in coins.
    pub size: Figure,
    /// The number of orders.
    pub orders: u32,
}

/// An order book, with the best prices first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Book {
    /// When the venue created it.
    pub as_of: Timestamp,
    /// The bids, the highest first.
    pub bids: Vec<Level>,
    /// The asks, the lowest first.
    pub asks: Vec<Level>,
}

/// The book is impossible: it is out of order, or a bid is at or above an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a book out of order or crossed")]
pub struct Crossed;

impl Book {
    /// Makes a book of these sides, in the order in which they were received.
    ///
    /// # Errors
    ///
    /// [`Crossed`].
    pub fn new(as_of: Timestamp, bids: Vec<Level>, asks: Vec<Level>) -> Result<Self, Crossed> {
        let positive = |level: &Level| level.px.0 > Decimal::ZERO && level.size.0 > Decimal::ZERO;
        let sound = bids.iter().chain(&asks).all(positive)
            && bids.is_sorted_by(|better, worse| better.px > worse.px)
            && asks.is_sorted_by(|better, worse| better.px < worse.px);
        let crossed = match (bids.first(), asks.first()) {
            (Some(bid), Some(ask)) => bid.px >= ask.px,
            _ => false,
        };
        if !sound || crossed {
            return Err(Crossed);
        }
        Ok(Self { as_of, bids, asks })
    }

    /// Keeps the best `most` prices of each side.
    #[must_use]
    pub fn top(mut self, most: usize) -> Self {
        self.bids.truncate(most);
        self.asks.truncate(most);
        self
    }
}

/// The prices of one period, in dollars.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candle {
    /// The start of the period.
    pub open_time: Timestamp,
    /// The end of the period. In the future for the running one.
    pub close_time: Timestamp,
    /// The first price.
    pub open: Figure,
    /// The highest price.
    pub high: Figure,
    /// The lowest price.
    pub low: Figure,
    /// The last price.
    pub close: Figure,
    /// The turnover, in coins.
    pub volume_base: Figure,
    /// The number of trades.
    pub trades: u64,
    /// Whether the period was still running when the venue stated it. Then its last price, its
    /// turnover and its trades are those so far.
    pub running: bool,
}

/// The numbers of the candle contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a candle whose prices or times contradict each other")]
pub struct Impossible;

impl Candle {
    /// Returns the candle if it is consistent. Its lowest price must be the lowest, its highest
    /// price the highest, and its end after its start.
    ///
    /// # Errors
    ///
    /// [`Impossible`].
    pub fn checked(self) -> Result<Self, Impossible> {
        let within = |price: Figure| self.low <= price && price <= self.high;
        let sound = self.low.0 > Decimal::ZERO
            && within(self.open)
            && within(self.close)
            && self.volume_base.0 >= Decimal::ZERO
            && self.open_time < self.close_time;
        if sound { Ok(self) } else { Err(Impossible) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(text: &str) -> Figure {
        text.parse().unwrap()
    }

    fn side(prices: &[&str]) -> Vec<Level> {
        let level = |px: &&str| Level {
            px: figure(px),
            size: figure("1"),
            orders: 1,
        };
        prices.iter().map(level).collect()
    }

    fn book(bids: &[&str], asks: &[&str]) -> Result<Book, Crossed> {
        Book::new(Timestamp::UNIX_EPOCH, side(bids), side(asks))
    }

    #[test]
    fn a_book_is_in_order_and_not_crossed() {
        let top = book(&["9", "8", "7"], &["10", "11"]).unwrap().top(2);
        assert_eq!((top.bids.len(), top.asks.len()), (2, 2));
        assert!(book(&[], &["1"]).is_ok() && book(&[], &[]).is_ok());
        for (bids, asks) in [
            (&["8", "9"][..], &["10"][..]),
            (&["9"], &["11", "10"]),
            (&["10"], &["10"]),
            (&["11"], &["10"]),
            (&["9", "9"], &["10"]),
            (&["0"], &["10"]),
            (&["-1"], &["10"]),
        ] {
            assert_eq!(book(bids, asks), Err(Crossed), "{bids:?} {asks:?}");
        }
    }

    #[test]
    fn candles_do_not_contradict_themselves() {
        let candle = |open: &str, high: &str, low: &str, close: &str| Candle {
            open_time: Timestamp::UNIX_EPOCH,
            close_time: Timestamp::from_second(3600).unwrap(),
            open: figure(open),
            high: figure(high),
            low: figure(low),
            close: figure(close),
            volume_base: figure("0"),
            trades: 0,
            running: false,
        };
        assert!(candle("2", "3", "1", "2").checked().is_ok());
        assert!(candle("1", "1", "1", "1").checked().is_ok());
        for wrong in [
            candle("2", "1", "3", "2"),
            candle("4", "3", "1", "2"),
            candle("2", "3", "1", "0.5"),
            candle("0", "0", "0", "0"),
            Candle {
                close_time: Timestamp::UNIX_EPOCH,
                ..candle("2", "3", "1", "2")
            },
            Candle {
                volume_base: figure("-1"),
                ..candle("2", "3", "1", "2")
            },
        ] {
            assert_eq!(wrong.clone().checked(), Err(Impossible), "{wrong:?}");
        }
    }
}
