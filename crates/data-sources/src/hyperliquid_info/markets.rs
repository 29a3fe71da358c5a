//! Dexes, markets, books and candles.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use readings::{
    Decimal, Figure,
    derivatives::{Book, Candle, Funding, FundingInterval, Level, PerpContext, Venue, coin_of_contract},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    BOOK, CANDLES, CATEGORIES, DEXS, HyperliquidInfo, LIGHT, MARKETS, PREDICTED, USUAL, plain_name,
};
use crate::{
    binance::exchange::{Millis, malformed},
    error::{Error, SourceErrorKind},
    provenance::Sourced,
};

/// How many candles are asked for.
const CANDLE_COUNT: i64 = 100;

/// The funding that the venue expects another venue, or itself, to pay next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// The coin.
    pub coin: String,
    /// Who pays.
    pub venue: Venue,
    /// The rate.
    pub funding: Funding,
}

impl HyperliquidInfo {
    /// The names of the dexes that others deployed, in the venue's order.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn dexs(&self, max_age: Option<Duration>) -> Result<Sourced<Arc<Vec<String>>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let body = json!({"type": "perpDexs"});
            let list = this.present::<Vec<Option<Dex>>>(DEXS, &body, USUAL).await?;
            // The first one has no entry: it is the venue's own.
            let named = list.value.iter().flatten().map(|dex| dex.name.clone());
            let names = named.filter(|name| plain_name(name)).collect();
            let sources = list.sources;
            Ok(Sourced { value: Arc::new(names), sources })
        };
        self.dexs.get((), max_age, fetch).await
    }

    /// What kind of asset the venue says each deployed market is: pairs of coin and category.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn categories(
        &self,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<(String, String)>>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let body = json!({"type": "perpCategories"});
            let list = this.present::<Vec<(String, String)>>(CATEGORIES, &body, USUAL).await?;
            Ok(list.map(Arc::new))
        };
        self.categories.get((), max_age, fetch).await
    }

    /// Every market of `dex`, delisted ones included; the empty name is the venue's own.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] for an unknown dex, or a [`SourceError`](crate::SourceError).
    pub async fn markets(
        &self,
        dex: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<PerpContext>>>, Error> {
        self.known_dex(dex).await?;
        let (this, of) = (self.clone(), dex.to_owned());
        let fetch = move || async move { this.contexts(&of).await };
        self.markets.get(dex.to_owned(), max_age, fetch).await
    }

    /// [`Self::markets`] for overviews over many dexes, kept longer.
    ///
    /// # Errors
    ///
    /// As of [`Self::markets`].
    pub async fn overview(
        &self,
        dex: &str,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<PerpContext>>>, Error> {
        let (this, of) = (self.clone(), dex.to_owned());
        let fetch = move || async move { this.contexts(&of).await };
        self.overviews.get(dex.to_owned(), max_age, fetch).await
    }

    /// The order book of `coin`.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] when the venue knows none, or a [`SourceError`](crate::SourceError).
    pub async fn book(&self, coin: &str, max_age: Option<Duration>) -> Result<Sourced<Book>, Error> {
        let (this, of) = (self.clone(), coin.to_owned());
        let fetch = move || async move {
            let body = json!({"type": "l2Book", "coin": of});
            let answer = this.info::<RawBook>(BOOK, &body, LIGHT).await?;
            let raw = answer.value.ok_or_else(|| unknown_coin(&of))?;
            let spoiled = |kind| this.source.spoiled(BOOK, kind);
            let time = raw.time.past(this.source.now(), "$.time").map_err(spoiled)?;
            let book = raw.checked(&of, time).map_err(spoiled)?;
            let sources = answer.sources;
            Ok(Sourced { value: book, sources }.as_of(Some(time)))
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

    /// What each venue is expected to pay next, of the venue's own dex.
    ///
    /// # Errors
    ///
    /// A [`SourceError`](crate::SourceError).
    pub async fn predicted(
        &self,
        max_age: Option<Duration>,
    ) -> Result<Sourced<Arc<Vec<Predicted>>>, Error> {
        let this = self.clone();
        let fetch = move || async move {
            let body = json!({"type": "predictedFundings"});
            let list = this.present::<Vec<RawPredicted>>(PREDICTED, &body, USUAL).await?;
            Ok(list.map(|list| Arc::new(list.iter().flat_map(predictions).collect())))
        };
        self.predicted.get((), max_age, fetch).await
    }

    /// Refuses a dex that the venue does not list, without asking for it. When the list cannot be
    /// had, the venue decides.
    pub(super) async fn known_dex(&self, dex: &str) -> Result<(), Error> {
        if dex.is_empty() {
            return Ok(());
        }
        if !plain_name(dex) {
            return Err(unknown_dex(dex));
        }
        match self.dexs(None).await {
            Ok(dexs) if !dexs.value.iter().any(|known| known == dex) => Err(unknown_dex(dex)),
            _ => Ok(()),
        }
    }

    async fn contexts(&self, dex: &str) -> Result<Sourced<Arc<Vec<PerpContext>>>, Error> {
        let mut body = json!({"type": "metaAndAssetCtxs"});
        if !dex.is_empty() {
            body["dex"] = Value::from(dex);
        }
        let answer = self.info::<(Meta, Vec<Option<Context>>)>(MARKETS, &body, USUAL).await?;
        let (meta, contexts) = answer.value.ok_or_else(|| unknown_dex(dex))?;
        let zipped = zip(meta, contexts, dex).map_err(|kind| self.source.spoiled(MARKETS, kind))?;
        let sources = answer.sources;
        Ok(Sourced { value: Arc::new(zipped), sources })
    }

    async fn fetch_candles(&self, coin: &str, interval: &str) -> Result<Sourced<Arc<Vec<Candle>>>, Error> {
        let now = self.source.now();
        let span = step(interval).and_then(|step| step.checked_mul(i32::try_from(CANDLE_COUNT).ok()?));
        let start = span
            .and_then(|span| now.checked_sub(span).ok())
            .ok_or_else(|| malformed("$", "a known interval", interval))
            .map_err(|kind| self.source.spoiled(CANDLES, kind))?;
        let request = json!({
            "coin": coin,
            "interval": interval,
            "startTime": start.as_millisecond(),
            "endTime": now.as_millisecond(),
        });
        let body = json!({"type": "candleSnapshot", "req": request});
        let answer = self.info::<Vec<RawCandle>>(CANDLES, &body, USUAL + LIGHT).await?;
        let raw = answer.value.ok_or_else(|| unknown_coin(coin))?;
        let spoiled = |kind| self.source.spoiled(CANDLES, kind);
        let mut candles = Vec::with_capacity(raw.len());
        for candle in raw {
            candles.push(candle.checked(coin, interval, now).map_err(spoiled)?);
        }
        candles.sort_by_key(|candle| candle.open_time);
        candles.dedup_by_key(|candle| candle.open_time);
        // The running candle is as new as the call; a finished one as its end.
        let as_of = candles.last().map(|candle| candle.close_time.min(now));
        let sources = answer.sources;
        Ok(Sourced { value: Arc::new(candles), sources }.as_of(as_of))
    }
}

/// An interval of candles, in the venue's words.
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

fn unknown_dex(dex: &str) -> Error {
    Error::NotFound {
        reason: "dex_not_found",
        message: format!("there is no dex {:?}", crate::text::clean(dex, 32)),
    }
}

fn unknown_coin(coin: &str) -> Error {
    Error::NotFound {
        reason: "coin_not_found",
        message: format!("there is no market {:?}", crate::text::clean(coin, 32)),
    }
}

/// Contexts by position. A market with a name that cannot be asked for is left out of the result, not
/// of the positions.
fn zip(
    meta: Meta,
    contexts: Vec<Option<Context>>,
    dex: &str,
) -> Result<Vec<PerpContext>, SourceErrorKind> {
    if meta.universe.len() != contexts.len() {
        let observed = format!("{} for {}", contexts.len(), meta.universe.len());
        return Err(malformed("$[1]", "one context for each asset", observed));
    }
    let mut names = BTreeSet::new();
    let mut markets = Vec::with_capacity(contexts.len());
    for (asset, context) in meta.universe.into_iter().zip(contexts) {
        if !names.insert(asset.name.clone()) {
            return Err(malformed("$[0].universe", "each name once", asset.name));
        }
        let prefix = asset.name.split_once(':').map_or("", |(prefix, _)| prefix);
        if prefix != dex {
            return Err(malformed("$[0].universe", "assets of the dex that was asked for", asset.name));
        }
        if !plain_name(&asset.name) {
            continue;
        }
        let context = context.unwrap_or_default();
        let positive = |figure: Option<Figure>| figure.map(Figure::get).filter(|price| *price > Decimal::ZERO);
        let counted = |figure: Option<Figure>| figure.map(Figure::get).filter(|count| *count >= Decimal::ZERO);
        markets.push(PerpContext {
            coin: asset.name,
            dex: dex.to_owned(),
            max_leverage: asset.max_leverage,
            delisted: asset.is_delisted,
            mark: positive(context.mark_px),
            mid: positive(context.mid_px),
            oracle: positive(context.oracle_px),
            previous_day: positive(context.prev_day_px),
            funding: context.funding.map(Figure::get),
            open_interest: counted(context.open_interest),
            volume_24h: counted(context.day_ntl_vlm),
        });
    }
    Ok(markets)
}

/// What can be compared: rates of a known interval. Hyperliquid's own is an hour when it is not named;
/// of another venue an unnamed one is unknown.
fn predictions(row: &RawPredicted) -> Vec<Predicted> {
    let of = |(name, prediction): &(String, Option<Prediction>)| {
        let venue = match name.as_str() {
            "BinPerp" => Venue::Binance,
            "BybitPerp" => Venue::Bybit,
            "HlPerp" => Venue::Hyperliquid,
            _ => return None,
        };
        let prediction = prediction.as_ref()?;
        let interval = match (prediction.funding_interval_hours, venue) {
            (Some(hours), _) => FundingInterval::hours(hours)?,
            (None, Venue::Hyperliquid) => FundingInterval::HOUR,
            (None, _) => return None,
        };
        let (coin, _) = coin_of_contract(Venue::Hyperliquid, &row.0)?;
        let next_at = prediction.next_funding_time.0;
        let funding = Funding::new(prediction.funding_rate.0, interval, next_at, PREDICTED).ok()?;
        Some(Predicted { coin, venue, funding })
    };
    row.1.iter().filter_map(of).collect()
}

#[derive(Deserialize)]
struct Dex {
    name: String,
}

#[derive(Deserialize)]
struct Meta {
    universe: Vec<Asset>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asset {
    name: String,
    max_leverage: u32,
    #[serde(default)]
    is_delisted: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    #[serde(default, deserialize_with = "Figure::or_none")]
    funding: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    open_interest: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    mark_px: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    mid_px: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::or_none")]
    oracle_px: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    prev_day_px: Option<Figure>,
    #[serde(default, deserialize_with = "Figure::lenient")]
    day_ntl_vlm: Option<Figure>,
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
            return Err(malformed("$.coin", "the coin that was asked for", self.coin));
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
    fn checked(self, coin: &str, interval: &str, now: Timestamp) -> Result<Candle, SourceErrorKind> {
        if self.s != coin || self.i != interval {
            let observed = format!("{} {}", self.s, self.i);
            return Err(malformed("$[].s", "the coin and interval that were asked for", observed));
        }
        let open_time = self.t.past(now, "$[].t")?;
        let close_time = self.end.0.ok_or_else(|| malformed("$[].T", "a time", "none"))?;
        let candle = Candle {
            open_time,
            close_time,
            open: self.o,
            high: self.h,
            low: self.l,
            close: self.c,
            volume_base: self.v,
            trades: self.n,
        };
        candle.checked().map_err(|impossible| malformed("$[]", "a candle", impossible))
    }
}

#[derive(Deserialize)]
struct RawPredicted(String, Vec<(String, Option<Prediction>)>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prediction {
    funding_rate: Figure,
    next_funding_time: Millis,
    #[serde(default)]
    funding_interval_hours: Option<u64>,
}
