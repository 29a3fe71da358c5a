//! Books and candles of one market. An answer about another coin, or out of order, is refused.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use readings::{
    Figure,
    derivatives::{Book, Candle, Level},
};
use serde::Deserialize;
use serde_json::json;

use super::{BOOK, CANDLES, HyperliquidInfo};
use crate::{
    error::{Error, SourceErrorKind},
    hyperliquid::info::{self, LIGHT},
    provenance::Sourced,
    wire::{Millis, malformed},
};

/// How many candles are asked for.
const CANDLE_COUNT: i32 = 100;

impl HyperliquidInfo {
    /// The order book of `coin`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when the venue has no such coin, or a
    /// [`SourceError`](crate::SourceError).
    pub async fn book(
        &self,
        coin: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Book>, Error> {
        let (this, of) = (self.clone(), coin.to_owned());
        let fetch = move || async move {
            let body = json!({"type": "l2Book", "coin": of});
            let answer = this.info::<RawBook>(BOOK, &body, LIGHT).await?;
            let raw = answer.value.ok_or_else(|| unknown_coin(&of))?;
            let reject_response = |kind| this.source.reject_response(BOOK, kind);
            let time = raw
                .time
                .past(this.source.now(), "$.time")
                .map_err(reject_response)?;
            let book = raw.checked(&of, time).map_err(reject_response)?;
            let sources = answer.sources;
            Ok(Sourced {
                value: book,
                sources,
            }
            .as_of(Some(time)))
        };
        self.books.get(coin.to_owned(), max_age, fetch).await
    }

    /// The last hundred candles of `coin`, oldest first; `interval` in the venue's words.
    ///
    /// # Errors
    ///
    /// As of [`Self::book`].
    pub async fn candles(
        &self,
        coin: &str,
        interval: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<Candle>>>, Error> {
        let (this, of, step) = (self.clone(), coin.to_owned(), interval.to_owned());
        let fetch = move || async move { this.fetch_candles(&of, &step).await };
        self.candles
            .get((coin.to_owned(), interval.to_owned()), max_age, fetch)
            .await
    }

    async fn fetch_candles(
        &self,
        coin: &str,
        interval: &str,
    ) -> Result<Sourced<Arc<Vec<Candle>>>, Error> {
        let now = self.source.now();
        let span = step(interval).and_then(|step| step.checked_mul(CANDLE_COUNT));
        let start = span
            .and_then(|span| now.checked_sub(span).ok())
            .ok_or_else(|| malformed("$", "a known interval", interval))
            .map_err(|kind| self.source.reject_response(CANDLES, kind))?;
        let request = json!({
            "coin": coin,
            "interval": interval,
            "startTime": start.as_millisecond(),
            "endTime": now.as_millisecond(),
        });
        let body = json!({"type": "candleSnapshot", "req": request});
        let answer = self
            .info::<Vec<RawCandle>>(CANDLES, &body, info::CANDLES)
            .await?;
        let raw = answer.value.ok_or_else(|| unknown_coin(coin))?;
        let reject_response = |kind| self.source.reject_response(CANDLES, kind);
        let mut candles = Vec::with_capacity(raw.len());
        for candle in raw {
            candles.push(
                candle
                    .checked(coin, interval, now)
                    .map_err(reject_response)?,
            );
        }
        candles.sort_by_key(|candle| candle.open_time);
        candles.dedup_by_key(|candle| candle.open_time);
        // The running candle is as new as the call; a finished candle is as old as its end.
        let as_of = candles.last().map(|candle| candle.close_time.min(now));
        let sources = answer.sources;
        Ok(Sourced {
            value: Arc::new(candles),
            sources,
        }
        .as_of(as_of))
    }
}

/// The length of a candle's interval, from the venue's word.
fn step(interval: &str) -> Option<SignedDuration> {
    let (count, unit) = interval.split_at_checked(interval.len().checked_sub(1)?)?;
    let count: i64 = count.parse().ok()?;
    let minutes = match unit {
        "m" => 1,
        "h" => 60,
        "d" => 24 * 60,
        "w" => 7 * 24 * 60,
        "M" => 31 * 24 * 60,
        _ => return None,
    };
    Some(SignedDuration::from_mins(count.checked_mul(minutes)?))
}

fn unknown_coin(coin: &str) -> Error {
    Error::NotFound {
        reason: "coin_not_found",
        message: format!("there is no market {:?}", crate::text::clean(coin, 32)),
    }
}

#[derive(Deserialize)]
struct RawBook {
    coin: String,
    time: Millis,
    levels: (Vec<RawLevel>, Vec<RawLevel>),
}

#[derive(Deserialize)]
struct RawLevel {
    px: Figure,
    sz: Figure,
    n: u32,
}

impl RawBook {
    fn checked(self, coin: &str, time: Timestamp) -> Result<Book, SourceErrorKind> {
        if self.coin != coin {
            return Err(malformed(
                "$.coin",
                "the coin that was asked for",
                self.coin,
            ));
        }
        let level = |raw: RawLevel| Level {
            px: raw.px,
            size: raw.sz,
            orders: raw.n,
        };
        let bids = self.levels.0.into_iter().map(level).collect();
        let asks = self.levels.1.into_iter().map(level).collect();
        Book::new(time, bids, asks).map_err(|crossed| malformed("$.levels", "a book", crossed))
    }
}

#[derive(Deserialize)]
struct RawCandle {
    t: Millis,
    #[serde(rename = "T")]
    end: Millis,
    s: String,
    i: String,
    o: Figure,
    h: Figure,
    l: Figure,
    c: Figure,
    v: Figure,
    n: u64,
}

impl RawCandle {
    fn checked(
        self,
        coin: &str,
        interval: &str,
        now: Timestamp,
    ) -> Result<Candle, SourceErrorKind> {
        if self.s != coin || self.i != interval {
            let observed = format!("{} {}", self.s, self.i);
            return Err(malformed(
                "$[].s",
                "the coin and interval that were asked for",
                observed,
            ));
        }
        let open_time = self.t.past(now, "$[].t")?;
        let close_time = self
            .end
            .0
            .ok_or_else(|| malformed("$[].T", "a time", "none"))?;
        let candle = Candle {
            open_time,
            close_time,
            open: self.o,
            high: self.h,
            low: self.l,
            close: self.c,
            volume_base: self.v,
            trades: self.n,
            running: close_time >= now,
        };
        candle
            .checked()
            .map_err(|impossible| malformed("$[]", "a candle", impossible))
    }
}
