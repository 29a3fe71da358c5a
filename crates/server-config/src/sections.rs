//! The sections that all servers share, with their defaults and rules.

mod log;
mod server;
mod upstreams;

pub use log::{LogFormat, LogSection};
pub use server::ServerSection;
pub use upstreams::{ChainTable, Chains, UpstreamMode, UpstreamTable, Upstreams};

use crate::Problem;

/// Requires an absolute `http` or `https` URL without query or fragment.
pub fn check_url(problems: &mut Vec<Problem>, key: &str, url: &str) {
    let good = url::Url::parse(url).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some()
            && url.query().is_none()
            && url.fragment().is_none()
    });
    if !good {
        let message = "expected an http:// or https:// URL without query or fragment";
        problems.push(Problem::new(key, message));
    }
}

/// Requires the URL of a JSON-RPC endpoint. It may hold a key in its query, so it is never printed.
pub fn check_rpc_url(problems: &mut Vec<Problem>, key: &str, url: &str) {
    let good = url::Url::parse(url)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
    if !good {
        problems.push(Problem::new(key, "expected an http:// or https:// URL"));
    }
}
