//! The difference of the day from the one before. News and leaders are compared by publication
//! time; markets, value locked and macro readings by what this server read a day ago.

use jiff::Timestamp;
use readings::Figure;
use serde_json::{Map, Value, json};

use super::draft::Draft;
use crate::answer::seconds;
use crate::memory::{Compared, Memory, Remembered};

/// The number of the largest coins whose funding and open interest are compared.
const COINS: usize = 20;
/// The number of the largest chains and protocols whose value is compared.
const LOCKED_IN: usize = 25;
/// Basis points in 1.
const BPS: u32 = 10_000;
/// Basis points in a percent.
const BP: u32 = 100;
/// The yields that are compared.
const YIELDS: [&str; 4] = ["3m", "2y", "10y", "30y"];
const UNREAD: &str = "not_read_the_day_before";

/// Computes the change. The draft lists the members that are missing.
pub(super) fn since_yesterday(
    memory: &Memory,
    draft: &mut Draft,
    news: Value,
    news_source: &'static str,
    now: Timestamp,
) -> Value {
    let sections = &draft.sections;
    let of_leaders = sections
        .get("leaders_said")
        .and_then(|leaders| leaders.get("change"));
    let change = json!({
        "news": news,
        "leaders": of_leaders,
        "derivatives": derivatives(memory, sections, now),
        "tvl": locked(memory, sections, now),
        "macro": readings(memory, sections, now),
    });
    for (field, reason, source) in [
        ("news", "no_snapshot", news_source),
        ("leaders", "yesterday_not_covered", "x.list"),
        ("news.tone", "no_article_of_the_day", news_source),
        ("news.tone_yesterday", "no_article_of_the_day", news_source),
        ("derivatives", UNREAD, ""),
        ("tvl", UNREAD, ""),
        ("macro", UNREAD, ""),
    ] {
        let place = format!("/{}", field.replace('.', "/"));
        if change.pointer(&place).is_some_and(Value::is_null) {
            draft
                .report
                .missing(&format!("change.{field}"), reason, source);
        }
    }
    change
}

/// The change of funding and open interest of the largest coins.
fn derivatives(memory: &Memory, sections: &Map<String, Value>, now: Timestamp) -> Option<Value> {
    let markets = rows(sections.get("derivatives")?, COINS);
    let mut present = Remembered::at(now);
    for (market, symbol) in named(&markets, "symbol") {
        let of = |pointer: &str| figure(market.pointer(pointer)?);
        present = present
            .with(format!("oi:{symbol}"), of("/aggregate/oi_usd"))
            .with(
                format!("funding:{symbol}"),
                of("/aggregate/oi_weighted_rate_8h"),
            );
    }
    let compared = memory.compare("report:derivatives", present)?;
    let row = |(_, symbol): (&Value, &str)| {
        let oi_pct = compared.percent(&format!("oi:{symbol}"))?;
        let funding = compared.difference(&format!("funding:{symbol}"), BPS)?;
        Some(json!({ "symbol": symbol, "oi_pct": oi_pct, "funding_8h_bps": funding }))
    };
    let changed: Vec<Value> = named(&markets, "symbol").filter_map(row).collect();
    changed_since(&compared, [("markets", json!(changed))])
}

/// The change of value locked: the total, the largest chains and the largest protocols.
fn locked(memory: &Memory, sections: &Map<String, Value>, now: Timestamp) -> Option<Value> {
    let defi = sections.get("defi").filter(|defi| !defi.is_null())?;
    let of = |list: &str| defi.get(list).map(|list| rows(list, LOCKED_IN));
    let (chains, protocols) = (of("chains").unwrap_or_default(), of("protocols")?);
    let value = |row: &Value| figure(row.get("tvl_usd")?);
    let total = defi.get("total_tvl_usd").and_then(figure);
    let mut present = Remembered::at(now).with("total", total);
    for (row, name) in named(&chains, "name") {
        present = present.with(format!("chain:{name}"), value(row));
    }
    for (row, slug) in named(&protocols, "slug") {
        present = present.with(format!("protocol:{slug}"), value(row));
    }
    let compared = memory.compare("report:tvl", present)?;
    let changed = |rows: &[&Value], kind: &str, member: &str| -> Vec<Value> {
        let row = |(_, name): (&Value, &str)| {
            let tvl_pct = compared.percent(&format!("{kind}:{name}"))?;
            Some(json!({ member: name, "tvl_pct": tvl_pct }))
        };
        named(rows, member).filter_map(row).collect()
    };
    let lists = [
        ("chains", json!(changed(&chains, "chain", "name"))),
        ("protocols", json!(changed(&protocols, "protocol", "slug"))),
    ];
    let total = compared.percent("total");
    let total = total.map(|total| ("total_pct", json!(total)));
    changed_since(&compared, total.into_iter().chain(lists))
}

/// The change of the volatility index and of yields.
fn readings(memory: &Memory, sections: &Map<String, Value>, now: Timestamp) -> Option<Value> {
    let macros = sections.get("macro").filter(|macros| !macros.is_null())?;
    let value = |place: &str| figure(macros.pointer(place)?.get("value")?);
    let mut present = Remembered::at(now).with("vix", value("/volatility/vix"));
    for tenor in YIELDS {
        present = present.with(tenor, value(&format!("/yields/{tenor}")));
    }
    let compared = memory.compare("report:macro", present)?;
    let vix = compared.percent("vix");
    let vix = vix.map(|change| json!({ "of": "vix", "change_pct": change }));
    let yields = YIELDS.iter().filter_map(|tenor| {
        let change = compared.difference(tenor, BP)?;
        Some(json!({ "of": tenor, "change_bp": change }))
    });
    let changed: Vec<Value> = vix.into_iter().chain(yields).collect();
    changed_since(&compared, [("readings", json!(changed))])
}

fn changed_since(
    compared: &Compared,
    members: impl IntoIterator<Item = (&'static str, Value)>,
) -> Option<Value> {
    let since = ("since", json!(seconds(compared.since)));
    let members = std::iter::once(since).chain(members);
    Some(Value::Object(
        members
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    ))
}

/// The first rows of a list.
fn rows(list: &Value, largest: usize) -> Vec<&Value> {
    let rows = list.as_array().into_iter().flatten();
    rows.take(largest).collect()
}

/// Rows with their names.
fn named<'a>(rows: &[&'a Value], member: &str) -> impl Iterator<Item = (&'a Value, &'a str)> {
    rows.iter()
        .filter_map(move |row| Some((*row, row.get(member)?.as_str()?)))
}

fn figure(value: &Value) -> Option<Figure> {
    value.as_str()?.parse().ok()
}
