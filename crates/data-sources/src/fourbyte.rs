//! The 4byte directory: a signature database.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// The 4byte directory: a signature database.
    Fourbyte,
    UpstreamSpec {
        name: "fourbyte",
        urls: &[("base_url", "https://www.4byte.directory")],
        key: KeyRule::Keyless,
        sources: &["fourbyte.signatures"],
        per_minute: 60,
        burst: 10,
        limits: Limits::USUAL,
    }
);
