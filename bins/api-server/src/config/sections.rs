//! The sections of the file, their defaults and their rules.

mod payment;
mod server;
mod settlement;
mod upstreams;

pub use payment::{AssetTable, PaymentSection};
pub use server::{LogFormat, LogSection, ServerSection, StorageSection};
pub use settlement::{SettlementMode, SettlementSection};
pub(crate) use upstreams::check_chains;
pub use upstreams::{ChainTable, UpstreamMode, UpstreamTable, Upstreams};

use super::Problem;

/// Collects a problem with a key.
fn problem(problems: &mut Vec<Problem>, key: &str, message: impl Into<String>) {
    problems.push(Problem {
        key: key.to_owned(),
        message: message.into(),
    });
}

/// An absolute `http` or `https` URL without query or fragment.
fn check_url(problems: &mut Vec<Problem>, key: &str, url: &str) {
    let good = url::Url::parse(url).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some()
            && url.query().is_none()
            && url.fragment().is_none()
    });
    if !good {
        problem(
            problems,
            key,
            "expected an http:// or https:// URL without query or fragment",
        );
    }
}

/// A JSON-RPC endpoint, which may carry its key in the query and is therefore never printed.
fn check_rpc_url(problems: &mut Vec<Problem>, key: &str, url: &str) {
    let good = url::Url::parse(url)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
    if !good {
        problem(problems, key, "expected an http:// or https:// URL");
    }
}
