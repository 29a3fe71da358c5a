//! `GET /tradfi-data`: indices, volatility, the dollar, yields and commodities. Each reading names
//! its source and its time; one that no source has is listed as unavailable.

mod futures;
mod rates;

use std::time::Duration;

use data_sources::hyperliquid_info::HyperliquidInfo;
use data_sources::{
    Meter,
    yahoo::{Quote, Yahoo},
};
use jiff::Timestamp;
use readings::macro_data::{CrossCheck, Instrument, MacroData, Observation, Reading};
use readings::rwa::MacroCore;
use readings::{Decimal, percent_change};
use route_catalog::ErrorCode;
use serde_json::{Value, json};

use self::rates::{Curve, Fill, ObservationResult, volatility, yields};
use super::fault;
use crate::answer::{Answered, Method, Part};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Tradfi;

/// The source that confirms others, and is shown only where another one confirms it.
const SECOND: &str = "yahoo.chart";
/// The difference in percent up to which two sources state the same close.
const SAME_CLOSE_PCT: Decimal = Decimal::from_parts(1, 0, 0, false, 1);
/// Yields, shortest first, with their place in the answer.
const YIELDS: [(&Instrument, &str); 4] = [
    (&Instrument::US3M, "yields.3m"),
    (&Instrument::US2Y, "yields.2y"),
    (&Instrument::US10Y, "yields.10y"),
    (&Instrument::US30Y, "yields.30y"),
];
/// Readings that only FRED has.
const SERIES: [(&Instrument, &str); 6] = [
    (&Instrument::SP500, "indices[symbol=SP500]"),
    (&Instrument::NASDAQ, "indices[symbol=NASDAQ]"),
    (&Instrument::DJIA, "indices[symbol=DJIA]"),
    (&Instrument::DOLLAR_BROAD, "dollar.broad_index"),
    (&Instrument::WTI, "commodities[symbol=WTI]"),
    (&Instrument::BRENT, "commodities[symbol=BRENT]"),
];

pub(super) async fn answer(
    context: &Context,
    tradfi: &Tradfi,
    hyperliquid: &HyperliquidInfo,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let only = match call.parameters.text("symbol") {
        Some(symbol) => Some(Instrument::find(symbol).ok_or_else(|| {
            let message = format!("{symbol:?} is not a supported symbol");
            ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "symbol_not_found")
        })?),
        None => None,
    };
    let Gathered {
        mut data,
        mut report,
    } = gather(context, tradfi, hyperliquid, only, call.max_age()).await;
    if let Some(max_age) = call.max_age() {
        leave_out_older(&mut data, &mut report, context.now(), max_age);
    }
    if data.readings().next().is_none() {
        let reason = report
            .unavailable
            .first()
            .map_or("no_reading", |missing| missing.reason.as_str());
        return Err(fault::core_missing("readings", reason));
    }
    let derived = data.dollar.derived_index.is_some();
    let places = places(&data);
    let shown = match only {
        Some(_) => only_requested(json!(data)),
        None => json!(data),
    };
    // Each series has its own calendar, so a slow one does not hide that a fast one is behind.
    let section = |(place, reading): &(Place, &Reading)| {
        Part::at(&place.name(), reading.as_of, reading.fresh_seconds)
    };
    let sections = places.iter().map(section).collect();
    let mut answered = Answered::of_parts(shown, sections).with_report(report);
    for (place, reading) in places {
        let method = match reading.method {
            "derived" => Method::Derived,
            _ => Method::Direct,
        };
        answered = answered.origin(place.path, reading.source, method);
    }
    if let (Some(ten), Some(_)) = (&data.yields.ten_years, data.yields.spread_2s10s_bp) {
        answered = answered.origin("yields/spread_2s10s_bp", ten.source, Method::Derived);
    }
    if !data.cross_checks.is_empty() {
        for (at, check) in data.cross_checks.iter().enumerate() {
            let place = format!("cross_checks/{at}");
            answered = answered.origin(place, check.source, Method::Direct);
        }
    }
    if derived {
        answered.warnings.push(crate::answer::Warning {
            code: "derived_index",
            message: "dollar.derived_index is computed from reference rates of the ECB; it is not ICE DXY".to_owned(),
        });
    }
    Ok(answered)
}

/// The place of a reading below `data`.
struct Place {
    /// The path, for example `indices/0`.
    path: String,
    /// The symbol, if the place is in a list.
    listed: Option<&'static str>,
}

impl Place {
    /// The name of the place, for example `indices[symbol=SP500]`.
    fn name(&self) -> String {
        match (self.listed, self.path.split_once('/')) {
            (Some(symbol), Some((list, _))) => format!("{list}[symbol={symbol}]"),
            _ => self.path.replace('/', "."),
        }
    }
}

/// Leaves out and names the readings that are older than the caller accepts. If all of them are,
/// the answer stays as it is, and is refused for its age.
fn leave_out_older(
    data: &mut MacroData,
    report: &mut SourceReport,
    now: Timestamp,
    max_age: Duration,
) {
    let age = |as_of: Timestamp| Duration::try_from(now.duration_since(as_of)).unwrap_or_default();
    let young = |as_of: Timestamp| age(as_of) <= max_age;
    if !data.readings().any(|reading| young(reading.as_of)) {
        return;
    }
    for (place, reading) in places(data) {
        if !young(reading.as_of) {
            report.missing(&place.name(), "older_than_max_age", reading.source);
        }
    }
    data.retain(|reading| young(reading.as_of));
    data.cross_checks.retain(|check| young(check.as_of));
    // What is left out no longer ages its source.
    for source in &mut report.sources {
        let readings = data
            .readings()
            .map(|reading| (reading.source, reading.as_of));
        let checks = data
            .cross_checks
            .iter()
            .map(|check| (check.source, check.as_of));
        let of_source = readings
            .chain(checks)
            .filter(|(of, _)| *of == source.source);
        match of_source.map(|(_, as_of)| as_of).min() {
            Some(oldest) => source.as_of = Some(oldest),
            None => source.reference = true,
        }
    }
}

/// Every reading with its place.
fn places(data: &MacroData) -> Vec<(Place, &Reading)> {
    let lists = [
        ("indices", &data.indices),
        ("commodities", &data.commodities),
        ("fx", &data.fx),
    ];
    let in_lists = lists.into_iter().flat_map(|(name, list)| {
        let readings = list.iter().enumerate();
        readings.map(move |(at, reading)| {
            let path = format!("{name}/{at}");
            let listed = Some(reading.symbol);
            (Place { path, listed }, reading)
        })
    });
    let (dollar, yields) = (&data.dollar, &data.yields);
    let single = [
        ("volatility/vix", &data.volatility.vix),
        ("dollar/derived_index", &dollar.derived_index),
        ("dollar/broad_index", &dollar.broad_index),
        ("yields/3m", &yields.three_months),
        ("yields/2y", &yields.two_years),
        ("yields/10y", &yields.ten_years),
        ("yields/30y", &yields.thirty_years),
    ];
    let single = single.into_iter().filter_map(|(path, reading)| {
        let (path, listed) = (path.to_owned(), None);
        Some((Place { path, listed }, reading.as_ref()?))
    });
    in_lists.chain(single).collect()
}

/// The readings that `/rwa-pulse` needs, their sources, and their ages.
pub(super) async fn core(
    context: &Context,
    tradfi: &Tradfi,
    max_age: Option<Duration>,
) -> (MacroCore, SourceReport, Part) {
    let mut report = SourceReport::default();
    let mut data = MacroData::default();
    tokio::join!(yields(context, tradfi, None, max_age), async {
        Some(volatility(context, tradfi, max_age).await)
    })
    .fill(context, &mut data, &mut report);
    let part = Part::of("macro", &report.sources, data.fresh_seconds());
    let core = MacroCore {
        us10y: data.yields.ten_years,
        us2y: data.yields.two_years,
        spread_2s10s_bp: data.yields.spread_2s10s_bp,
        vix: data.volatility.vix,
    };
    (core, report, part)
}

/// Readings with their sources.
struct Gathered {
    data: MacroData,
    report: SourceReport,
}

/// Reads every instrument, or only one.
async fn gather(
    context: &Context,
    tradfi: &Tradfi,
    hyperliquid: &HyperliquidInfo,
    only: Option<&'static Instrument>,
    max_age: Option<Duration>,
) -> Gathered {
    let wants = |instrument: &Instrument| only.is_none_or(|only| only == instrument);
    let curve = async {
        match YIELDS.iter().any(|(instrument, _)| wants(instrument)) {
            true => yields(context, tradfi, only, max_age).await,
            false => Curve::default(),
        }
    };
    let vix = async {
        match wants(&Instrument::VIX) {
            true => Some(volatility(context, tradfi, max_age).await),
            false => None,
        }
    };
    let rates = async {
        let fx = |instrument: &Instrument| {
            instrument.market == Instrument::EURUSD.market
                && *instrument != Instrument::DOLLAR_BROAD
        };
        match only.is_none_or(fx) {
            true => Some(tradfi.frankfurter.rates(max_age).await),
            false => None,
        }
    };
    let series = async {
        let mut asked = tokio::task::JoinSet::new();
        for (at, (instrument, place)) in SERIES
            .into_iter()
            .enumerate()
            .filter(|(_, (of, _))| wants(of))
        {
            let fred = tradfi.fred.clone();
            asked.spawn(Meter::carry(async move {
                let answer = fred.latest(instrument, max_age).await;
                (at, instrument, place, answer)
            }));
        }
        let mut answers = asked.join_all().await;
        answers.sort_by_key(|(at, ..)| *at);
        answers
    };
    let second = async {
        let mut asked = tokio::task::JoinSet::new();
        for instrument in Yahoo::instruments().filter(|instrument| wants(instrument)) {
            let yahoo = tradfi.yahoo.clone();
            asked.spawn(Meter::carry(async move {
                (instrument, yahoo.price(instrument, max_age).await)
            }));
        }
        let mut answers = asked.join_all().await;
        answers.sort_by_key(|(instrument, _)| instrument.symbol);
        answers
    };
    let futures = futures::futures(tradfi, hyperliquid, wants, max_age);
    let (curve, vix, rates, series, second, futures) =
        tokio::join!(curve, vix, rates, series, second, futures);
    let mut report = SourceReport::default();
    let mut data = MacroData::default();
    (curve, vix).fill(context, &mut data, &mut report);
    for (_, instrument, place, answer) in series {
        let reading = read(context, &mut report, place, instrument, answer);
        match place.split(['[', '.']).next() {
            Some("indices") => data.indices.extend(reading),
            Some("commodities") => data.commodities.extend(reading),
            _ => data.dollar.broad_index = reading,
        }
    }
    if let Some(rates) = rates.and_then(|rates| report.take(context, "fx", rates)) {
        for (instrument, observation) in &rates.fx {
            let place = format!("fx[symbol={}]", instrument.symbol);
            data.fx
                .extend(judge(context, &mut report, &place, instrument, observation));
        }
        let index = &Instrument::DOLLAR_DERIVED;
        data.dollar.derived_index = rates
            .dollar
            .as_ref()
            .and_then(|observation| {
                judge(
                    context,
                    &mut report,
                    "dollar.derived_index",
                    index,
                    observation,
                )
            })
            .map(Reading::derived);
    }
    for (instrument, answer) in second {
        let place = format!("cross_checks[symbol={}]", instrument.symbol);
        let Some(quote) = report.take(context, &place, answer) else {
            continue;
        };
        let Some(reading) = data.index_mut(instrument) else {
            continue;
        };
        let check = match newer(context, instrument, reading, quote) {
            Some(newest) => {
                let older = std::mem::replace(reading, newest);
                CrossCheck::new(reading, older.source, older.value.0, older.as_of)
            }
            None => CrossCheck::new(reading, SECOND, quote.price, quote.as_of),
        };
        data.cross_checks.push(check);
    }
    futures.fill(context, &mut data, &mut report);
    if let Some(only) = only {
        data = data.only(only);
    }
    Gathered { data, report }
}

/// The reading of a chart that is a session ahead of `reading`. The chart is never trusted alone:
/// its close of the session before must be the value of `reading`.
fn newer(
    context: &Context,
    instrument: &'static Instrument,
    reading: &Reading,
    quote: Quote,
) -> Option<Reading> {
    let market = instrument.market;
    let ahead = market.date_of(quote.as_of) > market.date_of(reading.as_of);
    let difference = percent_change(reading.value.0, quote.previous?)?;
    if !ahead || difference.abs() > SAME_CLOSE_PCT {
        return None;
    }
    Reading::new(instrument, &futures::of_chart(quote), context.now()).ok()
}

/// The reading of an answer. A missing one is listed by its place.
fn read(
    context: &Context,
    report: &mut SourceReport,
    place: &str,
    instrument: &'static Instrument,
    answer: ObservationResult,
) -> Option<Reading> {
    let observation = report.take(context, place, answer)?;
    judge(context, report, place, instrument, &observation)
}

fn judge(
    context: &Context,
    report: &mut SourceReport,
    place: &str,
    instrument: &'static Instrument,
    observation: &Observation,
) -> Option<Reading> {
    let reading = Reading::new(instrument, observation, context.now());
    if reading.is_err() {
        report.missing(place, "upstream_implausible", observation.source);
    }
    reading.ok()
}

/// The groups with the single requested reading.
fn only_requested(data: Value) -> Value {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    let Value::Object(groups) = data else {
        return data;
    };
    let inner = |group: Value| match group {
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .filter(|(_, member)| !empty(member))
                .collect(),
        ),
        other => other,
    };
    let groups = groups.into_iter().map(|(name, group)| (name, inner(group)));
    Value::Object(groups.filter(|(_, group)| !empty(group)).collect())
}
