//! `GET /funding-rates`: funding, open interest and long/short ratios of perpetuals, venue by
//! venue.
//!
//! The venues are read at the same time. A venue that does not answer is listed as unavailable, and
//! the others are still an answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use data_sources::{Error, Meter, Sourced};
use readings::Extent;
use readings::derivatives::{
    CoinReading, OpenInterest, Part, RankedBy, SymbolMarket, Venue, VenueReading, coin_of,
    top_by_open_interest,
};
use readings::symbol::SymbolKey;
use route_catalog::ErrorCode;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::fault;
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Derivatives;

/// For how many seconds a reading counts as fresh. Venues are read again after twenty seconds, and
/// need a moment to answer.
pub(super) const FRESH_SECONDS: u64 = 30;
/// The number of coins in an answer without a symbol.
const TOP: usize = 20;

pub(super) async fn answer(
    context: &Context,
    derivatives: &Derivatives,
    call: &Call,
    extent: Extent,
) -> Result<Answered, ErrorReply> {
    let max_age = call.max_age();
    let mut ranking = None;
    let (symbol, markets, report) = match call.parameters.text("symbol") {
        Some(text) => {
            let symbol = SymbolKey::new(text)
                .ok_or_else(|| fault::bad_parameter("symbol", "expected a symbol"))?;
            let (market, report) = for_symbol(context, derivatives, &symbol, max_age).await?;
            (Some(market.symbol.clone()), vec![market], report)
        }
        None => {
            let (markets, unranked, report) =
                overview(context, derivatives, extent, max_age).await?;
            ranking = Some(unranked);
            (None, markets, report)
        }
    };
    let core = report.core();
    let mut data = json!({ "symbol": symbol, "markets": markets });
    if let (Some(ranking), Value::Object(members)) = (ranking, &mut data) {
        members.insert("ranking".to_owned(), json!(ranking));
    }
    let mut answered = Answered::new(data, FRESH_SECONDS)
        .with_report(report)
        .origin("markets", core, Method::Direct)
        .origin("markets/*/aggregate", core, Method::Derived);
    // Each venue's reading carries its own source.
    for (at, market) in markets.iter().enumerate() {
        for (of, reading) in market.venues.iter().enumerate() {
            if let Some(funding) = &reading.funding {
                let field = format!("markets/{at}/venues/{of}/funding");
                answered = answered.origin(field, funding.source, Method::Direct);
            }
        }
    }
    // Without a symbol in the call, the answer has none.
    if symbol.is_none() {
        answered.none = &["symbol"];
    }
    Ok(answered)
}

/// Reads one coin at every venue.
///
/// # Errors
///
/// 404 `symbol_not_found` when every venue answered and none lists the coin; 503 when no venue that
/// may list it answered.
pub(super) async fn for_symbol(
    context: &Context,
    derivatives: &Derivatives,
    symbol: &SymbolKey,
    max_age: Option<Duration>,
) -> Result<(SymbolMarket, SourceReport), ErrorReply> {
    let coin = coin_of(symbol).ok_or_else(|| unknown(symbol.as_str()))?;
    let (hyperliquid, binance, okx, bybit) = tokio::join!(
        derivatives.hyperliquid.reading(&coin, max_age),
        derivatives.binance.reading(&coin, max_age),
        derivatives.okx_futures.reading(&coin, max_age),
        derivatives.bybit.reading(&coin, max_age),
    );
    let answers = [
        (Venue::Hyperliquid, hyperliquid),
        (Venue::Binance, binance),
        (Venue::Okx, okx),
        (Venue::Bybit, bybit),
    ];
    let mut gathered = Gathered::default();
    for (venue, answer) in answers {
        if let Some(reading) = gathered.venue(context, venue, answer) {
            gathered
                .readings
                .entry(coin.clone())
                .or_default()
                .push(reading);
        }
    }
    gathered
        .predict(context, derivatives, Some(&coin), max_age)
        .await;
    let Gathered {
        mut readings,
        mut report,
        down,
    } = gathered;
    let Some(venues) = readings.remove(&coin) else {
        return Err(if down.is_empty() {
            unknown(&coin)
        } else {
            none_answered(&down)
        });
    };
    let market = SymbolMarket::new(coin, venues);
    list_missing(&market, &mut report);
    Ok((market, report))
}

/// The coins with the highest open interest over all venues, or every coin that can be ranked.
async fn overview(
    context: &Context,
    derivatives: &Derivatives,
    extent: Extent,
    max_age: Option<Duration>,
) -> Result<(Vec<SymbolMarket>, RankedBy, SourceReport), ErrorReply> {
    let (hyperliquid, binance, okx, bybit) = tokio::join!(
        derivatives.hyperliquid.all(max_age),
        derivatives.binance.all(max_age),
        derivatives.okx_futures.all(max_age),
        derivatives.bybit.all(max_age),
    );
    let owned = |shared: Sourced<Arc<Vec<CoinReading>>>| shared.map(|rows| rows.as_ref().clone());
    let answers = [
        (Venue::Hyperliquid, hyperliquid),
        (Venue::Binance, binance.map(owned)),
        (Venue::Okx, okx.map(owned)),
        (Venue::Bybit, bybit.map(owned)),
    ];
    let mut gathered = Gathered::default();
    for (venue, answer) in answers {
        for (coin, reading) in gathered.venue(context, venue, answer).unwrap_or_default() {
            gathered.readings.entry(coin).or_default().push(reading);
        }
    }
    gathered.predict(context, derivatives, None, max_age).await;
    let Gathered {
        readings,
        mut report,
        down,
    } = gathered;
    // A rate that another venue expects is not a market of its own.
    let market = |(coin, venues): (String, Vec<VenueReading>)| SymbolMarket::new(coin, venues);
    let any = !readings.is_empty();
    let all: Vec<SymbolMarket> = readings.into_iter().map(market).collect();
    let ranked_by = RankedBy::over(&all);
    let markets: Vec<_> = all
        .into_iter()
        .filter(|market| market.aggregate.oi_usd.is_some())
        .collect();
    let known = markets.len();
    let most = extent.most(TOP);
    let top = top_by_open_interest(markets, most);
    if top.is_empty() {
        return Err(match any {
            true => unranked(&down),
            false => none_answered(&down),
        });
    }
    let top = with_binance_interest(context, derivatives, top, &mut report, max_age).await;
    let top = top_by_open_interest(top, most);
    report.cut("markets", top.len(), known);
    let unranked = &ranked_by.unranked;
    report.cut("ranking.unranked", unranked.len(), ranked_by.unranked_total);
    report.missing("markets[].venues[].long_short", "only_with_symbol", "");
    for market in &top {
        list_missing(market, &mut report);
    }
    Ok((top, ranked_by, report))
}

/// Adds Binance's open interest for the largest coins, because Binance states it contract by
/// contract.
async fn with_binance_interest(
    context: &Context,
    derivatives: &Derivatives,
    markets: Vec<SymbolMarket>,
    report: &mut SourceReport,
    max_age: Option<Duration>,
) -> Vec<SymbolMarket> {
    let mut asked = JoinSet::new();
    if markets.len() > TOP {
        let reason = "asked_of_the_largest_coins_only";
        let place = "markets[].venues[].open_interest";
        list_once(report, place, reason, "binance.open-interest");
    }
    for market in markets.iter().take(TOP) {
        if market
            .venues
            .iter()
            .any(|reading| reading.venue == Venue::Binance && reading.mark_px.is_some())
        {
            let (binance, coin) = (derivatives.binance.clone(), market.symbol.clone());
            asked.spawn(Meter::carry(async move {
                let interest = binance.open_interest(&coin, max_age).await;
                (coin, interest)
            }));
        }
    }
    let mut found = BTreeMap::new();
    while let Some(joined) = asked.join_next().await {
        match joined {
            Ok((coin, Ok(interest))) => {
                if let Some(base) = report.accept(interest) {
                    found.insert(coin, base);
                }
            }
            Ok((_, Err(error))) => {
                report.failed(context, &error);
                let source = error.source_id().unwrap_or_default();
                list_once(
                    report,
                    "markets[].venues[].open_interest",
                    &error.reason(),
                    source,
                );
            }
            Err(_) => {}
        }
    }
    let filled = |market: SymbolMarket| {
        let interest = found.get(&market.symbol);
        let mut venues = market.venues;
        for reading in &mut venues {
            if reading.venue == Venue::Binance {
                let mark = reading.mark_px.map(|mark| mark.0);
                reading.open_interest =
                    interest.and_then(|base| OpenInterest::from_base(base.0, mark));
            }
        }
        SymbolMarket::new(market.symbol, venues)
    };
    markets.into_iter().map(filled).collect()
}

/// The readings of venues while they arrive.
#[derive(Default)]
struct Gathered {
    readings: BTreeMap<String, Vec<VenueReading>>,
    report: SourceReport,
    /// The venues that did not answer, with the errors.
    down: Vec<(Venue, Error)>,
}

impl Gathered {
    /// Takes the answer of `venue`. A coin that the venue does not list is not missing. A venue
    /// that does not answer is listed as unavailable, under its own name.
    fn venue<T>(
        &mut self,
        context: &Context,
        venue: Venue,
        answer: Result<Sourced<T>, Error>,
    ) -> Option<T> {
        match answer {
            Ok(sourced) => Some(self.report.accept(sourced)),
            Err(Error::NotFound { .. }) => None,
            Err(error) => {
                let source = error.source_id().unwrap_or_default();
                self.report.failed(context, &error);
                self.report
                    .missing(&format!("markets[].venues.{venue}"), error.reason(), source);
                self.down.push((venue, error));
                None
            }
        }
    }

    /// Adds the rates that Hyperliquid expects at venues that did not answer: of `coin`, or of
    /// every coin that another venue lists.
    async fn predict(
        &mut self,
        context: &Context,
        derivatives: &Derivatives,
        coin: Option<&str>,
        max_age: Option<Duration>,
    ) {
        let failures = |venue: Venue| {
            matches!(venue, Venue::Binance | Venue::Bybit)
                && self.down.iter().any(|(down, _)| *down == venue)
        };
        if !failures(Venue::Binance) && !failures(Venue::Bybit) {
            return;
        }
        let failures: Vec<_> = [Venue::Binance, Venue::Bybit]
            .into_iter()
            .filter(|venue| failures(*venue))
            .collect();
        let predicted = match derivatives.hyperliquid.predicted(max_age).await {
            Ok(predicted) => self.report.accept(predicted),
            Err(error) => return self.report.failed(context, &error),
        };
        for prediction in predicted
            .iter()
            .filter(|prediction| failures.contains(&prediction.venue))
        {
            let wanted = coin.map_or_else(
                || self.readings.contains_key(&prediction.coin),
                |coin| coin == prediction.coin,
            );
            if !wanted {
                continue;
            }
            let contract = readings::derivatives::contract_for(prediction.venue, &prediction.coin);
            let mut reading = VenueReading::empty(prediction.venue, &contract.name);
            reading.funding = Some(prediction.funding.clone());
            for part in [Part::OpenInterest, Part::LongShort, Part::MarkPx] {
                reading.lacks(part, "venue_did_not_answer", prediction.funding.source);
            }
            self.readings
                .entry(prediction.coin.clone())
                .or_default()
                .push(reading);
        }
    }
}

/// Lists the fields that the venues did not provide, each once.
fn list_missing(market: &SymbolMarket, report: &mut SourceReport) {
    for missing in market.venues.iter().flat_map(|reading| &reading.missing) {
        let field = format!("markets[].venues[].{}", missing.part.as_str());
        list_once(report, &field, &missing.reason, missing.source);
    }
    if market.spread_bps.is_none() {
        list_once(report, "markets[].spread_bps", "needs_two_venues", "");
    }
    if !market.conflicting.is_empty() {
        list_once(
            report,
            "markets[].aggregate",
            "conflicting_venues_left_out",
            "",
        );
    }
}

fn list_once(report: &mut SourceReport, field: &str, reason: &str, source: &'static str) {
    let full = format!("data.{field}");
    let known = |list_once: &crate::answer::Unavailable| {
        list_once.field == full && list_once.reason == reason && list_once.source == source
    };
    if !report.unavailable.iter().any(known) {
        report.missing(field, reason, source);
    }
}

fn unknown(symbol: &str) -> ErrorReply {
    let message = format!("no venue lists {symbol}");
    ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "symbol_not_found")
}

/// The error when only Binance answered, which states open interest contract by contract.
fn unranked(down: &[(Venue, Error)]) -> ErrorReply {
    let message = "no venue that states open interest of every coin answered; name a symbol";
    ErrorReply::new(ErrorCode::UpstreamUnavailable, message)
        .detail("reason", "no_open_interest")
        .detail("venues", failures(down))
}

fn none_answered(down: &[(Venue, Error)]) -> ErrorReply {
    ErrorReply::new(ErrorCode::UpstreamUnavailable, "no venue answered")
        .detail("reason", "no_venue_answered")
        .detail("venues", failures(down))
}

fn failures(down: &[(Venue, Error)]) -> Vec<Value> {
    let venue = |(venue, error): &(Venue, Error)| json!({ "venue": venue.as_str(), "reason": error.reason() });
    down.iter().map(venue).collect()
}
