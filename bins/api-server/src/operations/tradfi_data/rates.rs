//! Yields and volatility: from the preferred source, or from the one that replaces it.

use std::time::Duration;

use data_sources::{Error, Provenance, SourceStatus, Sourced};
use jiff::Timestamp;
use readings::macro_data::{Instrument, MacroData, Observation, Reading, spread_bp};

use super::{YIELDS, read};
use crate::context::Context;
use crate::source_report::SourceReport;
use crate::sources::Tradfi;

/// The observation of a source, or its failure.
pub(super) type ObservationResult = Result<Sourced<Observation>, Error>;

/// The chosen answer of two sources, and the fate of the other one.
pub(super) struct Chosen {
    observation: ObservationResult,
    other: Option<OtherAnswer>,
}

/// An answer that was not chosen.
enum OtherAnswer {
    Failed(Error),
    /// Its sources, listed as having contributed nothing.
    Older(Vec<Provenance>),
}

/// The yields with their places, and the failure of the source that was asked first.
#[derive(Default)]
pub(super) struct Curve {
    points: Vec<(&'static Instrument, &'static str, Chosen)>,
    failed: Option<Error>,
}

impl Chosen {
    fn only(observation: ObservationResult) -> Self {
        let other = None;
        Self { observation, other }
    }

    /// The newer of two answers; the first one if both have the same time.
    fn newer(first: Sourced<Observation>, second: ObservationResult) -> Self {
        let (observation, other) = match second {
            Err(error) => (first, OtherAnswer::Failed(error)),
            Ok(second) if second.value.as_of > first.value.as_of => {
                (second, OtherAnswer::Older(left_out(first.sources)))
            }
            Ok(second) => (first, OtherAnswer::Older(left_out(second.sources))),
        };
        Self {
            observation: Ok(observation),
            other: Some(other),
        }
    }

    fn take(self, context: &Context, report: &mut SourceReport) -> ObservationResult {
        match self.other {
            Some(OtherAnswer::Failed(error)) => report.failed(context, &error),
            Some(OtherAnswer::Older(sources)) => {
                let value = ();
                report.accept(Sourced { value, sources });
            }
            None => {}
        }
        self.observation
    }
}

/// The sources of an answer that was not chosen. They age nothing, and are listed with the reason.
fn left_out(mut sources: Vec<Provenance>) -> Vec<Provenance> {
    for source in &mut sources {
        let reason = source.status.reason().unwrap_or("older_than_another");
        let reason = reason.to_owned();
        source.status = SourceStatus::Unavailable { reason };
        source.as_of = None;
    }
    sources
}

/// Whether the sources had to answer with old data, or the calendar of the market says that there
/// is a newer value.
fn is_old(instrument: &'static Instrument, answer: &Sourced<Observation>, now: Timestamp) -> bool {
    let stale = |source: &Provenance| matches!(source.status, SourceStatus::Stale { .. });
    let behind = || Reading::new(instrument, &answer.value, now).is_ok_and(|of| of.stale);
    answer.sources.iter().any(stale) || behind()
}

/// The Treasury's curve. Yields that it lacks, or whose newest values it does not have, are also
/// read from FRED.
pub(super) async fn yields(
    context: &Context,
    tradfi: &Tradfi,
    only: Option<&'static Instrument>,
    max_age: Option<Duration>,
) -> Curve {
    let mut curve = Curve::default();
    let answer = tradfi.treasury.curve(max_age).await;
    let (points, from) = match answer {
        Ok(answer) => (answer.value.points.clone(), answer.sources),
        Err(error) => {
            curve.failed = Some(error);
            (Vec::new(), Vec::new())
        }
    };
    for (instrument, place) in YIELDS {
        let wanted = only.is_none_or(|only| only == instrument);
        let point = points.iter().find(|(of, _)| *of == instrument);
        let first = point.map(|(_, observation)| Sourced {
            value: observation.clone(),
            sources: from.clone(),
        });
        let chosen = match first {
            Some(first) if wanted && is_old(instrument, &first, context.now()) => {
                Chosen::newer(first, tradfi.fred.latest(instrument, max_age).await)
            }
            Some(first) => Chosen::only(Ok(first)),
            None if wanted => Chosen::only(tradfi.fred.latest(instrument, max_age).await),
            None => continue,
        };
        curve.points.push((instrument, place, chosen));
    }
    curve
}

/// VIX from the exchange, or from FRED if the exchange does not answer or does not have the newest
/// value.
pub(super) async fn volatility(
    context: &Context,
    tradfi: &Tradfi,
    max_age: Option<Duration>,
) -> Chosen {
    let second = async || tradfi.fred.latest(&Instrument::VIX, max_age).await;
    match tradfi.cboe.vix(max_age).await {
        Ok(vix) if is_old(&Instrument::VIX, &vix, context.now()) => {
            Chosen::newer(vix, second().await)
        }
        Ok(vix) => Chosen::only(Ok(vix)),
        Err(error) => Chosen {
            observation: second().await,
            other: Some(OtherAnswer::Failed(error)),
        },
    }
}

/// Fills curve and volatility into the data.
pub(super) trait Fill {
    fn fill(self, context: &Context, data: &mut MacroData, report: &mut SourceReport);
}

impl Fill for (Curve, Option<Chosen>) {
    fn fill(self, context: &Context, data: &mut MacroData, report: &mut SourceReport) {
        let (curve, vix) = self;
        if let Some(error) = &curve.failed {
            report.failed(context, error);
        }
        for (instrument, place, chosen) in curve.points {
            let answer = chosen.take(context, report);
            let reading = read(context, report, place, instrument, answer);
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
            report.missing("yields.spread_2s10s_bp", "yields_of_different_days", "");
        }
        let newest = [
            &yields.ten_years,
            &yields.two_years,
            &yields.thirty_years,
            &yields.three_months,
        ];
        let newest = newest.into_iter().flatten().next();
        yields.curve_date = newest.map(|reading| Instrument::US10Y.market.date_of(reading.as_of));
        if let Some(vix) = vix {
            let answer = vix.take(context, report);
            data.volatility.vix = read(context, report, "volatility.vix", &Instrument::VIX, answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(source: &'static str, as_of: &str) -> Sourced<Observation> {
        let as_of = as_of.parse().unwrap();
        let value = Observation {
            value: "17.42".parse::<readings::Figure>().unwrap().0,
            previous: None,
            as_of,
            source,
            delayed_minutes: 0,
            lag_sessions: 0,
            live: false,
        };
        let sources = vec![Provenance {
            status: SourceStatus::Stale {
                reason: "upstream_timeout".to_owned(),
            },
            ..Provenance::local(source, as_of)
        }];
        Sourced { value, sources }
    }

    #[test]
    fn the_newer_answer_is_chosen_and_the_other_listed() {
        let (thursday, friday) = ("2026-11-19T21:15:00Z", "2026-11-20T21:15:00Z");
        let taken = |first: &str, second: &str| {
            let chosen = Chosen::newer(
                observation("first", first),
                Ok(observation("second", second)),
            );
            let Some(OtherAnswer::Older(left)) = chosen.other else {
                panic!("the other one is not named");
            };
            assert_eq!(left[0].status.as_str(), "unavailable");
            assert_eq!(
                (left[0].status.reason(), left[0].as_of),
                (Some("upstream_timeout"), None)
            );
            (chosen.observation.unwrap().value.source, left[0].source)
        };
        assert_eq!(taken(thursday, friday), ("second", "first"));
        assert_eq!(taken(friday, thursday), ("first", "second"));
        assert_eq!(taken(friday, friday), ("first", "second"));
    }
}
