//! The change of a coin since this server read it about a day ago.

use readings::{Decimal, Figure};
use serde_json::{Map, Value, json};

use crate::answer::seconds;
use crate::memory::{Memory, Remembered};

/// Basis points in 1.
const BPS: u32 = 10_000;

/// The available parts of a deep dive.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) details: Option<&'a Value>,
    pub(super) derivatives: Option<&'a Value>,
    pub(super) flows: Option<&'a Value>,
}

/// The change, and its missing members.
pub(super) struct CoinChange {
    /// `None` when this server has not read the coin before.
    pub(super) change: Option<Value>,
    /// Figures that were not read a day ago.
    pub(super) unread: Vec<&'static str>,
}

/// The unit of a change.
#[derive(Clone, Copy)]
enum Unit {
    /// In percent of the earlier value.
    Percent,
    /// As a difference in units, of which this many make 1.
    Difference(u32),
    /// As a count.
    Count,
}
use Unit::{Count, Difference, Percent};

type Part = for<'a> fn(&Parts<'a>) -> Option<&'a Value>;

const DETAILS: Part = |parts| parts.details;
const DERIVATIVES: Part = |parts| parts.derivatives;
const FLOWS: Part = |parts| parts.flows;

/// The compared figures: the member of the change, and the figure behind it.
const WATCHED: [(&str, Part, &str, Unit); 9] = [
    ("price_pct", DETAILS, "/price_usd", Percent),
    ("volume_pct", DETAILS, "/volume_24h_usd", Percent),
    (
        "oi_pct",
        DERIVATIVES,
        "/markets/0/aggregate/oi_usd",
        Percent,
    ),
    (
        "funding_8h_bps",
        DERIVATIVES,
        "/markets/0/aggregate/oi_weighted_rate_8h",
        Difference(BPS),
    ),
    ("holders", FLOWS, "/holders", Count),
    ("top10_points", FLOWS, "/top10_pct", Difference(1)),
    ("liquidity_pct", FLOWS, "/liquidity_usd", Percent),
    ("chain_volume_pct", FLOWS, "/volume_24h_usd", Percent),
    ("txs_pct", FLOWS, "/txs_24h", Percent),
];

/// Remembers the coin `id` with its present figures and compares them with the day before. Figures
/// that the coin does not have, such as holders of a coin that is not a token, are left out.
pub(super) fn since_yesterday(
    memory: &Memory,
    id: &str,
    parts: Parts<'_>,
    now: jiff::Timestamp,
) -> CoinChange {
    let present = WATCHED.iter().fold(
        Remembered::at(now),
        |reading, (member, part, pointer, _)| {
            reading.with(
                *member,
                part(&parts).and_then(|part| figure(part.pointer(pointer)?)),
            )
        },
    );
    let known: Vec<_> = WATCHED
        .iter()
        .filter(|(member, ..)| present.has(member))
        .collect();
    let Some(compared) = memory.compare(&format!("coin:{id}"), present) else {
        return CoinChange {
            change: None,
            unread: Vec::new(),
        };
    };
    let mut change = Map::new();
    let mut unread = Vec::new();
    change.insert("since".to_owned(), json!(seconds(compared.since)));
    for (member, _, _, unit) in known {
        let value = match unit {
            Percent => compared.percent(member).map(|percent| json!(percent)),
            Difference(scale) => compared.difference(member, *scale).map(|by| json!(by)),
            Count => compared.difference(member, 1).and_then(count),
        };
        if value.is_none() {
            unread.push(*member);
        }
        change.insert((*member).to_owned(), value.unwrap_or_default());
    }
    CoinChange {
        change: Some(Value::Object(change)),
        unread,
    }
}

fn count(figure: Figure) -> Option<Value> {
    i64::try_from(figure.get()).ok().map(|count| json!(count))
}

/// Reads a figure from text, or a count.
fn figure(value: &Value) -> Option<Figure> {
    match value {
        Value::String(text) => text.parse().ok(),
        _ => value.as_u64().map(|count| Figure(Decimal::from(count))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coin_without_holders_has_a_change_without_them() {
        let memory = Memory::default();
        let at = |hours: i64| jiff::Timestamp::from_second(hours * 3600).unwrap();
        let change_at = |hours, price: &str, flows: Option<&Value>, oi: Option<&str>| {
            let details = json!({"price_usd": price});
            let derivatives = json!({"markets": [{"aggregate": {"oi_usd": oi}}]});
            let parts = Parts {
                details: Some(&details),
                derivatives: Some(&derivatives),
                flows,
            };
            since_yesterday(&memory, "bitcoin", parts, at(hours))
        };
        assert_eq!(change_at(0, "100", None, None).change, None);
        let flows = json!({"holders": 12});
        let later = change_at(24, "110", Some(&flows), Some("7"));
        assert_eq!(
            later.change,
            Some(json!({
                "since": "1970-01-01T00:00:00Z", "price_pct": "10", "oi_pct": null, "holders": null,
            }))
        );
        // A figure that was not read a day ago is listed. A figure that the coin does not have is
        // left out.
        assert_eq!(later.unread, ["oi_pct", "holders"]);
    }
}
