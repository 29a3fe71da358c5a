//! Pages of a sorted list. They have no gaps and no repeats, even when the list changes between two
//! calls.

use std::{cmp::Ordering, str::FromStr};

use rust_decimal::Decimal;

use super::Market;
use crate::Figure;

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// The highest yield first.
    Apy,
    /// The highest value locked first.
    Tvl,
}

/// The last row of a page. The next page begins after it, wherever that row is then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    sort: Sort,
    value: Decimal,
    pool: String,
}

/// The text is not a cursor, or is a cursor of another order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this list")]
pub struct CursorError;

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The number of rows of the whole list.
    pub count: usize,
    /// The rows of this page.
    pub rows: Vec<Market>,
    /// The cursor of the next page. `None` on the last page.
    pub next_cursor: Option<String>,
}

impl Sort {
    /// `apy` or `tvl`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apy => "apy",
            Self::Tvl => "tvl",
        }
    }

    fn value(self, market: &Market) -> Decimal {
        match self {
            Self::Apy => market.apy_pct.0,
            Self::Tvl => market.tvl_usd.0,
        }
    }
}

impl FromStr for Sort {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        [Self::Apy, Self::Tvl]
            .into_iter()
            .find(|sort| sort.as_str() == text)
            .ok_or(CursorError)
    }
}

impl Cursor {
    /// Reads a [`Page::next_cursor`] of the same order.
    ///
    /// # Errors
    ///
    /// [`CursorError`].
    pub fn parse(text: &str, sort: Sort) -> Result<Self, CursorError> {
        let (order, rest) = text.split_once(':').ok_or(CursorError)?;
        let (value, pool) = rest.split_once(':').ok_or(CursorError)?;
        let value: Figure = value.parse().map_err(|_| CursorError)?;
        (order.parse() == Ok(sort) && !pool.is_empty())
            .then(|| Self {
                sort,
                value: value.0,
                pool: pool.to_owned(),
            })
            .ok_or(CursorError)
    }

    fn after(market: &Market, sort: Sort) -> String {
        format!(
            "{}:{}:{}",
            sort.as_str(),
            Figure(sort.value(market)),
            market.pool
        )
    }
}

/// Returns the rows after `cursor`, at most `limit`, in the order of `sort`.
#[must_use]
pub fn page(mut markets: Vec<&Market>, sort: Sort, cursor: Option<&Cursor>, limit: usize) -> Page {
    let order = |value: Decimal, pool: &str, market: &Market| {
        sort.value(market)
            .cmp(&value)
            .then_with(|| pool.cmp(market.pool.as_str()))
    };
    markets.sort_by(|a, b| order(sort.value(a), &a.pool, b));
    let count = markets.len();
    let behind = |market: &&Market| {
        cursor.is_none_or(|cursor| order(cursor.value, &cursor.pool, market) == Ordering::Less)
    };
    let mut rows = markets.into_iter().filter(behind);
    let page: Vec<_> = rows.by_ref().take(limit).cloned().collect();
    let more = rows.next().is_some();
    let next_cursor = page
        .last()
        .filter(|_| more)
        .map(|last| Cursor::after(last, sort));
    Page {
        count,
        rows: page,
        next_cursor,
    }
}
