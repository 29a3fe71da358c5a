//! Scheduled events of the next days: decisions of the Federal Reserve, days on which US markets
//! are closed or close early, and expiries of options. Every event comes from a published calendar
//! or rule. None is guessed.

use jiff::{
    SignedDuration, Timestamp, ToSpan,
    civil::{Date, Weekday, date, time},
};
use serde::Serialize;

use super::calendar;

/// The second days of the meetings of the Federal Open Market Committee, which it announced in
/// August 2024 and September 2025. The statement is released at 14:00 in New York.
const FOMC: [Date; 16] = [
    date(2026, 1, 28),
    date(2026, 3, 18),
    date(2026, 4, 29),
    date(2026, 6, 17),
    date(2026, 7, 29),
    date(2026, 9, 16),
    date(2026, 10, 28),
    date(2026, 12, 9),
    date(2027, 1, 27),
    date(2027, 3, 17),
    date(2027, 4, 28),
    date(2027, 6, 9),
    date(2027, 7, 28),
    date(2027, 9, 15),
    date(2027, 10, 27),
    date(2027, 12, 8),
];
const FOMC_URL: &str = "https://www.federalreserve.gov/monetarypolicy/fomccalendars.htm";
const EXCHANGE_URL: &str = "https://www.nyse.com/markets/hours-calendars";
const EXPIRY_URL: &str = "https://docs.deribit.com";
/// The most days that a caller can look ahead.
const MOST_DAYS: usize = 60;

/// A scheduled event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Catalyst {
    /// Its time.
    pub at: Timestamp,
    /// Its kind.
    pub kind: CatalystKind,
    /// Its title.
    pub title: &'static str,
    /// The calendar or the rule that it comes from.
    pub source_url: &'static str,
}

/// The kind of a scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CatalystKind {
    /// A decision on the federal funds rate.
    FomcDecision,
    /// US shares are not traded.
    UsMarketClosed,
    /// US shares are traded until 13:00 in New York.
    UsMarketClosesEarly,
    /// Options on BTC and ETH expire.
    OptionsExpiry,
}

/// How far the calendar reaches. Holidays and expiries follow rules and have no end. Decisions are
/// known only as far as they were announced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CalendarReach {
    /// The end of the days that were searched.
    pub until: Timestamp,
    /// The last announced decision of the Federal Reserve. Later ones are unknown.
    pub fomc_known_until: Option<String>,
    /// Whether no decision can be missing. That is so when all of the days are before the last
    /// announced one.
    pub complete: bool,
}

/// Returns how far the calendar of [`upcoming`] reaches, for the same arguments.
#[must_use]
pub fn reach(now: Timestamp, days: usize) -> CalendarReach {
    let last = FOMC.iter().max();
    let until = end(now, days).unwrap_or(Timestamp::MAX);
    CalendarReach {
        until,
        fomc_known_until: last.map(ToString::to_string),
        complete: last.is_some_and(|last| calendar::new_york_date(until) <= *last),
    }
}

fn end(now: Timestamp, days: usize) -> Option<Timestamp> {
    let days = i64::try_from(days.min(MOST_DAYS)).unwrap_or_default();
    now.checked_add(SignedDuration::from_hours(days * 24)).ok()
}

/// The events within `days` after `now`, earliest first.
#[must_use]
pub fn upcoming(now: Timestamp, days: usize) -> Vec<Catalyst> {
    let days = days.min(MOST_DAYS);
    let Some(until) = end(now, days) else {
        return Vec::new();
    };
    let today = calendar::new_york_date(now);
    let dates = std::iter::successors(Some(today), |date| date.tomorrow().ok());
    let mut found: Vec<Catalyst> = dates
        .take(days.saturating_add(2))
        .flat_map(of_day)
        .collect();
    found.retain(|catalyst| now < catalyst.at && catalyst.at <= until);
    found.sort_by_key(|catalyst| (catalyst.at, catalyst.kind));
    found
}

fn of_day(day: Date) -> Vec<Catalyst> {
    let mut found = Vec::new();
    let mut add = |at: Option<Timestamp>, kind, title, source_url| {
        found.extend(at.map(|at| Catalyst {
            at,
            kind,
            title,
            source_url,
        }));
    };
    if FOMC.contains(&day) {
        let at = calendar::new_york_time(day.to_datetime(time(14, 0, 0, 0)));
        let title = "Federal Reserve: statement on the federal funds rate";
        add(at, CatalystKind::FomcDecision, title, FOMC_URL);
    }
    match calendar::us_session(day) {
        calendar::UsSession::Holiday => {
            let at = calendar::new_york_time(day.to_datetime(time(9, 30, 0, 0)));
            let title = "US markets are closed for a holiday";
            add(at, CatalystKind::UsMarketClosed, title, EXCHANGE_URL);
        }
        calendar::UsSession::Short => {
            let at = calendar::new_york_time(day.to_datetime(time(13, 0, 0, 0)));
            let title = "US markets close early, at 13:00 in New York";
            add(at, CatalystKind::UsMarketClosesEarly, title, EXCHANGE_URL);
        }
        calendar::UsSession::Usual | calendar::UsSession::Weekend => {}
    }
    if day.weekday() == Weekday::Friday {
        let at = day
            .to_datetime(time(8, 0, 0, 0))
            .to_zoned(jiff::tz::TimeZone::UTC);
        let last_of_month = day
            .checked_add(7.days())
            .is_ok_and(|next| next.month() != day.month());
        let title = match (last_of_month, day.month() % 3) {
            (true, 0) => "Quarterly expiry of BTC and ETH options at Deribit",
            (true, _) => "Monthly expiry of BTC and ETH options at Deribit",
            (false, _) => "Weekly expiry of BTC and ETH options at Deribit",
        };
        let at = at.ok().map(|at| at.timestamp());
        add(at, CatalystKind::OptionsExpiry, title, EXPIRY_URL);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(now: &str, days: usize) -> Vec<(String, CatalystKind)> {
        let list = upcoming(now.parse().unwrap(), days);
        list.into_iter()
            .map(|of| (of.at.to_string(), of.kind))
            .collect()
    }

    #[test]
    fn a_week_lists_its_closed_days_and_expiries() {
        use CatalystKind::{OptionsExpiry, UsMarketClosed, UsMarketClosesEarly};
        let expected = [
            ("2026-11-26T14:30:00Z", UsMarketClosed),
            ("2026-11-27T08:00:00Z", OptionsExpiry),
            ("2026-11-27T18:00:00Z", UsMarketClosesEarly),
        ];
        let expected = expected.map(|(at, kind)| (at.to_owned(), kind));
        assert_eq!(listed("2026-11-21T01:02:00Z", 7), expected);
        let list = upcoming("2026-11-21T01:02:00Z".parse().unwrap(), 7);
        assert!(list[1].title.starts_with("Monthly"));
    }

    #[test]
    fn decisions_come_in_the_afternoon_of_new_york() {
        let decisions = listed("2026-12-01T00:00:00Z", 10);
        assert!(decisions.contains(&(
            "2026-12-09T19:00:00Z".to_owned(),
            CatalystKind::FomcDecision
        )));
        let summer = listed("2026-06-16T00:00:00Z", 3);
        assert!(summer.contains(&(
            "2026-06-17T18:00:00Z".to_owned(),
            CatalystKind::FomcDecision
        )));
        // A past event is not upcoming.
        assert!(listed("2026-12-09T19:00:00Z", 1).is_empty());
    }

    #[test]
    fn the_calendar_says_where_it_ends() {
        let of = |now: &str| {
            let reach = reach(now.parse().unwrap(), 14);
            assert_eq!(reach.fomc_known_until.as_deref(), Some("2027-12-08"));
            (reach.until.to_string(), reach.complete)
        };
        let until = |text: &str, complete| (text.to_owned(), complete);
        assert_eq!(
            of("2026-11-21T01:02:00Z"),
            until("2026-12-05T01:02:00Z", true)
        );
        // Everything is known up to the day of the last announced decision, and nothing beyond it.
        assert_eq!(
            of("2027-11-24T12:00:00Z"),
            until("2027-12-08T12:00:00Z", true)
        );
        assert_eq!(
            of("2027-11-25T12:00:00Z"),
            until("2027-12-09T12:00:00Z", false)
        );
        assert!(!of("2031-01-01T00:00:00Z").1);
    }
}
