//! GoPlus: contract security of tokens.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// GoPlus: contract security of tokens.
    Goplus,
    UpstreamSpec {
        name: "goplus",
        urls: &[("base_url", "https://api.gopluslabs.io")],
        key: KeyRule::Optional,
        sources: &["goplus.token-security", "goplus.supported-chains"],
        per_minute: 25,
        burst: 5,
        limits: Limits::USUAL,
    }
);
