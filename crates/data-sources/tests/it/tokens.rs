//! Prices, coins, searches and rankings against servers that answer well, badly and maliciously.

mod catalogues;
mod market;
mod prices;
mod rankings;
mod search;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, address};
use data_sources::coingecko::Coingecko;
use data_sources::coinpaprika::Coinpaprika;
use data_sources::defillama::Defillama;
use data_sources::dexscreener::Dexscreener;
use data_sources::okx::{Okx, OkxConfig};
use data_sources::transport::{Limits, Transport};
use data_sources::{Error, Mode, SourceConfig};
use readings::symbol::SymbolKey;
use serde_json::Value;
use test_support::ManualClock;
use wiremock::{MockServer, ResponseTemplate};

pub(crate) use crate::support::{answering, recorded};

pub(crate) const WOKB: Address = address!("e538905cf8410324e03A5A23C1c177a474D59b2b");
pub(crate) const USDT0: Address = address!("779Ded0c9e1022225f8E0630b35a9b54bE713736");

/// A clock of the recordings that a test moves.
pub(crate) fn recorded_clock() -> ManualClock {
    ManualClock::at("2026-11-21T01:02:00Z".parse().unwrap())
}

/// A server that gives one JSON to everything.
pub(crate) async fn serving(body: &Value) -> MockServer {
    answering(ResponseTemplate::new(200).set_body_json(body)).await
}

/// Answers that every adapter must refuse, with the error of each.
pub(crate) fn attacks() -> Vec<(&'static str, ResponseTemplate)> {
    let json = |body: &str| {
        ResponseTemplate::new(200).set_body_raw(body.as_bytes().to_vec(), "application/json")
    };
    let page = "<html><title>Just a moment</title></html>";
    vec![
        (
            "upstream_wrong_content_type",
            ResponseTemplate::new(200).set_body_raw(page, "text/html"),
        ),
        ("upstream_malformed", json(page)),
        ("upstream_malformed", json("")),
        ("upstream_malformed", json("17")),
        ("upstream_malformed", json("{\"data\": NaN}")),
        ("upstream_http_status", ResponseTemplate::new(403)),
        ("upstream_http_status", ResponseTemplate::new(451)),
        (
            "upstream_rate_limited",
            ResponseTemplate::new(429).insert_header("retry-after", "60"),
        ),
        (
            "upstream_too_large",
            json(&format!("{{\"a\": \"{}\"}}", "x".repeat(9 * 1024 * 1024))),
        ),
    ]
}

fn limits() -> Limits {
    Limits {
        timeout: Duration::from_secs(10),
        backoff: Duration::ZERO,
        ..Limits::default()
    }
}

pub(crate) fn okx_at(server: &MockServer, clock: ManualClock) -> Okx {
    let config = OkxConfig {
        base_url: server.uri(),
        mode: Mode::Replay,
        limits: limits(),
        ..OkxConfig::default()
    };
    Okx::new(&Transport::new().unwrap(), config, Arc::new(clock)).unwrap()
}

pub(crate) fn okx(server: &MockServer) -> Okx {
    okx_at(server, recorded_clock())
}

fn config(server: &MockServer) -> SourceConfig {
    let urls = ["base_url", "coins_url"].map(|key| (key.to_owned(), server.uri()));
    SourceConfig {
        urls: BTreeMap::from(urls),
        timeout: Some(Duration::from_secs(10)),
        ..SourceConfig::default()
    }
}

pub(crate) fn coingecko(server: &MockServer) -> Coingecko {
    let clock = Arc::new(recorded_clock());
    Coingecko::new(&Transport::new().unwrap(), config(server), clock).unwrap()
}

pub(crate) fn coingecko_with(
    server: &MockServer,
    change: impl FnOnce(&mut SourceConfig),
) -> Coingecko {
    let mut config = config(server);
    change(&mut config);
    let clock = Arc::new(recorded_clock());
    Coingecko::new(&Transport::new().unwrap(), config, clock).unwrap()
}

pub(crate) fn coinpaprika(server: &MockServer) -> Coinpaprika {
    let clock = Arc::new(recorded_clock());
    Coinpaprika::new(&Transport::new().unwrap(), config(server), clock).unwrap()
}

pub(crate) fn dexscreener(server: &MockServer) -> Dexscreener {
    let clock = Arc::new(recorded_clock());
    Dexscreener::new(&Transport::new().unwrap(), config(server), clock).unwrap()
}

pub(crate) fn defillama(server: &MockServer) -> Defillama {
    let clock = Arc::new(recorded_clock());
    Defillama::new(&Transport::new().unwrap(), config(server), clock).unwrap()
}

/// A recorded answer with a change.
pub(crate) fn changed(file: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut value = recorded(file);
    change(&mut value);
    value
}

pub(crate) fn code<T>(result: Result<T, Error>) -> &'static str {
    result.map_or_else(|error| error.code(), |_| "accepted")
}

pub(crate) fn symbol(text: &str) -> SymbolKey {
    SymbolKey::new(text).unwrap()
}
