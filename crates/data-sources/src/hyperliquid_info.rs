//! Hyperliquid as a source of readings: markets, books, candles, accounts.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// Hyperliquid as a source of readings: markets, books, candles, accounts.
    HyperliquidInfo,
    UpstreamSpec {
        name: "hyperliquid",
        urls: &[("base_url", "https://api.hyperliquid.xyz")],
        key: KeyRule::Keyless,
        sources: &["hyperliquid.markets", "hyperliquid.dexs", "hyperliquid.book", "hyperliquid.candles", "hyperliquid.predicted-fundings", "hyperliquid.account", "hyperliquid.history"],
        per_minute: 900,
        burst: 200,
        limits: Limits::USUAL.up_to_bytes(8 * 1024 * 1024),
    }
);
