//! Requests to upstreams: how many are sent, and on whose account.

mod families;
mod limits;
mod meters;
mod quotas;
mod rails;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use data_sources::{Clock, Error, SourceConfig, SourceErrorKind, transport::Transport};
use jiff::Timestamp;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

/// 2026-11-21T01:02:00Z.
pub(crate) const NOW: i64 = 1_795_222_920;

/// A clock that a test moves, in milliseconds.
#[derive(Clone)]
pub(crate) struct TestClock(Arc<AtomicI64>);

impl TestClock {
    pub(crate) fn at_recording() -> Self {
        Self(Arc::new(AtomicI64::new(NOW * 1000)))
    }

    pub(crate) fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }

    pub(crate) fn shared(&self) -> Arc<dyn Clock> {
        Arc::new(self.clone())
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

pub(crate) fn transport() -> Transport {
    Transport::new().unwrap()
}

/// A configuration with a key, whose addresses are all those of `server`.
pub(crate) fn config(server: &MockServer, urls: &[(&str, &str)]) -> SourceConfig {
    let at = |(key, _): &(&str, &str)| ((*key).to_owned(), server.uri());
    SourceConfig {
        urls: urls.iter().map(at).collect::<BTreeMap<_, _>>(),
        api_key: Some("key".to_owned().into()),
        ..SourceConfig::default()
    }
}

pub(crate) async fn asked(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

/// Why a source gave nothing.
pub(crate) fn kind<T: std::fmt::Debug>(told: Result<T, Error>) -> SourceErrorKind {
    match told.unwrap_err() {
        Error::Source(error) => error.kind,
        other => panic!("{other}"),
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
