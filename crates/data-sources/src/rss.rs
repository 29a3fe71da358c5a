//! News feeds of publishers.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// News feeds of publishers.
    Rss,
    UpstreamSpec {
        name: "rss",
        urls: &[
        ("coindesk_url", "https://www.coindesk.com/arc/outboundfeeds/rss/"),
        ("cointelegraph_url", "https://cointelegraph.com/rss"),
        ("theblock_url", "https://www.theblock.co/rss.xml"),
        ("decrypt_url", "https://decrypt.co/feed"),
        ("blockworks_url", "https://blockworks.co/feed"),
        ("thedefiant_url", "https://thedefiant.io/feed"),
    ],
        key: KeyRule::Keyless,
        sources: &["rss.coindesk", "rss.cointelegraph", "rss.theblock", "rss.decrypt", "rss.blockworks", "rss.thedefiant"],
        per_minute: 60,
        burst: 12,
        limits: Limits::USUAL,
    }
);
