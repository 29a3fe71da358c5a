//! Yahoo charts, unofficial: only ever an extra.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// Yahoo charts, unofficial: only ever an extra.
    Yahoo,
    UpstreamSpec {
        name: "yahoo",
        urls: &[("base_url", "https://query1.finance.yahoo.com")],
        key: KeyRule::Keyless,
        sources: &["yahoo.chart"],
        per_minute: 30,
        burst: 10,
        limits: Limits::USUAL,
    }
);
