//! The adapters of models against servers that answer well, badly and maliciously.

mod anthropic;
mod fal;
mod gemini;
mod openai_images;
mod openai_research;
mod perplexity;

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use data_sources::{
    Clock, Error, SourceConfig, SourceErrorKind, Sourced,
    transport::{Transport, TransportError},
};
use jiff::Timestamp;
use readings::ai::Generated;
use serde_json::Value;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

/// A text that must not appear anywhere but in the request.
pub(crate) const PROMPT: &str = "a bull named Rumpelstiltskin";

/// A recorded answer.
pub(crate) fn recorded(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/upstreams");
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// A server that answers everything with one thing.
pub(crate) async fn server(answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

pub(crate) fn json(status: u16, body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(body)
}

/// An adapter of that server.
pub(crate) fn adapter<T>(
    server: &MockServer,
    new: impl FnOnce(&Transport, SourceConfig, Arc<dyn Clock>) -> Result<T, TransportError>,
) -> T {
    with_options(server, &[], new)
}

pub(crate) fn with_options<T>(
    server: &MockServer,
    options: &[(&str, &str)],
    new: impl FnOnce(&Transport, SourceConfig, Arc<dyn Clock>) -> Result<T, TransportError>,
) -> T {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let config = SourceConfig {
        urls: BTreeMap::from([("base_url".to_owned(), server.uri())]),
        options: options.iter().map(owned).collect(),
        api_key: Some("key-1".to_owned().into()),
        timeout: Some(Duration::from_secs(5)),
        ..SourceConfig::default()
    };
    let clock = Timestamp::from_second(1_795_222_920).unwrap();
    new(&Transport::new().unwrap(), config, Arc::new(clock)).unwrap()
}

/// The bodies of all requests.
pub(crate) async fn request_bodies(server: &MockServer) -> Vec<Value> {
    let requests = server.received_requests().await.unwrap();
    requests
        .iter()
        .map(|request| request.body_json().unwrap_or(Value::Null))
        .collect()
}

/// The output; fails when there is none.
#[track_caller]
pub(crate) fn made<T>(found: Result<Sourced<Generated<T>>, Error>) -> T {
    match found.unwrap().value {
        Generated::Made(made) => made,
        Generated::Blocked => panic!("blocked"),
    }
}

/// Whether the model refused; fails when it did anything else.
#[track_caller]
pub(crate) fn blocked<T: std::fmt::Debug>(found: Result<Sourced<Generated<T>>, Error>) {
    let found = found.unwrap().value;
    assert!(matches!(found, Generated::Blocked), "{found:?}");
}

/// The kind of a failure. It contains none of the upstream's text.
#[track_caller]
pub(crate) fn failed<T: std::fmt::Debug>(
    found: Result<Sourced<Generated<T>>, Error>,
) -> SourceErrorKind {
    let error = found.unwrap_err();
    assert!(
        !format!("{error} {error:?}").contains("Rumpel"),
        "{error:?}"
    );
    match error {
        Error::Source(error) => error.kind,
        other => panic!("{other}"),
    }
}
