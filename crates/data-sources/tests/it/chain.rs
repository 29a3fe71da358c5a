//! Nodes, interfaces, signatures and balances: adapters against servers that answer well, badly and
//! maliciously.

mod balances;
mod contracts;
mod nodes;

use std::collections::BTreeMap;
use std::sync::Arc;

use data_sources::{Clock, Error, SourceConfig};
use jiff::Timestamp;
use test_support::ManualClock;
use wiremock::MockServer;

pub(crate) use crate::support::{answering, json, recorded, transport};

/// The time of the recordings.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(1_795_222_920).unwrap()
}

pub(crate) fn clock() -> Arc<dyn Clock> {
    Arc::new(now())
}

/// A clock of the recordings that a test moves.
pub(crate) fn recorded_clock() -> ManualClock {
    ManualClock::at(now())
}

/// Every address of an upstream at one server.
pub(crate) fn at(server: &MockServer, keys: &[&str]) -> SourceConfig {
    SourceConfig {
        urls: keys
            .iter()
            .map(|key| ((*key).to_owned(), server.uri()))
            .collect::<BTreeMap<_, _>>(),
        ..SourceConfig::default()
    }
}

pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.map_or_else(|error| error.reason(), |value| panic!("{value:?}"))
}
