//! Cboe: the delayed quote of VIX.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// Cboe: the delayed quote of VIX.
    Cboe,
    UpstreamSpec {
        name: "cboe",
        urls: &[("base_url", "https://cdn.cboe.com")],
        key: KeyRule::Keyless,
        sources: &["cboe.vix"],
        per_minute: 30,
        burst: 5,
        limits: Limits::USUAL,
    }
);
