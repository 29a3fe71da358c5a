//! A shop: a server in this process whose upstreams are recordings, and its buyer. Also the checks
//! that hold for every answer and every refusal.

use std::sync::Arc;

use api_server::Config;
use data_sources::Clock;
use jiff::Timestamp;
use replay::{RECORDED_AT, Recordings, ReplayServer};
use serde_json::Value;
use test_support::ManualClock;

use crate::support::World;

/// A server and its buyer.
pub(crate) struct Shop {
    pub world: World,
}

impl Shop {
    /// Opens a shop over the recordings as they are.
    pub(crate) async fn open() -> Self {
        Self::changed(|_config, _replay| {}).await
    }

    /// Opens a shop over the recordings as they are, whose clock stands at their time.
    pub(crate) async fn at_the_recording() -> Self {
        Self::by_the_clock(Arc::new(recorded_at())).await
    }

    /// Opens a shop over the recordings as they are, whose data ages by the given clock.
    pub(crate) async fn by_the_clock(clock: Arc<dyn Clock>) -> Self {
        let recordings = Recordings::embedded().unwrap();
        let world = Box::pin(World::at(clock, recordings, |_config, _replay| {})).await;
        Self { world }
    }

    /// Like [`Self::by_the_clock`], but the test may change the configuration.
    pub(crate) async fn changed_by_the_clock(
        clock: Arc<dyn Clock>,
        change: impl FnOnce(&mut Config, &ReplayServer),
    ) -> Self {
        let recordings = Recordings::embedded().unwrap();
        let world = Box::pin(World::at(clock, recordings, change)).await;
        Self { world }
    }

    /// Opens a shop in which the recordings of a scenario take precedence.
    pub(crate) async fn in_scenario(scenario: &str) -> Self {
        let recordings = Recordings::embedded().unwrap().with_scenario(scenario);
        let world = Box::pin(World::replaying(recordings, |_config, _replay| {})).await;
        Self { world }
    }

    /// Opens a shop whose configuration the test may change.
    pub(crate) async fn changed(change: impl FnOnce(&mut Config, &ReplayServer)) -> Self {
        let recordings = Recordings::embedded().unwrap();
        let world = Box::pin(World::replaying(recordings, change)).await;
        Self { world }
    }

    /// Opens a shop in which some upstreams cannot be reached, because nothing listens at their
    /// addresses.
    pub(crate) async fn without(upstreams: &[&str]) -> Self {
        Self::changed(|config, _replay| {
            for name in upstreams {
                let table = config.upstreams.0.get_mut(*name).expect("an upstream");
                let keys: Vec<String> = table.urls().map(|(key, _)| key.to_owned()).collect();
                for key in keys {
                    assert!(table.set_url(&key, "http://127.0.0.1:9".to_owned()));
                }
            }
        })
        .await
    }

    /// Buys an answer. Asserts 200, the charge, and the form that every answer has.
    pub(crate) async fn buy<'a>(&'a self, target: &'a str) -> Value {
        let before = self.world.paid();
        let payment = self.world.buyer.payment(target).await;
        let answer = self.world.buyer.get_paid(target, &payment).await;
        assert_eq!(answer.status, 200, "{target}: {}", answer.text);
        assert!(self.world.paid() > before, "{target} was not charged");
        assert!(answer.headers.contains_key("age"), "{target}");
        let body = answer.body();
        well_formed(target, &body);
        body
    }

    /// Makes a call that is refused. Asserts that nothing is charged, and returns the error.
    pub(crate) async fn refused(&self, target: &str, status: u16, code: &str) -> Value {
        let before = self.world.paid();
        let payment = self.world.buyer.payment(target).await;
        let answer = self.world.buyer.get_paid(target, &payment).await;
        answer.is_refused(status, code);
        assert_eq!(self.world.paid(), before, "{target} was charged");
        answer.body()["error"].clone()
    }
}

/// Makes a clock for the ages of data, which a test can move. It starts this many seconds after the
/// recordings.
pub(crate) fn clock_at(seconds: i64) -> Arc<ManualClock> {
    let clock = ManualClock::at(recorded_at());
    clock.set(seconds);
    Arc::new(clock)
}

/// Asserts the form that the answer of every route has.
pub(crate) fn well_formed(target: &str, body: &Value) {
    let meta = &body["meta"];
    let path = target.split('?').next().unwrap();
    assert_eq!(meta["route"], path, "{target}");
    assert!(body["data"].is_object(), "{target}: data is no object");
    no_floats(target, &body["data"], "data");
    assert!(meta["as_of"].as_str().unwrap().parse::<Timestamp>().is_ok());
    assert!(matches!(meta["verdict"].as_str(), Some("fresh" | "stale")));
    for section in meta["sections"].as_array().into_iter().flatten() {
        let most = |of: &Value| of["max_age_seconds"].as_u64().unwrap();
        assert!(most(section) <= most(meta), "{target}: {section}");
        let stale = section["age_seconds"].as_u64().unwrap() > most(section);
        assert_eq!(section["verdict"] == "stale", stale, "{target}: {section}");
        assert!(!stale || meta["verdict"] == "stale", "{target}: {section}");
    }
    for cut in meta["cut"].as_array().into_iter().flatten() {
        let (shown, total) = (cut["shown"].as_u64(), cut["total"].as_u64());
        assert!(shown < total, "{target}: {cut}");
    }
    let sources = meta["sources"].as_array().unwrap();
    assert!(!sources.is_empty(), "{target} names no source");
    for source in sources {
        assert!(
            source["id"].is_string() && source["status"].is_string(),
            "{target}: {source}"
        );
    }
    for entry in meta["unavailable"].as_array().unwrap() {
        assert!(
            entry["field"].as_str().unwrap().starts_with("data"),
            "{target}: {entry}"
        );
        assert!(
            !entry["reason"].as_str().unwrap().is_empty(),
            "{target}: {entry}"
        );
    }
}

fn no_floats(target: &str, value: &Value, path: &str) {
    match value {
        Value::Number(number) => {
            assert!(!number.is_f64(), "{target}: {path} is the float {number}");
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| no_floats(target, item, &format!("{path}[]"))),
        Value::Object(members) => members
            .iter()
            .for_each(|(name, member)| no_floats(target, member, &format!("{path}.{name}"))),
        _ => {}
    }
}

/// The entry about the source with this id.
pub(crate) fn source<'a>(body: &'a Value, id: &str) -> &'a Value {
    let sources = body["meta"]["sources"].as_array().unwrap();
    sources
        .iter()
        .find(|source| source["id"] == id)
        .unwrap_or(&Value::Null)
}

/// The entry about an unavailable member.
pub(crate) fn unavailable<'a>(body: &'a Value, field: &str) -> &'a Value {
    let entries = body["meta"]["unavailable"].as_array().unwrap();
    entries
        .iter()
        .find(|entry| entry["field"] == field)
        .unwrap_or(&Value::Null)
}

/// The reason why a member is unavailable, if the answer has one.
pub(crate) fn why_missing<'a>(body: &'a Value, field: &str) -> Option<&'a str> {
    unavailable(body, field)["reason"].as_str()
}

/// The codes of an answer's warnings.
pub(crate) fn codes(body: &Value) -> Vec<&str> {
    let warnings = body["meta"]["warnings"].as_array();
    let codes = warnings
        .into_iter()
        .flatten()
        .map(|warning| &warning["code"]);
    codes.map(|code| code.as_str().unwrap()).collect()
}

/// For how many more seconds an answer counts as fresh. With several sections, the first one that
/// goes stale decides.
pub(crate) fn left(body: &Value) -> i64 {
    let left =
        |of: &Value| of["max_age_seconds"].as_i64().unwrap() - of["age_seconds"].as_i64().unwrap();
    let sections = body["meta"]["sections"].as_array();
    let sections = sections.into_iter().flatten().map(left);
    sections.min().unwrap_or_else(|| left(&body["meta"]))
}

/// The section of an answer with this name.
pub(crate) fn section<'a>(body: &'a Value, name: &str) -> &'a Value {
    let sections = body["meta"]["sections"].as_array();
    let mut sections = sections.into_iter().flatten();
    sections
        .find(|section| section["name"] == name)
        .unwrap_or(&Value::Null)
}

/// The time of the recordings.
pub(crate) fn recorded_at() -> Timestamp {
    Timestamp::from_second(i64::try_from(RECORDED_AT).unwrap()).unwrap()
}

/// Whether a reason means that the upstream cannot be reached. After a few tries the server does
/// not ask the upstream any more, which is a second such reason.
pub(crate) fn unreachable(reason: &str) -> bool {
    matches!(reason, "upstream_unreachable" | "upstream_circuit_open")
}
