//! The adapters of the agent rail against servers that answer well, badly and maliciously.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

mod circle;
mod embedded;
mod hyperliquid;
mod lifi;
mod polymarket;
mod rpc;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use data_sources::{
    Clock,
    transport::{Limits, SourceHealth, Transport},
};
use jiff::Timestamp;
use plan_builder::ports::{PortError, PortErrorReason};
use serde_json::Value;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

/// The time of the recordings: 2026-11-21T01:00:00Z.
pub const NOW: i64 = 1_795_222_800;

/// A clock that a test can move.
#[derive(Clone)]
pub struct TestClock(Arc<Mutex<Timestamp>>);

impl TestClock {
    pub fn at_recording() -> Self {
        Self(Arc::new(Mutex::new(Timestamp::from_second(NOW).unwrap())))
    }

    pub fn advance(&self, seconds: u64) {
        let mut now = self.0.lock().unwrap();
        *now += jiff::SignedDuration::try_from(Duration::from_secs(seconds)).unwrap();
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

pub fn transport() -> Transport {
    Transport::new().unwrap()
}

/// Generous with time, no pause between two tries.
pub fn limits() -> Limits {
    Limits {
        timeout: Duration::from_secs(10),
        attempts: 2,
        backoff: Duration::ZERO,
        ..Limits::default()
    }
}

/// The shortest limit that a test can wait for.
pub fn impatient() -> Limits {
    Limits {
        timeout: Duration::from_millis(50),
        ..limits()
    }
}

/// The shortest limit that allows good answers beside a hanging one on a busy machine.
pub fn patient_enough() -> Limits {
    Limits {
        timeout: Duration::from_secs(1),
        ..limits()
    }
}

/// A server that gives one answer to everything.
pub async fn answering(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(response)
        .mount(&server)
        .await;
    server
}

/// A server that decides by request.
pub async fn deciding(
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
pub fn dropping() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().for_each(drop));
    url
}

pub fn json(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

/// A body with JSON's content type, exactly as written.
pub fn raw(body: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(body, "application/json")
}

pub fn failure(status: u16, body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(body)
}

pub fn hanging(response: ResponseTemplate) -> ResponseTemplate {
    response.set_delay(Duration::from_secs(60))
}

pub fn recorded_text(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/upstreams");
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

pub fn recorded(name: &str) -> Value {
    serde_json::from_str(&recorded_text(name)).unwrap()
}

pub async fn asked(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

#[track_caller]
pub fn reason<T: std::fmt::Debug>(
    result: Result<T, PortError>,
    source_name: &str,
) -> PortErrorReason {
    let error = result.unwrap_err();
    assert_eq!(error.source_name, source_name);
    error.reason
}

pub fn unavailable(detail: &str) -> PortErrorReason {
    PortErrorReason::Unavailable {
        detail: detail.to_owned(),
    }
}

pub fn malformed(path: &str, detail: &str) -> PortErrorReason {
    PortErrorReason::Malformed {
        path: path.to_owned(),
        detail: detail.to_owned(),
    }
}

pub fn limited(seconds: Option<u64>) -> PortErrorReason {
    PortErrorReason::RateLimited {
        retry_after: seconds.map(Duration::from_secs),
    }
}

pub fn unknown(subject: &str) -> PortErrorReason {
    PortErrorReason::Unknown {
        subject: subject.to_owned(),
    }
}

pub fn refused(detail: &str) -> PortErrorReason {
    PortErrorReason::Refused {
        detail: detail.to_owned(),
    }
}

pub fn no_route(detail: &str) -> PortErrorReason {
    PortErrorReason::NoRoute {
        detail: detail.to_owned(),
    }
}

/// State and reason of one source.
pub fn state<'a>(health: &'a [SourceHealth], source: &str) -> (&'static str, Option<&'a str>) {
    let found = health
        .iter()
        .find(|health| health.source == source)
        .unwrap();
    (found.state.as_str(), found.reason.as_deref())
}
