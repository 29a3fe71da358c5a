//! The sections of the configuration that all servers have, with their defaults and rules.

mod log;
mod outbound;
mod server;
mod upstreams;
mod worth;

pub use log::{LogFormat, LogSection};
pub use outbound::OutboundSection;
pub use server::ServerSection;
pub use upstreams::{ChainTable, Chains, UpstreamMode, UpstreamTable, Upstreams};
pub use worth::{PRICE_SOURCE_MOVED, WorthChainTable, WorthSection};

use crate::Problem;

/// Reports a problem unless `url` is an absolute `http` or `https` URL without query or fragment.
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

/// Reports a problem unless `url` can be a JSON-RPC endpoint. Its query may hold a key, so the URL
/// is never printed.
pub fn check_rpc_url(problems: &mut Vec<Problem>, key: &str, url: &str) {
    let good = url::Url::parse(url)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
    if !good {
        problems.push(Problem::new(key, "expected an http:// or https:// URL"));
    }
}
