//! Frankfurter: reference rates of the ECB.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// Frankfurter: reference rates of the ECB.
    Frankfurter,
    UpstreamSpec {
        name: "frankfurter",
        urls: &[("base_url", "https://api.frankfurter.dev")],
        key: KeyRule::Keyless,
        sources: &["frankfurter.rates"],
        per_minute: 60,
        burst: 10,
        limits: Limits::USUAL,
    }
);
