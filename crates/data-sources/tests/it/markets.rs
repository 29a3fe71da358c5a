//! The adapters of futures venues and macro data against servers that answer well, badly and
//! maliciously.

mod hyperliquid;
mod hyperliquid_accounts;
mod hyperliquid_histories;
mod macros;
mod venues;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use data_sources::transport::Transport;
use data_sources::{Clock, Error, SourceConfig};
use jiff::Timestamp;
use serde_json::Value;
use test_support::ManualClock;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// The time of the recordings: 2026-11-21T01:02:00Z.
pub(crate) const NOW: i64 = 1_795_222_920;

/// A clock of the recordings that a test moves.
pub(crate) fn recorded_clock() -> ManualClock {
    ManualClock::at(Timestamp::from_second(NOW).unwrap())
}

/// A server that decides by request; `None` is a 404.
pub(crate) async fn deciding(
    decide: impl Fn(&Request) -> Option<ResponseTemplate> + Send + Sync + 'static,
) -> MockServer {
    struct Decide<F>(F);
    impl<F: Fn(&Request) -> Option<ResponseTemplate> + Send + Sync> Respond for Decide<F> {
        fn respond(&self, request: &Request) -> ResponseTemplate {
            (self.0)(request).unwrap_or_else(|| ResponseTemplate::new(404))
        }
    }
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(Decide(decide))
        .mount(&server)
        .await;
    server
}

/// An adapter whose addresses are all those of `server`.
pub(crate) fn connect<T>(
    server: &MockServer,
    new: impl FnOnce(
        &Transport,
        SourceConfig,
        Arc<dyn Clock>,
    ) -> Result<T, data_sources::transport::TransportError>,
) -> T {
    connect_at(server, &recorded_clock(), new)
}

pub(crate) fn connect_at<T>(
    server: &MockServer,
    clock: &ManualClock,
    new: impl FnOnce(
        &Transport,
        SourceConfig,
        Arc<dyn Clock>,
    ) -> Result<T, data_sources::transport::TransportError>,
) -> T {
    let urls = ["base_url", "csv_url"].map(|key| (key.to_owned(), server.uri()));
    let config = SourceConfig {
        urls: BTreeMap::from(urls),
        timeout: Some(Duration::from_secs(10)),
        ..SourceConfig::default()
    };
    new(&Transport::new().unwrap(), config, Arc::new(clock.clone())).unwrap()
}

pub(crate) fn text(file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/upstreams");
    std::fs::read_to_string(folder.join(file)).unwrap()
}

pub(crate) fn recorded(file: &str) -> Value {
    serde_json::from_str(&text(file)).unwrap()
}

pub(crate) fn json(body: &Value) -> ResponseTemplate {
    raw(&body.to_string())
}

pub(crate) fn raw(body: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body.to_owned(), "application/json")
}

pub(crate) fn csv(body: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body.to_owned(), "text/csv")
}

/// The text of `meta.unavailable[].reason`.
#[track_caller]
pub(crate) fn reason<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().reason()
}
