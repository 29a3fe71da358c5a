//! Bybit futures: funding, open interest, long/short ratios.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// Bybit futures: funding, open interest, long/short ratios.
    Bybit,
    UpstreamSpec {
        name: "bybit",
        urls: &[("base_url", "https://api.bybit.com")],
        key: KeyRule::Keyless,
        sources: &["bybit.tickers", "bybit.long-short"],
        per_minute: 200,
        burst: 30,
        limits: Limits::USUAL,
    }
);
