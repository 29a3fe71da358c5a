//! Tests of what an embedder does with the crate: typed requests, ports as trait objects, stored
//! quotes and refusals, and the values of a verified plan.

mod kept;
mod ports;
mod requests;
mod verified;

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

use plan_builder::{FeeDocument, Moment, Policy};

/// The time at which the recorded plans were built.
pub(crate) const NOW: u64 = 1_790_000_000;

pub(crate) fn vector(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/vectors/plans");
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

pub(crate) fn policy() -> Policy {
    let document: FeeDocument = toml::from_str(&vector("fees.toml")).unwrap();
    Policy::new(document.review().unwrap())
}

pub(crate) fn moment() -> Moment {
    Moment {
        now_millis: NOW * 1_000,
        entropy: [0x5a; 32],
    }
}

/// Runs a future to its end. Ports that answer from memory never wait.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a port from memory waited"),
    }
}
