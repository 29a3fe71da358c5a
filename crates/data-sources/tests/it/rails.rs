//! The adapters of the agent rail against servers that answer well, badly and maliciously.

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
pub(crate) const NOW: i64 = 1_795_222_800;

/// A clock that a test can move.
#[derive(Clone)]
pub(crate) struct TestClock(Arc<Mutex<Timestamp>>);

impl TestClock {
    pub(crate) fn at_recording() -> Self {
        Self(Arc::new(Mutex::new(Timestamp::from_second(NOW).unwrap())))
    }

    pub(crate) fn advance(&self, seconds: u64) {
        let mut now = self.0.lock().unwrap();
        *now += jiff::SignedDuration::try_from(Duration::from_secs(seconds)).unwrap();
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

pub(crate) fn transport() -> Transport {
    Transport::new().unwrap()
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

/// A server that gives one answer to everything.
pub(crate) async fn answering(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(response)
        .mount(&server)
        .await;
    server
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

pub(crate) fn json(body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
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

pub(crate) async fn asked(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
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
