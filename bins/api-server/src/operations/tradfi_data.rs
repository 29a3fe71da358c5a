//! `GET /tradfi-data`.

use data_sources::{Error, Sourced, yahoo::Yahoo};
use readings::macro_data::{CrossCheck, Instrument, MacroData, Observation, Reading, spread_bp};
use readings::rwa::MacroCore;
use route_catalog::ErrorCode;
use serde_json::{Value, json};

use super::legs::Legs;
use super::{Call, fault};
use crate::Sources;
use crate::answer::{Answered, Method};
use crate::reply::ErrorReply;

/// The source that checks and never stands alone.
const SECOND: &str = "yahoo.chart";
/// Yields, shortest first, with their place in the answer.
const YIELDS: [(&Instrument, &str); 4] = [
    (&Instrument::US3M, "yields.3m"),
    (&Instrument::US2Y, "yields.2y"),
    (&Instrument::US10Y, "yields.10y"),
    (&Instrument::US30Y, "yields.30y"),
];
/// What FRED alone has.
const SERIES: [(&Instrument, &str); 6] = [
    (&Instrument::SP500, "indices[symbol=SP500]"),
    (&Instrument::NASDAQ, "indices[symbol=NASDAQ]"),
    (&Instrument::DJIA, "indices[symbol=DJIA]"),
    (&Instrument::DOLLAR_BROAD, "dollar.broad_index"),
    (&Instrument::WTI, "commodities[symbol=WTI]"),
    (&Instrument::BRENT, "commodities[symbol=BRENT]"),
];

pub(super) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let only = match call.parameters.text("symbol") {
        Some(symbol) => Some(Instrument::find(symbol).ok_or_else(|| {
            let message = format!("{symbol:?} is none of the symbols that are read");
            ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "symbol_not_found")
        })?),
        None => None,
    };
    let Gathered { data, legs } = gather(sources, only).await;
    if data.readings().next().is_none() {
        let reason = legs
            .unavailable
            .first()
            .map_or("no_reading", |gap| gap.reason.as_str());
        return Err(fault::core_missing("readings", reason));
    }
    let fresh_seconds = data.fresh_seconds();
    let derived = data.dollar.derived_index.is_some();
    let core = legs.sources.first().map_or("", |source| source.source);
    let shown = match only {
        Some(_) => without_gaps(json!(data)),
        None => json!(data),
    };
    let mut answered = Answered::new(shown, fresh_seconds).with_legs(legs).origin(
        "yields/spread_2s10s_bp",
        core,
        Method::Derived,
    );
    for reading in data.readings() {
        let method = if reading.method == "derived" {
            Method::Derived
        } else {
            Method::Direct
        };
        answered = answered.origin(reading.symbol, reading.source, method);
    }
    if derived {
        answered.warnings.push(crate::answer::Warning {
            code: "derived_index",
            message: "dollar.derived_index is computed from reference rates of the ECB; it is not ICE DXY".to_owned(),
        });
    }
    Ok(answered)
}

/// The readings that `/rwa-pulse` does not do without, the sources of them, and for how many seconds
/// they count as fresh.
pub(super) async fn core(sources: &Sources) -> (MacroCore, Legs, u64) {
    let mut legs = Legs::default();
    let mut data = MacroData::default();
    tokio::join!(yields(sources, None), volatility(sources)).fill(sources, &mut data, &mut legs);
    let fresh_seconds = data.fresh_seconds();
    let core = MacroCore {
        us10y: data.yields.ten_years,
        us2y: data.yields.two_years,
        spread_2s10s_bp: data.yields.spread_2s10s_bp,
        vix: data.volatility.vix,
    };
    (core, legs, fresh_seconds)
}

/// Readings with their sources.
struct Gathered {
    data: MacroData,
    legs: Legs,
}

/// Every reading, or one.
async fn gather(sources: &Sources, only: Option<&'static Instrument>) -> Gathered {
    let wants = |instrument: &Instrument| only.is_none_or(|only| only == instrument);
    let curve = async {
        match YIELDS.iter().any(|(instrument, _)| wants(instrument)) {
            true => yields(sources, only).await,
            false => Curve::default(),
        }
    };
    let vix = async {
        match wants(&Instrument::VIX) {
            true => volatility(sources).await,
            false => Vec::new(),
        }
    };
    let rates = async {
        let fx = |instrument: &Instrument| {
            instrument.market == Instrument::EURUSD.market
                && *instrument != Instrument::DOLLAR_BROAD
        };
        match only.is_none_or(fx) {
            true => Some(sources.frankfurter.rates().await),
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
            let fred = sources.fred.clone();
            asked.spawn(async move { (at, instrument, place, fred.latest(instrument).await) });
        }
        let mut answers = asked.join_all().await;
        answers.sort_by_key(|(at, ..)| *at);
        answers
    };
    let second = async {
        let mut asked = tokio::task::JoinSet::new();
        for instrument in Yahoo::instruments().filter(|instrument| wants(instrument)) {
            let yahoo = sources.yahoo.clone();
            asked.spawn(async move { (instrument, yahoo.price(instrument).await) });
        }
        let mut answers = asked.join_all().await;
        answers.sort_by_key(|(instrument, _)| instrument.symbol);
        answers
    };
    let (curve, vix, rates, series, second) = tokio::join!(curve, vix, rates, series, second);
    let mut legs = Legs::default();
    let mut data = MacroData::default();
    (curve, vix).fill(sources, &mut data, &mut legs);
    for (_, instrument, place, answer) in series {
        let reading = read(sources, &mut legs, place, instrument, answer);
        match place.split(['[', '.']).next() {
            Some("indices") => data.indices.extend(reading),
            Some("commodities") => data.commodities.extend(reading),
            _ => data.dollar.broad_index = reading,
        }
    }
    if let Some(rates) = rates.and_then(|rates| legs.take(sources, "fx", rates)) {
        for (instrument, observation) in &rates.fx {
            let place = format!("fx[symbol={}]", instrument.symbol);
            data.fx
                .extend(judge(sources, &mut legs, &place, instrument, observation));
        }
        let index = &Instrument::DOLLAR_DERIVED;
        data.dollar.derived_index = rates
            .dollar
            .as_ref()
            .and_then(|observation| {
                judge(
                    sources,
                    &mut legs,
                    "dollar.derived_index",
                    index,
                    observation,
                )
            })
            .map(Reading::derived);
    }
    for (instrument, answer) in second {
        let place = format!("cross_checks[symbol={}]", instrument.symbol);
        let (Some((value, as_of)), Some(reading)) =
            (legs.take(sources, &place, answer), data.find(instrument))
        else {
            continue;
        };
        data.cross_checks
            .push(CrossCheck::new(reading, SECOND, value, as_of));
    }
    if let Some(only) = only {
        data = data.only(only);
    }
    Gathered { data, legs }
}

/// What a source told, or why it did not.
type Told = Result<Sourced<Observation>, Error>;

/// The yields, each with its place, and the failure of the source that was asked first.
#[derive(Default)]
struct Curve {
    points: Vec<(&'static Instrument, &'static str, Told)>,
    failed: Option<Error>,
}

/// The Treasury's curve; what it does not have is read from FRED.
async fn yields(sources: &Sources, only: Option<&'static Instrument>) -> Curve {
    let mut curve = Curve::default();
    let answer = sources.treasury.curve().await;
    let (points, from) = match answer {
        Ok(answer) => (answer.value.points.clone(), answer.sources),
        Err(error) => {
            curve.failed = Some(error);
            (Vec::new(), Vec::new())
        }
    };
    for (instrument, place) in YIELDS {
        let point = points.iter().find(|(of, _)| *of == instrument);
        let answer = match point {
            Some((_, observation)) => Ok(Sourced {
                value: observation.clone(),
                sources: from.clone(),
            }),
            None if only.is_none_or(|only| only == instrument) => {
                sources.fred.latest(instrument).await
            }
            None => continue,
        };
        curve.points.push((instrument, place, answer));
    }
    curve
}

/// VIX from the exchange, otherwise from FRED: every answer, the good one last.
async fn volatility(sources: &Sources) -> Vec<Told> {
    match sources.cboe.vix().await {
        Ok(vix) => vec![Ok(vix)],
        Err(error) => vec![Err(error), sources.fred.latest(&Instrument::VIX).await],
    }
}

/// Puts curve and volatility where they belong.
trait Fill {
    fn fill(self, sources: &Sources, data: &mut MacroData, legs: &mut Legs);
}

impl Fill for (Curve, Vec<Told>) {
    fn fill(self, sources: &Sources, data: &mut MacroData, legs: &mut Legs) {
        let (curve, mut vix) = self;
        if let Some(error) = &curve.failed {
            legs.failed(sources, error);
        }
        for (instrument, place, answer) in curve.points {
            let reading = read(sources, legs, place, instrument, answer);
            let yields = &mut data.yields;
            *match place {
                "yields.3m" => &mut yields.three_months,
                "yields.2y" => &mut yields.two_years,
                "yields.10y" => &mut yields.ten_years,
                _ => &mut yields.thirty_years,
            } = reading;
        }
        let yields = &mut data.yields;
        let pair = yields.two_years.as_ref().zip(yields.ten_years.as_ref());
        yields.spread_2s10s_bp = pair.and_then(|(two, ten)| spread_bp(two, ten));
        if pair.is_some() && yields.spread_2s10s_bp.is_none() {
            legs.missing("yields.spread_2s10s_bp", "yields_of_different_days", "");
        }
        let newest = [
            &yields.ten_years,
            &yields.two_years,
            &yields.thirty_years,
            &yields.three_months,
        ];
        let newest = newest.into_iter().flatten().next();
        yields.curve_date = newest.map(|reading| Instrument::US10Y.market.date_of(reading.as_of));
        let last = vix.pop();
        for error in vix.into_iter().filter_map(Result::err) {
            legs.failed(sources, &error);
        }
        if let Some(last) = last {
            data.volatility.vix = read(sources, legs, "volatility.vix", &Instrument::VIX, last);
        }
    }
}

/// The reading of an answer; what is missing is named by its place.
fn read(
    sources: &Sources,
    legs: &mut Legs,
    place: &str,
    instrument: &'static Instrument,
    answer: Told,
) -> Option<Reading> {
    let observation = legs.take(sources, place, answer)?;
    judge(sources, legs, place, instrument, &observation)
}

fn judge(
    sources: &Sources,
    legs: &mut Legs,
    place: &str,
    instrument: &'static Instrument,
    observation: &Observation,
) -> Option<Reading> {
    let reading = Reading::new(instrument, observation, sources.now());
    if reading.is_err() {
        legs.missing(place, "upstream_implausible", observation.source);
    }
    reading.ok()
}

/// The groups that have the one reading that was asked for.
fn without_gaps(data: Value) -> Value {
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
