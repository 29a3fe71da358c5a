//! Shared parts of the modules: servers that stand in for an upstream, and recorded answers.

use data_sources::transport::Transport;
use serde_json::Value;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

/// A server that gives one answer to everything.
pub(crate) async fn answering(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(response)
        .mount(&server)
        .await;
    server
}

pub(crate) fn transport() -> Transport {
    Transport::new().unwrap()
}

pub(crate) fn json(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

/// A recorded answer, by its file without the ending.
pub(crate) fn recorded(name: &str) -> Value {
    let path = format!(
        "{}/../../fixtures/upstreams/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// How many requests came.
pub(crate) async fn request_count(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

/// The JSON-RPC methods that a node was asked for.
pub(crate) async fn methods(node: &MockServer) -> Vec<String> {
    let method = |request: &Request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        body["method"].as_str().unwrap().to_owned()
    };
    node.received_requests()
        .await
        .unwrap()
        .iter()
        .map(method)
        .collect()
}
