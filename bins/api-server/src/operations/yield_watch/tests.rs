//! Compares the catalog's examples with the rendering of one mandate.

use std::path::Path;
use std::sync::Arc;

use alloy_primitives::B256;
use watch_server::{Clock, Kept, MemoryStore};
use yield_watch::{Pool, Reading, Snapshot, Watched, verify};

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn pool(id: &str, apy: &str) -> Pool {
    Pool {
        pool: id.to_owned(),
        project: "aave-v3".to_owned(),
        chain: "Base".to_owned(),
        symbol: "USDC".to_owned(),
        apy_pct: apy.parse().unwrap(),
    }
}

fn reading(time: &str, best: Pool) -> Reading {
    let time = at(time);
    Reading {
        at: time,
        snapshot: Some(Snapshot {
            id: format!("yield_pools-{}-5b1c9f02", time.as_second()),
            taken_at: time,
            max_age_seconds: 2_700,
        }),
        best: Some(best),
        position: None,
        cost_usd: None,
    }
}

/// The mandate of the example call after a check an hour later.
async fn example() -> (Kept, Vec<Value>) {
    let route = Operation::CreateYieldWatch.route();
    let body = route.example_call().body.to_string();
    let parameters = route.parse(None, body.as_bytes()).unwrap();
    let owner = "eip155:196:0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
    let terms = terms(&parameters, owner.to_owned()).unwrap();
    let clock: Clock = Arc::new(|| at("2026-11-20T10:00:00Z"));
    let mandates = Mandates::new(Arc::new(MemoryStore::default()), clock);
    let mut kept = mandates
        .create(B256::repeat_byte(1), terms, None)
        .await
        .unwrap();
    let (mut watched, created) = Watched::create(kept.watched.mandate().clone()).unwrap();
    assert_eq!(watched, kept.watched);
    let mut records = vec![created];
    let first = pool("aa70268e-4b52-42bf-a116-608b370f9501", "4.1");
    let second = pool("7e0661bf-8cf3-45e6-9424-31916d4c7b84", "4.75");
    for reading in [
        reading("2026-11-20T10:00:41Z", first),
        reading("2026-11-20T11:01:20Z", second),
    ] {
        records.extend(watched.check(reading).unwrap());
    }
    let records: Vec<Value> = records
        .iter()
        .map(|record| serde_json::to_value(record).unwrap())
        .collect();
    assert_eq!(verify(&records), Ok(watched.head()));
    kept.watched = watched;
    (kept, records)
}

/// Compares the example of a route with the rendered one, or writes it.
fn compare(name: &str, data: &Value) {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../crates/route-catalog/src/examples"
    );
    let path = Path::new(folder).join(format!("{name}.json"));
    let text = serde_json::to_string_pretty(data).unwrap() + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let documented = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(documented, text, "{name}: run `cargo xtask docs`");
}

#[tokio::test]
async fn generated_docs_of_the_mandate_routes_are_what_they_answer() {
    let (mut kept, records) = example().await;
    let now = at("2026-11-20T11:10:00Z");
    let view = view::mandate(&kept, now);
    let id = Operation::CancelYieldWatch.route().query[0].example;
    assert_eq!(view["id"], id, "the id of the examples");
    let new = shown_when_new().await;
    compare("create_yield_watch", &new);
    compare(
        "list_yield_watch",
        &json!({"mandates": [view], "next_cursor": null}),
    );
    compare(
        "audit_yield_watch",
        &json!({"records": records, "next_cursor": null}),
    );
    kept.watched.end(now).unwrap();
    let ended = kept.watched.mandate().ended.unwrap();
    let cancelled = json!({
        "id": id, "state": ended.state, "confirmed_at": seconds(ended.at), "move": null,
    });
    compare("cancel_yield_watch", &cancelled);
}

async fn shown_when_new() -> Value {
    let (kept, _) = example().await;
    let mandate = yield_watch::Mandate {
        last_check_at: None,
        ..kept.watched.mandate().clone()
    };
    let (watched, _) = Watched::create(mandate).unwrap();
    let created_at = watched.mandate().created_at;
    view::mandate(&Kept { watched, ..kept }, created_at)
}
