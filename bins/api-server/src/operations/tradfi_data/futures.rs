//! Metals, gas and oil by their futures: a chart that another market confirms.
//!
//! The chart is unofficial and is never trusted alone. The other market is a perpetual contract
//! whose oracle follows the same futures. If the chart does not answer, that oracle's price
//! replaces it and is marked as such.

use std::sync::Arc;
use std::time::Duration;

use data_sources::hyperliquid_info::HyperliquidInfo;
use data_sources::yahoo::{Quote, Yahoo};
use data_sources::{Error, Meter, Sourced};
use readings::derivatives::PerpContext;
use readings::macro_data::{Basis, CrossCheck, Instrument, MacroData, MarketState, Observation};
use readings::{Decimal, percent_change};

use super::{SECOND, judge};
use crate::context::Context;
use crate::source_report::SourceReport;
use crate::sources::Tradfi;

/// The dex of the confirming perpetuals.
const DEX: &str = "xyz";
const MARKETS: &str = "hyperliquid.markets";
/// The difference in percent beyond which two markets contradict each other.
const TOLERANCE_PCT: Decimal = Decimal::from_parts(5, 0, 0, false, 0);
/// The delay of futures charts in minutes.
const CHART_DELAY: u32 = 10;

/// The perpetual of each future.
const PERPETUALS: [(&Instrument, &str); 5] = [
    (&Instrument::GOLD, "xyz:GOLD"),
    (&Instrument::SILVER, "xyz:SILVER"),
    (&Instrument::COPPER, "xyz:COPPER"),
    (&Instrument::NATGAS, "xyz:NATGAS"),
    (&Instrument::WTI_FUTURE, "xyz:CL"),
];

type Charts = Vec<(
    &'static Instrument,
    &'static str,
    Result<Sourced<Quote>, Error>,
)>;
type Perpetuals = Result<Sourced<Arc<Vec<PerpContext>>>, Error>;

/// The answers of both markets.
pub(super) struct Futures {
    charts: Charts,
    perpetuals: Option<Perpetuals>,
}

/// Asks both markets for the requested futures.
pub(super) async fn futures(
    tradfi: &Tradfi,
    hyperliquid: &HyperliquidInfo,
    wants: impl Fn(&Instrument) -> bool,
    max_age: Option<Duration>,
) -> Futures {
    let mut asked = tokio::task::JoinSet::new();
    for (at, (instrument, contract)) in Yahoo::futures().filter(|(of, _)| wants(of)).enumerate() {
        let yahoo = tradfi.yahoo.clone();
        asked.spawn(Meter::carry(async move {
            (
                at,
                instrument,
                contract,
                yahoo.price(instrument, max_age).await,
            )
        }));
    }
    if asked.is_empty() {
        return Futures {
            charts: Vec::new(),
            perpetuals: None,
        };
    }
    let (mut charts, perpetuals) =
        tokio::join!(asked.join_all(), hyperliquid.overview(DEX, max_age));
    charts.sort_by_key(|(at, ..)| *at);
    let charts = charts.into_iter();
    Futures {
        charts: charts
            .map(|(_, of, contract, reading)| (of, contract, reading))
            .collect(),
        perpetuals: Some(perpetuals),
    }
}

impl Futures {
    /// Fills in the readings, each with its confirmation.
    pub(super) fn fill(self, context: &Context, data: &mut MacroData, report: &mut SourceReport) {
        let Some(perpetuals) = self.perpetuals else {
            return;
        };
        let fetched = perpetuals
            .as_ref()
            .ok()
            .and_then(|reading| reading.sources.first());
        let fetched = fetched.map_or(context.now(), |source| {
            source.as_of.unwrap_or(source.fetched_at)
        });
        let perpetuals = match perpetuals {
            Ok(reading) => report.accept(reading),
            Err(error) => {
                report.failed(context, &error);
                Arc::default()
            }
        };
        for (instrument, contract, chart) in self.charts {
            let place = format!("commodities[symbol={}]", instrument.symbol);
            let perpetual = PERPETUALS.iter().find(|(of, _)| *of == instrument);
            let oracle = perpetual.and_then(|(_, coin)| {
                let named = |market: &&PerpContext| market.coin == *coin && !market.delisted;
                let market = perpetuals.iter().find(named)?;
                Some((*coin, market.oracle?))
            });
            let chart = match chart {
                Ok(chart) => Some(report.accept(chart)),
                Err(error) => {
                    report.failed(context, &error);
                    None
                }
            };
            match (chart, oracle) {
                (Some(chart), Some((coin, oracle))) => {
                    if differ(chart.price, oracle) {
                        report.missing(&place, "sources_contradict", SECOND);
                        continue;
                    }
                    let observation = of_chart(chart);
                    let read = judge(context, report, &place, instrument, &observation);
                    let Some(reading) = read else { continue };
                    let reading = reading.of_contract(Basis::FuturesFrontMonth, contract);
                    data.cross_checks.push(CrossCheck {
                        contract: Some(coin),
                        ..CrossCheck::new(&reading, MARKETS, oracle, fetched)
                    });
                    data.commodities.push(reading);
                }
                (None, Some((coin, oracle))) => {
                    let observation = of_oracle(instrument, oracle, fetched);
                    let read = judge(context, report, &place, instrument, &observation);
                    let reading = read.map(|read| read.of_contract(Basis::PerpetualOracle, coin));
                    data.commodities.extend(reading);
                }
                (Some(_), None) => {
                    report.missing(&place, "not_confirmed_by_a_second_source", SECOND)
                }
                (None, None) => report.missing(&place, "no_source_answered", SECOND),
            }
        }
    }
}

fn differ(one: Decimal, other: Decimal) -> bool {
    percent_change(one, other).is_none_or(|pct| pct.abs() > TOLERANCE_PCT)
}

pub(super) fn of_chart(chart: Quote) -> Observation {
    Observation {
        value: chart.price,
        previous: chart.previous,
        as_of: chart.as_of,
        source: SECOND,
        delayed_minutes: CHART_DELAY,
        lag_sessions: 0,
        live: true,
    }
}

/// An oracle keeps the last close while its market is closed.
fn of_oracle(instrument: &Instrument, price: Decimal, fetched: jiff::Timestamp) -> Observation {
    let market = instrument.market;
    let close = market.expected(fetched, 0);
    let as_of = match market.state(fetched) {
        MarketState::Open => fetched,
        MarketState::Closed => close.map_or(fetched, |close| close.min(fetched)),
    };
    Observation {
        value: price,
        previous: None,
        as_of,
        source: MARKETS,
        delayed_minutes: 0,
        lag_sessions: 0,
        live: true,
    }
}
