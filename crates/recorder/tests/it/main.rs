//! Tests that replay serves what the proxy records, and that no recording holds a key.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    unused_crate_dependencies,
    reason = "test code"
)]

use std::{fs, path::Path, sync::Arc};

use http_edge::{Limits, Server};
use recorder::{Library, Proxy, Scheme};
use replay::{Recordings, ReplayServer};
use serde_json::Value;
use tempfile::TempDir;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

const KEY: &str = "a-very-secret-key";

struct Stage {
    upstream: MockServer,
    folder: TempDir,
    proxy: String,
}

impl Stage {
    async fn set(answer: ResponseTemplate, scheme: Scheme) -> Self {
        let upstream = MockServer::start().await;
        Mock::given(any())
            .respond_with(answer)
            .mount(&upstream)
            .await;
        let folder = tempfile::tempdir().unwrap();
        let library = Library::open(folder.path()).unwrap();
        let server = Server::bind(([127, 0, 0, 1], 0).into(), Limits::default())
            .await
            .unwrap();
        let proxy = format!("http://{}", server.local_addr());
        let handler = Arc::new(Proxy::new(library, scheme).unwrap());
        tokio::spawn(server.serve(handler, std::future::pending()));
        Self {
            upstream,
            folder,
            proxy,
        }
    }

    fn host(&self) -> String {
        self.upstream.address().to_string()
    }

    async fn get(&self, target: &str) -> (u16, String) {
        let url = format!("{}/{}{target}", self.proxy, self.host());
        let client = test_support::http_client();
        let request = client.get(url).header("x-api-key", KEY);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    fn manifest(&self) -> Option<Value> {
        let folder = fs::read_dir(self.folder.path()).unwrap().next()?.unwrap();
        let text = fs::read_to_string(folder.path().join("manifest.json")).unwrap();
        Some(serde_json::from_str(&text).unwrap())
    }
}

fn everything_in(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        text += &path.display().to_string();
        text += &match path.is_dir() {
            true => everything_in(&path),
            false => fs::read_to_string(&path).unwrap(),
        };
    }
    text
}

#[tokio::test]
async fn recordings_are_replayed_and_carry_no_key() {
    let body = "{ \"price\" : 1e-7 }\n";
    let answer = ResponseTemplate::new(200).set_body_raw(body, "application/json");
    let stage = Stage::set(answer, Scheme::Http).await;
    let target = format!("/v1/price?symbol=OKB&api_key={KEY}");
    assert_eq!(stage.get(&target).await, (200, body.to_owned()));
    // The same request replaces the stored answer. Another request is stored beside it.
    stage.get(&target).await;
    stage.get("/v1/price?symbol=ETH").await;
    let manifest = stage.manifest().unwrap();
    let listed = manifest["fixtures"].as_array().unwrap();
    assert_eq!(listed.len(), 2, "{manifest}");
    assert_eq!(listed[0]["request"]["query"]["api_key"], "*");
    assert_eq!(listed[0]["origin"], "captured");
    assert!(!everything_in(stage.folder.path()).contains(KEY));

    let replay = ReplayServer::start(Recordings::load(stage.folder.path()).unwrap())
        .await
        .unwrap();
    let url = format!(
        "{}/v1/price?symbol=OKB&api_key=other",
        replay.base_url(&stage.host())
    );
    let replayed = test_support::http_client().get(url).send().await.unwrap();
    assert_eq!(replayed.headers()["content-type"], "application/json");
    assert_eq!(replayed.text().await.unwrap(), body);
}

#[tokio::test]
async fn an_answer_that_repeats_a_key_is_passed_on_and_not_stored() {
    let body = format!(r#"{{"error":"unknown key {KEY}"}}"#);
    let answer = ResponseTemplate::new(401).set_body_raw(body.clone(), "application/json");
    let stage = Stage::set(answer, Scheme::Http).await;
    assert_eq!(stage.get("/v1/me").await, (401, body));
    assert_eq!(stage.manifest(), None);
}

#[tokio::test]
async fn only_host_names_are_asked_and_only_over_https() {
    let stage = Stage::set(ResponseTemplate::new(200), Scheme::Https).await;
    let (status, text) = stage.get("/v1/me").await;
    assert_eq!(status, 400, "{text}");
    for target in ["/", "/localhost/x", "/169.254.169.254/latest", "/[::1]/x"] {
        let response = test_support::http_client()
            .get(format!("{}{target}", stage.proxy))
            .send()
            .await
            .unwrap();
        assert_eq!(response.status().as_u16(), 400, "{target}");
    }
    assert!(stage.upstream.received_requests().await.unwrap().is_empty());
    let client = test_support::http_client();
    let response = client
        .delete(format!("{}/a.example/x", stage.proxy))
        .send()
        .await;
    assert_eq!(response.unwrap().status().as_u16(), 405);
}
