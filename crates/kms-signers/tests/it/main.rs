//! Runs each signer against a stand-in that follows its service's documentation, through the
//! conformance suite of `tx-sender`.
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
