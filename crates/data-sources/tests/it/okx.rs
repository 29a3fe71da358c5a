//! The OKX adapter against servers that answer well, badly and maliciously.

mod approvals;
mod prices;
mod swaps;
mod tokens;
mod upstream;

use std::sync::Arc;
use std::time::Duration;

use data_sources::okx::{Credentials, Okx, OkxConfig};
use data_sources::transport::{Limits, Transport};
use data_sources::{Error, Mode};
use jiff::Timestamp;
use serde_json::Value;
use test_support::ManualClock;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

pub(crate) use crate::support::json;

/// The time of the recordings.
pub(crate) const NOW: i64 = 1_795_222_800;

/// A clock of the recordings that a test moves.
pub(crate) fn recorded_clock() -> ManualClock {
    ManualClock::at(Timestamp::from_second(NOW).unwrap())
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
        Arc::new(recorded_clock()),
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
