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
    // 2026: summer time from 8 March to 1 November; in Europe from 29 March to 25 October.
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
fn holidays_of_the_exchanges() {
    // As published for 2026 and 2027.
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
    // A New Year's Day on a Saturday is not kept on the Friday before.
    assert!(Market::UsEquities.valued_at(date(2027, 12, 31)).is_some());
    // Columbus Day and Veterans Day: bonds rest, shares do not.
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
fn easter_is_where_the_church_has_it() {
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
    // One session behind; over Thanksgiving that is Wednesday.
    assert_eq!(
        Market::UsEquities.expected(ts("2026-11-27T20:00:00Z"), 1),
        Some(ts("2026-11-25T21:00:00Z"))
    );
    // The curve of a day is not expected before the evening.
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
    // Currencies: Friday 17:00 to Sunday 17:00 in New York.
    assert!(open(Market::Currencies, "2026-11-20T21:59:00Z"));
    assert!(!open(Market::Currencies, "2026-11-20T22:00:00Z"));
    assert!(!open(Market::Currencies, "2026-11-22T21:59:00Z"));
    assert!(open(Market::Currencies, "2026-11-22T22:00:00Z"));
    // Shares by day and night: until Friday 20:00, from Sunday 20:00, not on the eve of a holiday.
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
