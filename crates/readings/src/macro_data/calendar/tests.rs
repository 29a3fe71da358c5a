//! Tests of zones, holidays, sessions and daily values.

use jiff::civil::date;

use super::*;

fn ts(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn zones_change_with_the_season() {
    assert_eq!(
        NEW_YORK.to_datetime(ts("2026-11-21T01:02:00Z")).to_string(),
        "2026-11-20T20:02:00"
    );
    assert_eq!(
        NEW_YORK.to_datetime(ts("2026-07-01T01:02:00Z")).to_string(),
        "2026-06-30T21:02:00"
    );
    // In 2026, summer time is from 8 March to 1 November, and in Europe from 29 March to 25
    // October.
    assert_eq!(
        NEW_YORK.to_datetime(ts("2026-03-08T07:00:00Z")).to_string(),
        "2026-03-08T03:00:00"
    );
    assert_eq!(
        NEW_YORK.to_datetime(ts("2026-11-01T06:00:00Z")).to_string(),
        "2026-11-01T01:00:00"
    );
    assert_eq!(
        FRANKFURT
            .to_datetime(ts("2026-03-29T01:00:00Z"))
            .to_string(),
        "2026-03-29T03:00:00"
    );
    assert_eq!(
        FRANKFURT
            .to_datetime(ts("2026-10-25T01:00:00Z"))
            .to_string(),
        "2026-10-25T02:00:00"
    );
    assert_eq!(
        chicago_time(date(2026, 11, 20).at(15, 14, 59, 0)),
        Some(ts("2026-11-20T21:14:59Z"))
    );
}

#[test]
fn the_exchanges_are_closed_on_their_holidays() {
    // The exchanges have published these for 2026 and 2027.
    for holiday in [
        date(2026, 1, 1),
        date(2026, 1, 19),
        date(2026, 2, 16),
        date(2026, 4, 3),
        date(2026, 5, 25),
        date(2026, 6, 19),
        date(2026, 7, 3),
        date(2026, 9, 7),
        date(2026, 11, 26),
        date(2026, 12, 25),
        date(2027, 1, 1),
        date(2027, 3, 26),
        date(2027, 6, 18),
        date(2027, 7, 5),
        date(2027, 12, 24),
    ] {
        assert_eq!(Market::UsEquities.valued_at(holiday), None, "{holiday}");
    }
    // When New Year's Day is a Saturday, the Friday before is no holiday.
    assert!(Market::UsEquities.valued_at(date(2027, 12, 31)).is_some());
    // On Columbus Day and Veterans Day, shares are traded and bonds are not.
    for bonds_only in [date(2026, 10, 12), date(2026, 11, 11)] {
        assert!(
            Market::UsEquities.valued_at(bonds_only).is_some(),
            "{bonds_only}"
        );
        assert_eq!(
            Market::UsTreasuries.valued_at(bonds_only),
            None,
            "{bonds_only}"
        );
    }
    // When Veterans Day is a Saturday, it is not observed on another day. When it is a Sunday, it
    // is observed on Monday.
    assert!(Market::UsTreasuries.valued_at(date(2028, 11, 10)).is_some());
    assert_eq!(Market::UsTreasuries.valued_at(date(2029, 11, 12)), None);
    for ecb in [
        date(2026, 4, 3),
        date(2026, 4, 6),
        date(2026, 5, 1),
        date(2026, 12, 25),
    ] {
        assert_eq!(Market::Currencies.valued_at(ecb), None, "{ecb}");
    }
    assert!(Market::Currencies.valued_at(date(2026, 11, 26)).is_some());
}

#[test]
fn easter_has_its_published_dates() {
    for (year, month, day) in [
        (2024, 3, 31),
        (2025, 4, 20),
        (2026, 4, 5),
        (2027, 3, 28),
        (2038, 4, 25),
    ] {
        assert_eq!(easter(year), Some(date(year, month, day)));
    }
}

#[test]
fn daily_values_have_the_time_of_their_close() {
    let close = |market: Market, day| market.valued_at(day).unwrap().to_string();
    assert_eq!(
        close(Market::UsEquities, date(2026, 11, 20)),
        "2026-11-20T21:00:00Z"
    );
    assert_eq!(
        close(Market::UsEquities, date(2026, 7, 1)),
        "2026-07-01T20:00:00Z"
    );
    assert_eq!(
        close(Market::UsEquities, date(2026, 11, 27)),
        "2026-11-27T18:00:00Z"
    );
    assert_eq!(
        close(Market::UsTreasuries, date(2026, 11, 20)),
        "2026-11-20T20:30:00Z"
    );
    assert_eq!(
        close(Market::Currencies, date(2026, 11, 20)),
        "2026-11-20T13:15:00Z"
    );
}

#[test]
fn a_weekend_expects_nothing_newer_than_friday() {
    let friday = ts("2026-11-20T21:00:00Z");
    for quiet in [
        "2026-11-20T21:30:00Z",
        "2026-11-21T12:00:00Z",
        "2026-11-22T23:00:00Z",
        "2026-11-23T20:59:00Z",
    ] {
        assert_eq!(
            Market::UsEquities.expected(ts(quiet), 0),
            Some(friday),
            "{quiet}"
        );
    }
    assert_eq!(
        Market::UsEquities.expected(ts("2026-11-23T21:30:00Z"), 0),
        Some(ts("2026-11-23T21:00:00Z"))
    );
    // The source is one session behind. Over Thanksgiving the newest value is Wednesday's.
    assert_eq!(
        Market::UsEquities.expected(ts("2026-11-27T20:00:00Z"), 1),
        Some(ts("2026-11-25T21:00:00Z"))
    );
    // The curve of a day is expected only in the evening.
    assert_eq!(
        Market::UsTreasuries.expected(ts("2026-11-20T21:00:00Z"), 0),
        Some(ts("2026-11-19T20:30:00Z"))
    );
    assert_eq!(
        Market::UsTreasuries.expected(ts("2026-11-21T01:02:00Z"), 0),
        Some(ts("2026-11-20T20:30:00Z"))
    );
}

#[test]
fn markets_open_and_close() {
    let open = |market: Market, now: &str| market.state(ts(now)) == MarketState::Open;
    assert!(open(Market::UsEquities, "2026-11-20T14:30:00Z"));
    assert!(!open(Market::UsEquities, "2026-11-20T14:29:59Z"));
    assert!(!open(Market::UsEquities, "2026-11-20T21:00:00Z"));
    assert!(open(Market::UsVolatility, "2026-11-20T21:10:00Z"));
    assert!(!open(Market::UsEquities, "2026-11-26T16:00:00Z"));
    assert!(!open(Market::UsEquities, "2026-11-27T18:30:00Z"));
    // Currencies rest from Friday 17:00 to Sunday 17:00 in New York.
    assert!(open(Market::Currencies, "2026-11-20T21:59:00Z"));
    assert!(!open(Market::Currencies, "2026-11-20T22:00:00Z"));
    assert!(!open(Market::Currencies, "2026-11-22T21:59:00Z"));
    assert!(open(Market::Currencies, "2026-11-22T22:00:00Z"));
    // Shares by day and night are open until Friday 20:00 and from Sunday 20:00, but not on the eve
    // of a holiday.
    assert!(open(Market::EquitiesDayAndNight, "2026-11-21T00:59:00Z"));
    assert!(!open(Market::EquitiesDayAndNight, "2026-11-21T01:00:00Z"));
    assert!(!open(Market::EquitiesDayAndNight, "2026-11-23T00:59:00Z"));
    assert!(open(Market::EquitiesDayAndNight, "2026-11-23T01:00:00Z"));
    assert!(!open(Market::EquitiesDayAndNight, "2026-11-26T02:00:00Z"));
    assert!(!open(Market::EquitiesDayAndNight, "2026-11-26T16:00:00Z"));
    assert!(open(Market::EquitiesDayAndNight, "2026-11-27T02:00:00Z"));
    assert!(!open(Market::CommodityFutures, "2026-11-20T22:00:00Z"));
    assert!(open(Market::CommodityFutures, "2026-11-22T23:00:00Z"));
}

#[test]
fn futures_rest_for_an_hour_each_day_and_on_the_great_holidays() {
    let open = |now: &str| Market::CommodityFutures.state(ts(now)) == MarketState::Open;
    // On a Wednesday, futures rest from 17:00 to 18:00 in New York, in summer as well.
    for (trading, resting, again) in [
        (
            "2026-11-18T21:59:59Z",
            "2026-11-18T22:00:00Z",
            "2026-11-18T23:00:00Z",
        ),
        (
            "2026-07-15T20:59:59Z",
            "2026-07-15T21:00:00Z",
            "2026-07-15T22:00:00Z",
        ),
    ] {
        assert!(open(trading) && !open(resting) && open(again), "{resting}");
    }
    assert!(!open("2026-11-18T22:59:59Z"));
    for closed in [
        // They rest for Good Friday, from the evening before until Sunday.
        "2026-04-02T22:00:00Z",
        "2026-04-03T15:00:00Z",
        "2026-04-05T21:59:00Z",
        // Christmas is a Friday in 2026 and a Thursday in 2025.
        "2026-12-24T23:30:00Z",
        "2026-12-25T15:00:00Z",
        "2025-12-25T15:00:00Z",
        "2025-12-25T22:59:00Z",
        "2025-12-31T23:30:00Z",
        "2026-01-01T15:00:00Z",
        // They rest on the afternoon of Thanksgiving, and on the afternoon after it.
        "2026-11-26T19:00:00Z",
        "2026-11-27T18:30:00Z",
    ] {
        assert!(!open(closed), "{closed}");
    }
    for trading in [
        "2026-04-05T22:00:00Z",
        "2025-12-25T23:00:00Z",
        "2026-01-01T23:00:00Z",
        "2026-11-26T15:00:00Z",
        "2026-11-26T23:00:00Z",
    ] {
        assert!(open(trading), "{trading}");
    }
}

#[test]
fn currencies_are_quiet_at_christmas_and_new_year() {
    let open = |now: &str| Market::Currencies.state(ts(now)) == MarketState::Open;
    assert!(open("2025-12-24T21:59:00Z") && !open("2025-12-24T22:00:00Z"));
    assert!(!open("2025-12-25T12:00:00Z") && open("2025-12-25T22:00:00Z"));
    assert!(!open("2026-01-01T12:00:00Z") && open("2026-01-01T22:00:00Z"));
    assert!(open("2025-12-26T12:00:00Z"));
}

#[test]
fn a_value_of_a_holiday_has_the_usual_time_and_a_weekend_has_none() {
    for (market, holiday, usual) in [
        (
            Market::UsTreasuries,
            date(2026, 11, 11),
            "2026-11-11T20:30:00Z",
        ),
        (Market::Currencies, date(2026, 5, 1), "2026-05-01T12:15:00Z"),
        (
            Market::UsEquities,
            date(2026, 6, 19),
            "2026-06-19T20:00:00Z",
        ),
    ] {
        assert_eq!(market.valued_at(holiday), None);
        assert_eq!(market.stated_at(holiday), Some(ts(usual)));
        assert_eq!(market.stated_at(date(2026, 11, 14)), None);
    }
    let short = date(2026, 11, 27);
    let close = Market::UsEquities.valued_at(short);
    assert_eq!(Market::UsEquities.stated_at(short), close);
}
