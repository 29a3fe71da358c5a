//! Tests of each signer against a stand-in that follows the documentation of its service. The
//! conformance suite of `tx-sender` runs on all of them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "test code")]

#[cfg(feature = "aws-kms")]
mod aws;
#[path = "../../../tx-sender/tests/it/conformance.rs"]
mod conformance;
#[cfg(feature = "gcp-kms")]
mod gcp;
mod service;
#[cfg(feature = "turnkey")]
mod turnkey;
