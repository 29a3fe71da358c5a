//! Tests of a server without keys, and of a clock that jumps. What the server still sells is
//! labelled correctly; all other calls are refused uncharged.

use api_server::{Sources, config::UpstreamMode};
use data_sources::{Clock as _, KeyRule, UpstreamSpec};
use jiff::{SignedDuration, Timestamp};
use route_catalog::Operation;
use serde_json::Value;

use crate::routes::attacks_upstreams::{Outcome, ask, example};
use crate::routes::shop::{Shop, clock_at};

const DAYS: i64 = 24 * 3600;

fn of_key(rule: KeyRule) -> impl Iterator<Item = &'static UpstreamSpec> {
    Sources::specs()
        .into_iter()
        .filter(move |spec| spec.key == rule)
}

/// A server at its first start: live, without a key for any upstream.
async fn without_keys() -> Shop {
    Shop::changed(|config, _replay| {
        for table in config.upstreams.0.values_mut() {
            table.mode = Some(UpstreamMode::Live);
        }
    })
    .await
}

#[tokio::test]
async fn without_any_key_nothing_is_asked_that_needs_one_and_the_rest_is_sold() {
    let shop = without_keys().await;
    let closed: Vec<&str> = of_key(KeyRule::Required)
        .flat_map(|spec| spec.sources)
        .copied()
        .collect();
    let mut sold = 0;
    for target in Operation::ALL.into_iter().filter_map(example) {
        match ask(&shop, &target).await {
            Outcome::Sold(body) => {
                sold += 1;
                for source in body["meta"]["sources"].as_array().unwrap() {
                    let id = source["id"].as_str().unwrap();
                    let silent = source["status"] == "unavailable";
                    assert!(silent || !closed.contains(&id), "{target}: {source}");
                }
            }
            Outcome::Refused(code) => {
                let named = ["upstream_unavailable", "core_data_missing", "not_found"];
                assert!(named.contains(&&*code), "{target}: {code}");
            }
        }
    }
    assert!(sold >= 20, "{sold} routes sold");
    for spec in of_key(KeyRule::Required) {
        let asked = shop.world.replay.served_of(spec.name);
        assert_eq!(asked, 0, "{} was asked without its key", spec.name);
    }

    let status = shop.world.buyer.get("/status").await.body();
    let upstreams = status["upstreams"].as_array().unwrap();
    for source in closed {
        let found: Vec<&Value> = upstreams
            .iter()
            .filter(|line| line["id"] == source)
            .collect();
        assert!(!found.is_empty(), "{source}: {status:#}");
        for line in found {
            assert_eq!(line["state"], "disabled", "{line}");
        }
    }
}

/// The stated age of an answer is the difference of the clock and its data's time, and is never
/// negative, however the clock jumps.
#[tokio::test]
async fn a_clock_that_jumps_makes_nothing_fresh_that_is_old() {
    let clock = clock_at(0);
    let shop = Shop::by_the_clock(clock.clone()).await;
    for days in [0, 400, -3, 0] {
        clock.set(days * DAYS);
        for target in Operation::ALL.into_iter().filter_map(example) {
            let Outcome::Sold(body) = ask(&shop, &target).await else {
                continue;
            };
            let meta = &body["meta"];
            let as_of: Timestamp = meta["as_of"].as_str().unwrap().parse().unwrap();
            let age = meta["age_seconds"]
                .as_u64()
                .unwrap_or_else(|| panic!("{target}: {meta}"));
            let told = SignedDuration::from_secs(age.try_into().unwrap());
            let true_age = clock.now().duration_since(as_of).max(SignedDuration::ZERO);
            assert_eq!(told, true_age, "{target} on day {days}");
            // No route's data is fresh for half a year.
            let old = true_age > SignedDuration::from_hours(24 * 180);
            assert!(
                !(old && meta["verdict"] == "fresh"),
                "{target} on day {days}: {meta}"
            );
        }
    }
}
