//! FRED: series of the Federal Reserve Bank of St. Louis; without a key their keyless CSV.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// FRED: series of the Federal Reserve Bank of St. Louis; without a key their keyless CSV.
    Fred,
    UpstreamSpec {
        name: "fred",
        urls: &[
        ("base_url", "https://api.stlouisfed.org"),
        ("csv_url", "https://fred.stlouisfed.org"),
    ],
        key: KeyRule::Optional,
        sources: &["fred.series"],
        per_minute: 100,
        burst: 20,
        limits: Limits::USUAL,
    }
);
