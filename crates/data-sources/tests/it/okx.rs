//! The OKX adapter against servers that answer well, badly and maliciously.

mod approvals;
mod prices;
mod swaps;
mod tokens;
mod upstream;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use data_sources::{
    Clock, Error, Mode,
    okx::{Credentials, Okx, OkxConfig},
    transport::{Limits, Transport},
};
use jiff::Timestamp;
use serde_json::Value;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

/// The time of the recordings.
pub(crate) const NOW: i64 = 1_795_222_800;

/// A clock that a test can move.
#[derive(Clone)]
pub(crate) struct TestClock(Arc<Mutex<Timestamp>>);

impl TestClock {
    pub(crate) fn at_recording() -> Self {
        Self(Arc::new(Mutex::new(Timestamp::from_second(NOW).unwrap())))
    }

    pub(crate) fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap();
        *now += jiff::SignedDuration::try_from(by).unwrap();
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

pub(crate) fn config(server: &MockServer) -> OkxConfig {
    OkxConfig {
        base_url: server.uri(),
        credentials: Some(Credentials {
            api_key: "test-key".into(),
            secret_key: "test-secret".into(),
            passphrase: "test-passphrase".into(),
        }),
        mode: Mode::Live,
        limits: Limits {
            timeout: Duration::from_secs(10),
            backoff: Duration::ZERO,
            ..Limits::default()
        },
        ..OkxConfig::default()
    }
}

pub(crate) fn okx(config: OkxConfig) -> Okx {
    Okx::new(
        &Transport::new().unwrap(),
        config,
        Arc::new(TestClock::at_recording()),
    )
    .unwrap()
}

/// An adapter whose upstream gives one answer to everything.
pub(crate) async fn answering(response: ResponseTemplate) -> (Okx, MockServer) {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(response)
        .mount(&server)
        .await;
    (okx(config(&server)), server)
}

pub(crate) fn json(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

pub(crate) fn recorded(name: &str) -> Value {
    let path = format!(
        "{}/../../fixtures/upstreams/okx/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(crate) fn code<T>(result: Result<T, Error>) -> &'static str {
    result.map_or_else(|error| error.code(), |_| "accepted")
}
