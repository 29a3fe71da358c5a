//! The adapters of the agent rail against servers that answer well, badly and maliciously.

mod circle;
mod embedded;
mod hyperliquid;
mod lifi;
mod polymarket;
mod rpc;

use std::time::Duration;

use data_sources::transport::{Limits, SourceHealth};
use jiff::Timestamp;
use plan_builder::ports::{PortError, PortErrorReason};
use serde_json::Value;
use test_support::ManualClock;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

pub(crate) use crate::support::{answering, json, request_count, transport};

/// The time of the recordings: 2026-11-21T01:00:00Z.
pub(crate) const NOW: i64 = 1_795_222_800;

/// A clock of the recordings that a test moves.
pub(crate) fn recorded_clock() -> ManualClock {
    ManualClock::at(Timestamp::from_second(NOW).unwrap())
}

/// Generous with time, no pause between two tries.
pub(crate) fn limits() -> Limits {
    Limits {
        timeout: Duration::from_secs(10),
        attempts: 2,
        backoff: Duration::ZERO,
        ..Limits::default()
    }
}

/// The shortest limit that a test can wait for.
pub(crate) fn impatient() -> Limits {
    Limits {
        timeout: Duration::from_millis(50),
        ..limits()
    }
}

/// The shortest limit that allows good answers beside a hanging one on a busy machine.
pub(crate) fn patient_enough() -> Limits {
    Limits {
        timeout: Duration::from_secs(1),
        ..limits()
    }
}

/// A server that decides by request.
pub(crate) async fn deciding(
    decide: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
) -> MockServer {
    struct Decide<F>(F);
    impl<F: Fn(&Request) -> ResponseTemplate + Send + Sync> Respond for Decide<F> {
        fn respond(&self, request: &Request) -> ResponseTemplate {
            (self.0)(request)
        }
    }
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(Decide(decide))
        .mount(&server)
        .await;
    server
}

/// A server that accepts connections and drops them.
pub(crate) fn dropping() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().for_each(drop));
    url
}

/// A body with JSON's content type, exactly as written.
pub(crate) fn raw(body: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "application/json")
}

pub(crate) fn failure(status: u16, body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(body)
}

pub(crate) fn hanging(response: ResponseTemplate) -> ResponseTemplate {
    response.set_delay(Duration::from_secs(60))
}

pub(crate) fn recorded_text(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/upstreams");
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

pub(crate) fn recorded(name: &str) -> Value {
    serde_json::from_str(&recorded_text(name)).unwrap()
}

#[track_caller]
pub(crate) fn reason<T: std::fmt::Debug>(
    result: Result<T, PortError>,
    source_name: &str,
) -> PortErrorReason {
    let error = result.unwrap_err();
    assert_eq!(error.source_name, source_name);
    error.reason
}

pub(crate) fn unavailable(detail: &str) -> PortErrorReason {
    PortErrorReason::Unavailable {
        detail: detail.to_owned(),
    }
}

pub(crate) fn malformed(path: &str, detail: &str) -> PortErrorReason {
    PortErrorReason::Malformed {
        path: path.to_owned(),
        detail: detail.to_owned(),
    }
}

pub(crate) fn limited(seconds: Option<u64>) -> PortErrorReason {
    PortErrorReason::RateLimited {
        retry_after: seconds.map(Duration::from_secs),
    }
}

pub(crate) fn unknown(subject: &str) -> PortErrorReason {
    PortErrorReason::Unknown {
        subject: subject.to_owned(),
    }
}

pub(crate) fn refused(detail: &str) -> PortErrorReason {
    PortErrorReason::Refused {
        detail: detail.to_owned(),
    }
}

pub(crate) fn no_route(detail: &str) -> PortErrorReason {
    PortErrorReason::NoRoute {
        detail: detail.to_owned(),
    }
}

/// State and reason of one source.
pub(crate) fn state<'a>(
    health: &'a [SourceHealth],
    source: &str,
) -> (&'static str, Option<&'a str>) {
    let found = health
        .iter()
        .find(|health| health.source == source)
        .unwrap();
    (found.state.as_str(), found.reason.as_deref())
}
