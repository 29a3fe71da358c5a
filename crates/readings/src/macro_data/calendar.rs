//! The opening hours of markets, and the times when their daily values are made and published.
//!
//! Holidays follow the published rules of the exchanges. The rules do not know an irregular
//! closure, such as a day of mourning. A value then looks a day older than expected, which is the
//! careful error.

use std::sync::LazyLock;

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, DateTime, Time, Weekday, time},
    tz::TimeZone,
};
use serde::Serialize;

/// The time zones are rules, so that no zone database is needed.
static NEW_YORK: LazyLock<TimeZone> = LazyLock::new(|| zone("EST5EDT,M3.2.0,M11.1.0"));
static CHICAGO: LazyLock<TimeZone> = LazyLock::new(|| zone("CST6CDT,M3.2.0,M11.1.0"));
static FRANKFURT: LazyLock<TimeZone> = LazyLock::new(|| zone("CET-1CEST,M3.5.0,M10.5.0/3"));

/// How many days back a session is searched. This is more than the longest closure.
const LOOK_BACK_DAYS: usize = 40;

/// When the next session of futures begins, in New York.
const FUTURES_EVENING: Time = time(18, 0, 0, 0);

fn zone(rule: &str) -> TimeZone {
    TimeZone::posix(rule).unwrap_or(TimeZone::UTC)
}

/// A market with sessions and daily values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Market {
    /// US shares, from 9:30 to 16:00 in New York. The daily value is the close.
    UsEquities,
    /// The VIX index, until 16:15 in New York.
    UsVolatility,
    /// US treasuries, from 8:00 to 17:00 in New York. The curve is that of 15:30, and is published
    /// in the evening.
    UsTreasuries,
    /// Oil in New York, from 9:00 to 14:30.
    Oil,
    /// Currencies, from Sunday 17:00 to Friday 17:00 in New York, but not at Christmas and New
    /// Year. The ECB's rates are those of 14:15 in Frankfurt, and are published at 16:00.
    Currencies,
    /// Shares and indices as perpetuals follow them: day and night from Sunday 20:00 to Friday
    /// 20:00 in New York, except on holidays of the exchanges.
    EquitiesDayAndNight,
    /// Futures of metals and energy: from Sunday 18:00 to Friday 17:00 in New York, with a break
    /// from 17:00 to 18:00, but not at New Year, Good Friday and Christmas. On other holidays and
    /// short days of the exchanges, each contract halts early at its own time. Then all of them
    /// count as closed after 13:00.
    CommodityFutures,
}

/// Whether a market is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarketState {
    /// The market is in session.
    Open,
    /// The market is closed, and its last value holds until it opens.
    Closed,
}

impl Market {
    /// Whether the market is open at `now`.
    #[must_use]
    pub fn state(self, now: Timestamp) -> MarketState {
        let (date, clock) = new_york(now);
        let week = |opens: Time, closes: Time| match date.weekday() {
            Weekday::Saturday => false,
            Weekday::Sunday => clock >= opens,
            Weekday::Friday => clock < closes,
            _ => true,
        };
        let open = match self {
            Self::Currencies => {
                week(time(17, 0, 0, 0), time(17, 0, 0, 0)) && !is_quiet_session(date, clock)
            }
            Self::CommodityFutures => futures_trade(date, clock),
            Self::EquitiesDayAndNight => {
                week(time(20, 0, 0, 0), time(20, 0, 0, 0)) && !is_holiday_session(date, clock)
            }
            _ => self
                .hours(date)
                .is_some_and(|(opens, closes)| opens <= clock && clock < closes),
        };
        if open {
            MarketState::Open
        } else {
            MarketState::Closed
        }
    }

    /// Returns the time of the daily value of `date`. `None` on a day that has none.
    #[must_use]
    pub fn valued_at(self, date: Date) -> Option<Timestamp> {
        if !self.has_session(date) {
            return None;
        }
        match self {
            Self::Currencies => at(&FRANKFURT, date.to_datetime(time(14, 15, 0, 0))),
            Self::UsTreasuries => at(&NEW_YORK, date.to_datetime(time(15, 30, 0, 0))),
            _ => {
                let (_, closes) = self.hours(date)?;
                at(&NEW_YORK, date.to_datetime(closes))
            }
        }
    }

    /// Like [`Self::valued_at`], for a value that a source states. On a weekday that is a holiday
    /// by the rules, the value has the usual time. A weekend has none.
    #[must_use]
    pub fn stated_at(self, date: Date) -> Option<Timestamp> {
        if is_weekend(date) {
            return None;
        }
        let usual = || match self {
            Self::Currencies => at(&FRANKFURT, date.to_datetime(time(14, 15, 0, 0))),
            Self::UsTreasuries => at(&NEW_YORK, date.to_datetime(time(15, 30, 0, 0))),
            _ => at(&NEW_YORK, date.to_datetime(time(16, 0, 0, 0))),
        };
        self.valued_at(date).or_else(usual)
    }

    /// Returns the time of the newest daily value that must be published by `now`, from a source
    /// that is `lag` sessions behind.
    #[must_use]
    pub fn expected(self, now: Timestamp, lag: usize) -> Option<Timestamp> {
        let (today, _) = new_york(now);
        let days = std::iter::successors(Some(today), |date| date.yesterday().ok());
        let mut published = days
            .take(LOOK_BACK_DAYS)
            .filter(|date| self.published_at(*date).is_some_and(|time| time <= now));
        self.valued_at(published.nth(lag)?)
    }

    /// Returns the market's own date of `time`.
    #[must_use]
    pub fn date_of(self, time: Timestamp) -> Date {
        let zone = match self {
            Self::Currencies => &FRANKFURT,
            _ => &NEW_YORK,
        };
        zone.to_datetime(time).date()
    }

    /// Returns the date of the session to which a price of `time` belongs. `None` after the evening
    /// break of futures: sources differ on whether that price counts for today or tomorrow.
    #[must_use]
    pub fn session_date(self, time: Timestamp) -> Option<Date> {
        let (date, clock) = new_york(time);
        match self {
            Self::CommodityFutures if clock >= FUTURES_EVENING => None,
            Self::CommodityFutures => Some(date),
            _ => Some(self.date_of(time)),
        }
    }

    fn published_at(self, date: Date) -> Option<Timestamp> {
        let valued = self.valued_at(date)?;
        match self {
            Self::Currencies => at(&FRANKFURT, date.to_datetime(time(17, 0, 0, 0))),
            Self::UsTreasuries => at(&NEW_YORK, date.to_datetime(time(19, 0, 0, 0))),
            _ => valued.checked_add(30.minutes()).ok(),
        }
    }

    fn has_session(self, date: Date) -> bool {
        if is_weekend(date) {
            return false;
        }
        match self {
            Self::Currencies => !ecb_holiday(date),
            Self::UsTreasuries => !us_holiday(date) && !bond_holiday(date),
            _ => !us_holiday(date),
        }
    }

    /// Returns when the market opens and closes, in New York's time.
    fn hours(self, date: Date) -> Option<(Time, Time)> {
        if !self.has_session(date) {
            return None;
        }
        let early = early_close(date);
        let closes = |usual: Time, short: Time| if early { short } else { usual };
        Some(match self {
            Self::UsEquities => (
                time(9, 30, 0, 0),
                closes(time(16, 0, 0, 0), time(13, 0, 0, 0)),
            ),
            Self::UsVolatility => (
                time(9, 30, 0, 0),
                closes(time(16, 15, 0, 0), time(13, 15, 0, 0)),
            ),
            Self::UsTreasuries => (
                time(8, 0, 0, 0),
                closes(time(17, 0, 0, 0), time(14, 0, 0, 0)),
            ),
            Self::Oil => (time(9, 0, 0, 0), time(14, 30, 0, 0)),
            Self::EquitiesDayAndNight => (time(0, 0, 0, 0), time(20, 0, 0, 0)),
            Self::CommodityFutures | Self::Currencies => (time(0, 0, 0, 0), time(17, 0, 0, 0)),
        })
    }
}

/// Returns the date in New York.
#[must_use]
pub fn new_york_date(time: Timestamp) -> Date {
    new_york(time).0
}

/// Converts a local time in Chicago. `None` for a time that the change to summer time skips.
#[must_use]
pub fn chicago_time(clock: DateTime) -> Option<Timestamp> {
    at(&CHICAGO, clock)
}

/// Converts a local time in New York. `None` for a time that the change to summer time skips.
pub(super) fn new_york_time(clock: DateTime) -> Option<Timestamp> {
    at(&NEW_YORK, clock)
}

/// The session of US shares on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsSession {
    /// The usual session.
    Usual,
    /// A session that ends at 13:00.
    Short,
    /// No session, on a weekday.
    Holiday,
    /// No session, on a weekend.
    Weekend,
}

/// The session of US shares on `date`.
pub(super) fn us_session(date: Date) -> UsSession {
    if is_weekend(date) {
        UsSession::Weekend
    } else if us_holiday(date) {
        UsSession::Holiday
    } else if early_close(date) {
        UsSession::Short
    } else {
        UsSession::Usual
    }
}

fn new_york(time: Timestamp) -> (Date, Time) {
    let local = NEW_YORK.to_datetime(time);
    (local.date(), local.time())
}

fn at(zone: &TimeZone, clock: DateTime) -> Option<Timestamp> {
    zone.to_timestamp(clock).ok()
}

/// Whether the session belongs to a holiday. A session from 20:00 of one day to 20:00 of the next
/// belongs to the next day, and a holiday has none.
fn is_holiday_session(date: Date, clock: Time) -> bool {
    let session = if clock >= time(20, 0, 0, 0) {
        date.tomorrow()
    } else {
        Ok(date)
    };
    session.is_ok_and(us_holiday)
}

/// Whether futures of metals and energy are traded. A session from 18:00 of one day to 17:00 of the
/// next belongs to the next day.
fn futures_trade(date: Date, clock: Time) -> bool {
    let short = us_holiday(date) || early_close(date);
    let halts = time(if short { 13 } else { 17 }, 0, 0, 0);
    let session = if clock >= FUTURES_EVENING {
        date.tomorrow().ok()
    } else {
        Some(date).filter(|_| clock < halts)
    };
    session.is_some_and(|day| !is_weekend(day) && !futures_rest(day))
}

/// Whether futures have no session on a day: New Year, Good Friday and Christmas, as the exchanges
/// observe them.
fn futures_rest(date: Date) -> bool {
    let year = date.year();
    let rules = [
        observed(year, 1, 1).filter(|day| day.year() == year),
        good_friday(year),
        observed(year, 12, 25),
    ];
    rules.contains(&Some(date))
}

/// Whether currencies have hardly any quotes, as at Christmas and New Year. A session from 17:00 of
/// one day to 17:00 of the next belongs to the next day.
fn is_quiet_session(date: Date, clock: Time) -> bool {
    let session = if clock >= time(17, 0, 0, 0) {
        date.tomorrow()
    } else {
        Ok(date)
    };
    session.is_ok_and(|day| [(1, 1), (12, 25)].contains(&(day.month(), day.day())))
}

fn is_weekend(date: Date) -> bool {
    matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// Whether a day is a holiday of the US exchanges.
fn us_holiday(date: Date) -> bool {
    let year = date.year();
    let rules = [
        observed(year, 1, 1).filter(|day| day.year() == year),
        nth(year, 1, 3, Weekday::Monday),
        nth(year, 2, 3, Weekday::Monday),
        good_friday(year),
        last_monday_of_may(year),
        observed(year, 6, 19),
        observed(year, 7, 4),
        nth(year, 9, 1, Weekday::Monday),
        nth(year, 11, 4, Weekday::Thursday),
        observed(year, 12, 25),
    ];
    rules.contains(&Some(date))
}

/// Whether bonds are not traded on a day on which shares are. Veterans Day is not moved from a
/// Saturday.
fn bond_holiday(date: Date) -> bool {
    let year = date.year();
    let veterans = observed(year, 11, 11).filter(|day| day.day() >= 11);
    [nth(year, 10, 2, Weekday::Monday), veterans].contains(&Some(date))
}

/// Whether the ECB publishes no reference rates on a day.
fn ecb_holiday(date: Date) -> bool {
    let easter = easter(date.year());
    let near_easter = |days: i32| easter.and_then(|easter| easter.checked_add(days.days()).ok());
    let fixed = [(1, 1), (5, 1), (12, 25), (12, 26)].contains(&(date.month(), date.day()));
    fixed || [near_easter(-2), near_easter(1)].contains(&Some(date))
}

/// Whether shares close at 13:00: on the day after Thanksgiving, and on the eves of Independence
/// Day and Christmas.
fn early_close(date: Date) -> bool {
    let friday = nth(date.year(), 11, 4, Weekday::Thursday).and_then(|day| day.tomorrow().ok());
    friday == Some(date) || [(7, 3), (12, 24)].contains(&(date.month(), date.day()))
}

/// Returns the day on which a holiday is observed: Friday when it is a Saturday, Monday when it is
/// a Sunday.
fn observed(year: i16, month: i8, day: i8) -> Option<Date> {
    let date = Date::new(year, month, day).ok()?;
    match date.weekday() {
        Weekday::Saturday => date.yesterday().ok(),
        Weekday::Sunday => date.tomorrow().ok(),
        _ => Some(date),
    }
}

fn good_friday(year: i16) -> Option<Date> {
    easter(year)?.checked_sub(2.days()).ok()
}

fn nth(year: i16, month: i8, nth: i8, weekday: Weekday) -> Option<Date> {
    Date::new(year, month, 1)
        .ok()?
        .nth_weekday_of_month(nth, weekday)
        .ok()
}

fn last_monday_of_may(year: i16) -> Option<Date> {
    nth(year, 5, -1, Weekday::Monday)
}

/// Returns Easter Sunday of the Gregorian calendar, by Butcher's rule.
fn easter(year: i16) -> Option<Date> {
    let y = i32::from(year);
    let (a, b, c) = (y % 19, y / 100, y % 100);
    let (d, e) = (b / 4, b % 4);
    let g = (8 * b + 13) / 25;
    let h = (19 * a + b - d - g + 15) % 30;
    let (i, k) = (c / 4, c % 4);
    let l = (32 + 2 * e + 2 * i - h - k) % 7;
    let m = (a + 11 * h + 19 * l) / 433;
    let month = (h + l - 7 * m + 90) / 25;
    let day = (h + l - 7 * m + 33 * month + 19) % 32;
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

#[cfg(test)]
mod tests;
