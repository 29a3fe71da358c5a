//! CoinDesk Data: news articles.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// CoinDesk Data: news articles.
    Coindesk,
    UpstreamSpec {
        name: "coindesk",
        urls: &[("base_url", "https://data-api.coindesk.com")],
        key: KeyRule::Optional,
        sources: &["coindesk.news"],
        per_minute: 30,
        burst: 5,
        limits: Limits::USUAL,
    }
);
