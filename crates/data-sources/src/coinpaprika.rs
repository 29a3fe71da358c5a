//! CoinPaprika: coins, without a key.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// CoinPaprika: coins, without a key.
    Coinpaprika,
    UpstreamSpec {
        name: "coinpaprika",
        urls: &[("base_url", "https://api.coinpaprika.com")],
        key: KeyRule::Keyless,
        sources: &["coinpaprika.search", "coinpaprika.ticker"],
        per_minute: 30,
        burst: 10,
        limits: Limits::USUAL,
    }
);
