//! Nodes, interfaces, signatures and balances: adapters against servers that answer well, badly and
//! maliciously.

mod balances;
mod contracts;
mod nodes;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use data_sources::{Clock, Error, SourceConfig, transport::Transport};
use jiff::Timestamp;
use serde_json::Value;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

/// The time of the recordings.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(1_795_222_920).unwrap()
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(now())
}

/// A clock that a test moves.
#[derive(Clone)]
pub(crate) struct MovingClock(Arc<AtomicI64>);

impl MovingClock {
    pub(crate) fn at_recording() -> Self {
        Self(Arc::new(AtomicI64::new(now().as_second())))
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for MovingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

pub(crate) fn transport() -> Transport {
    Transport::new().unwrap()
}

/// A server with one answer to everything.
pub(crate) async fn answering(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(response)
        .mount(&server)
        .await;
    server
}

/// Every address of an upstream at one server.
pub(crate) fn at(server: &MockServer, keys: &[&str]) -> SourceConfig {
    SourceConfig {
        urls: keys
            .iter()
            .map(|key| ((*key).to_owned(), server.uri()))
            .collect::<BTreeMap<_, _>>(),
        ..SourceConfig::default()
    }
}

pub(crate) fn json(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

pub(crate) fn recorded(name: &str) -> Value {
    let path = format!(
        "{}/../../fixtures/upstreams/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.map_or_else(|error| error.reason(), |value| panic!("{value:?}"))
}
