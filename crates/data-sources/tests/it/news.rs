//! The sources of news and social media against servers that answer well, badly and maliciously.

mod feeds;
mod gather;
mod other;
mod social;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use data_sources::alternative_me::AlternativeMe;
use data_sources::coindesk::Coindesk;
use data_sources::cryptopanic::Cryptopanic;
use data_sources::news::{NewsDesk, NewsSources};
use data_sources::okx::{Credentials, Okx, OkxConfig};
use data_sources::rss::Rss;
use data_sources::transport::{Limits, Transport};
use data_sources::x_api::XApi;
use data_sources::{Clock, SourceConfig};
use jiff::Timestamp;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

pub(crate) use crate::support::answering;

/// The time of the recordings.
pub(crate) fn now() -> Timestamp {
    "2026-11-21T01:02:00Z".parse().unwrap()
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(now())
}

/// A recorded answer.
pub(crate) fn recorded(file: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/upstreams");
    std::fs::read_to_string(folder.join(file)).unwrap()
}

pub(crate) fn json(body: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "application/json")
}

pub(crate) fn xml(body: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "application/rss+xml; charset=utf-8")
}

pub(crate) fn page(status: u16) -> ResponseTemplate {
    ResponseTemplate::new(status)
        .set_body_raw(recorded("rss/decrypt_cloudflare_403.html"), "text/html")
}

pub(crate) async fn at(server: &MockServer, place: &str, answer: ResponseTemplate) {
    Mock::given(path(place))
        .respond_with(answer)
        .mount(server)
        .await;
}

/// All addresses of an upstream under one server, with a key.
pub(crate) fn config(server: &MockServer, keys: &[&str]) -> SourceConfig {
    let url = |key: &&str| ((*key).to_owned(), format!("{}/{key}", server.uri()));
    SourceConfig {
        urls: keys.iter().map(url).collect(),
        api_key: Some("test-key".into()),
        options: [("list_id".to_owned(), "42".to_owned())].into(),
        ..SourceConfig::default()
    }
}

pub(crate) fn okx(server: &MockServer) -> Okx {
    let config = OkxConfig {
        base_url: format!("{}/okx", server.uri()),
        credentials: Some(Credentials {
            api_key: "test-key".into(),
            secret_key: "test-secret".into(),
            passphrase: "test-passphrase".into(),
        }),
        limits: Limits {
            backoff: Duration::ZERO,
            ..Limits::default()
        },
        ..OkxConfig::default()
    };
    Okx::new(&Transport::new().unwrap(), config, clock()).unwrap()
}

pub(crate) const FEEDS: [&str; 6] = [
    "coindesk_url",
    "cointelegraph_url",
    "theblock_url",
    "decrypt_url",
    "blockworks_url",
    "thedefiant_url",
];

/// Every source of news behind one server; CryptoPanic has no key.
pub(crate) fn desk(server: &MockServer) -> NewsDesk {
    desk_by(server, clock())
}

/// [`desk`] with a test's clock.
pub(crate) fn desk_by(server: &MockServer, clock_of_desk: Arc<dyn Clock>) -> NewsDesk {
    let transport = Transport::new().unwrap();
    let under = |name: &str| SourceConfig {
        urls: [("base_url".to_owned(), format!("{}/{name}", server.uri()))].into(),
        api_key: Some("test-key".into()),
        ..SourceConfig::default()
    };
    let keyless = SourceConfig {
        api_key: None,
        ..under("cryptopanic")
    };
    let sources = NewsSources {
        okx: okx(server),
        coindesk: Coindesk::new(&transport, under("coindesk"), clock()).unwrap(),
        rss: Rss::new(&transport, config(server, &FEEDS), clock()).unwrap(),
        alternative_me: AlternativeMe::new(&transport, under("alternative"), clock()).unwrap(),
        cryptopanic: Cryptopanic::new(&transport, keyless, clock()).unwrap(),
        x_api: XApi::new(&transport, config(server, &["base_url"]), clock()).unwrap(),
    };
    NewsDesk::new(sources, clock_of_desk)
}
