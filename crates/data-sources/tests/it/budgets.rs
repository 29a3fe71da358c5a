//! Requests to upstreams: how many are sent, and on whose account.

mod families;
mod limits;
mod meters;
mod quotas;
mod rails;

use std::collections::BTreeMap;

use data_sources::{Error, SourceConfig, SourceErrorKind};
use jiff::Timestamp;
use test_support::ManualClock;
use wiremock::MockServer;

pub(crate) use crate::support::{answering, request_count, transport};

/// The time of the recordings: 2026-11-21T01:02:00Z.
pub(crate) const NOW: i64 = 1_795_222_920;

/// A clock of the recordings that a test moves.
pub(crate) fn recorded_clock() -> ManualClock {
    ManualClock::at(Timestamp::from_second(NOW).unwrap())
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

/// The reason why a source gave nothing.
pub(crate) fn kind<T: std::fmt::Debug>(told: Result<T, Error>) -> SourceErrorKind {
    match told.unwrap_err() {
        Error::Source(error) => error.kind,
        other => panic!("{other}"),
    }
}
