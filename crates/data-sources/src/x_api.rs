//! X: posts of a list of accounts, with a key.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// X: posts of a list of accounts, with a key.
    XApi,
    UpstreamSpec {
        name: "x_api",
        urls: &[("base_url", "https://api.x.com")],
        key: KeyRule::Required,
        sources: &["x.list"],
        per_minute: 60,
        burst: 5,
        limits: Limits::USUAL,
    }
);
