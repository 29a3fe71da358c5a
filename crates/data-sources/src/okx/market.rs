//! Market data of tokens: prices with changes and volumes, the search, rankings, pools and origins.
//!
//! The figures are the source's own. An absent or impossible optional figure is `None`; a row
//! without its core figure is left out.

mod hot;
mod info;
mod origin;
mod search;

use std::{sync::Arc, time::Duration};

use alloy_primitives::Address;
use jiff::Timestamp;
use readings::{
    Figure,
    token::{
        self,
        market::{HotToken, TokenMarket, TokenOrigin, TokenPool},
        search::FoundPage,
    },
    unreadable,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use self::{hot::HotBy, search::TokenSearch};
use crate::{
    cached::{Ages, Cached},
    error::SourceErrorKind,
    json::read_json,
    provenance::Clock,
    tokens::TokenPrice,
    transport::QUOTED_CHARS,
};

/// How far a time of the source may be ahead of our clock.
pub(super) const AHEAD: Duration = Duration::from_secs(300);
/// Symbols and names are cut after this many characters.
const MAX_SYMBOL_CHARS: usize = 32;
const MAX_NAME_CHARS: usize = 64;

/// The kept market data.
#[derive(Clone, Debug)]
pub(super) struct Markets {
    pub(super) prices: Cached<Address, TokenPrice>,
    infos: Cached<Vec<Address>, Arc<[TokenMarket]>>,
    found: Cached<TokenSearch, Arc<FoundPage>>,
    hot: Cached<(Option<u64>, HotBy), Arc<[HotToken]>>,
    origins: Cached<Address, Arc<TokenOrigin>>,
    pools: Cached<Address, Arc<[TokenPool]>>,
}

impl Markets {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            prices: Cached::new(2_000, Ages::seconds(8, 60), clock.clone()),
            infos: Cached::new(2_000, Ages::seconds(8, 60), clock.clone()),
            found: Cached::new(1_000, Ages::seconds(60, 300), clock.clone()),
            hot: Cached::new(20, Ages::seconds(60, 900), clock.clone()),
            origins: Cached::new(1_000, Ages::seconds(300, 3_600), clock.clone()),
            pools: Cached::new(1_000, Ages::seconds(30, 300), clock),
        }
    }
}

/// A string, or an integer as its digits: chain ids come as either.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ChainIndex {
    Text(String),
    Number(u64),
}

impl ChainIndex {
    fn id(&self) -> Option<u64> {
        match self {
            Self::Text(text) => text.parse().ok(),
            Self::Number(id) => Some(*id),
        }
    }
}

/// The rows that can be read. A bad row does not affect the others; when no row is left, the first
/// problem is returned.
fn rows<T>(
    raw: &[Box<RawValue>],
    read: impl Fn(&RawValue) -> Result<T, SourceErrorKind>,
) -> Result<Vec<T>, SourceErrorKind> {
    let mut problem = None;
    let mut good = Vec::with_capacity(raw.len());
    for row in raw {
        match read(row) {
            Ok(row) => good.push(row),
            Err(kind) => {
                unreadable::note();
                problem = problem.or(Some(kind));
            }
        }
    }
    match problem {
        Some(kind) if good.is_empty() => Err(kind),
        _ => Ok(good),
    }
}

fn row<T: DeserializeOwned>(raw: &RawValue) -> Result<T, SourceErrorKind> {
    read_json(raw.get().as_bytes())
}

fn malformed(path: &str, expected: &'static str, observed: &str) -> SourceErrorKind {
    SourceErrorKind::Malformed {
        path: path.to_owned(),
        expected,
        observed: crate::text::clean(observed, QUOTED_CHARS),
    }
}

/// Milliseconds since the epoch, not ahead of `now` by more than [`AHEAD`].
fn time(millis: Figure, now: Timestamp) -> Result<Timestamp, SourceErrorKind> {
    let read = token::count(millis)
        .and_then(|millis| i64::try_from(millis).ok())
        .and_then(|millis| Timestamp::from_millisecond(millis).ok());
    read.filter(|time| not_ahead(*time, now))
        .ok_or_else(|| malformed("$.time", "a past time in milliseconds", &millis.to_string()))
}

/// Whether `time` is not ahead of `now` by more than [`AHEAD`]: an observation cannot come from the
/// future.
pub(super) fn not_ahead(time: Timestamp, now: Timestamp) -> bool {
    now.checked_add(AHEAD).is_ok_and(|latest| time <= latest)
}

fn count(figure: Option<Figure>) -> Option<u64> {
    figure.and_then(token::count)
}

fn small(figure: Option<Figure>) -> Option<u8> {
    count(figure).and_then(|count| u8::try_from(count).ok())
}

/// A price above zero; any other value is `None`.
fn price(figure: Option<Figure>) -> Option<Figure> {
    token::measure(figure).filter(|price| !price.get().is_zero())
}
