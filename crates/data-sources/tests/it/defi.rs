//! DefiLlama, OKX's DeFi interface and Aave against servers that answer well, badly and
//! maliciously.

mod aave;
mod llama;
mod okx;
mod pools;

use std::{collections::BTreeMap, sync::Arc};

use data_sources::{
    Error, SourceConfig, SourceErrorKind, defillama::Defillama, transport::Transport,
};
use jiff::Timestamp;
use serde_json::Value;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

/// The time of the recordings.
pub(crate) fn now() -> Timestamp {
    "2026-11-21T01:02:00Z".parse().unwrap()
}

/// A recorded answer.
pub(crate) fn recorded(file: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/upstreams/");
    std::fs::read_to_string(format!("{folder}{file}")).unwrap()
}

/// DefiLlama with all of its hosts at `server`.
pub(crate) fn defillama(server: &MockServer) -> Defillama {
    let urls = ["base_url", "yields_url", "coins_url", "stablecoins_url"];
    let config = SourceConfig {
        urls: BTreeMap::from(urls.map(|key| (key.to_owned(), server.uri()))),
        ..SourceConfig::default()
    };
    Defillama::new(&Transport::new().unwrap(), config, Arc::new(now())).unwrap()
}

pub(crate) fn json(body: impl Into<Vec<u8>>) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "application/json")
}

/// Serves `answer` for every request to the path `at`.
pub(crate) async fn serve(server: &MockServer, at: &str, answer: ResponseTemplate) {
    Mock::given(path(at))
        .respond_with(answer)
        .mount(server)
        .await;
}

/// A server that answers one path.
pub(crate) async fn serving(at: &str, answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    serve(&server, at, answer).await;
    server
}

/// `recorded` with a change.
pub(crate) fn changed(file: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(&recorded(file)).unwrap();
    change(&mut value);
    value.to_string()
}

#[track_caller]
pub(crate) fn kind(error: Error) -> SourceErrorKind {
    match error {
        Error::Source(error) => error.kind,
        other => panic!("{other}"),
    }
}
