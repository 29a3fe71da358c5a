//! The history of a pool's yield and size.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use crate::Figure;

/// How far in the future a point may be. A later one is an error.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// The state of a pool at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The time.
    #[serde(serialize_with = "seconds")]
    pub time: Timestamp,
    /// The yield (base and reward), in percent a year.
    pub apy_pct: Option<Figure>,
    /// The value locked in it, in dollars.
    pub tvl_usd: Option<Figure>,
}

/// Returns the points of the last `days` days before `now`, oldest first. Of two points with the
/// same time, the later one in the list counts. Leaves out points in the future.
#[must_use]
pub fn window(points: &[Point], days: u64, now: Timestamp) -> Vec<Point> {
    let back = i64::try_from(days)
        .ok()
        .and_then(|days| days.checked_mul(24))
        .map(SignedDuration::from_hours);
    let first = back.and_then(|back| now.checked_sub(back).ok());
    let last = now.checked_add(TOLERANCE).unwrap_or(now);
    let within = points
        .iter()
        .filter(|point| first.is_none_or(|first| point.time >= first) && point.time <= last);
    let by_time: BTreeMap<Timestamp, &Point> = within.map(|point| (point.time, point)).collect();
    by_time.into_values().cloned().collect()
}

/// Writes a time in RFC 3339, without a fraction of a second.
fn seconds<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    let whole = Timestamp::from_second(time.as_second()).unwrap_or(*time);
    serializer.collect_str(&whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(time: &str, apy: &str) -> Point {
        Point {
            time: time.parse().unwrap(),
            apy_pct: Some(apy.parse().unwrap()),
            tvl_usd: None,
        }
    }

    #[test]
    fn a_window_is_ordered_and_ends_now() {
        let now = "2026-11-21T01:02:00Z".parse().unwrap();
        let points = [
            point("2026-11-20T00:01:20.5Z", "4.12"),
            point("2026-11-22T00:00:00Z", "9"),
            point("2026-11-19T00:01:23Z", "4"),
            point("2026-11-19T00:01:23Z", "4.05"),
            point("2026-11-18T01:01:59Z", "1"),
        ];
        let kept = window(&points, 3, now);
        let shown: Vec<_> = kept
            .iter()
            .map(|point| point.apy_pct.unwrap().to_string())
            .collect();
        assert_eq!(shown, ["4.05", "4.12"]);
        assert_eq!(
            serde_json::to_string(&kept[1]).unwrap(),
            r#"{"time":"2026-11-20T00:01:20Z","apy_pct":"4.12","tvl_usd":null}"#
        );
        assert_eq!(window(&points, 0, now), []);
        assert_eq!(window(&points, u64::MAX, now).len(), 3);
    }
}
