//! Binance futures: funding, open interest, long/short ratios.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// Binance futures: funding, open interest, long/short ratios.
    Binance,
    UpstreamSpec {
        name: "binance",
        urls: &[("base_url", "https://fapi.binance.com")],
        key: KeyRule::Keyless,
        sources: &["binance.funding", "binance.open-interest", "binance.long-short"],
        per_minute: 200,
        burst: 30,
        limits: Limits::USUAL,
    }
);
