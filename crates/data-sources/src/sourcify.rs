//! Sourcify: verified ABIs and a signature database.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// Sourcify: verified ABIs and a signature database.
    Sourcify,
    UpstreamSpec {
        name: "sourcify",
        urls: &[
        ("base_url", "https://sourcify.dev"),
        ("signatures_url", "https://api.4byte.sourcify.dev"),
    ],
        key: KeyRule::Keyless,
        sources: &["sourcify.abi", "sourcify.signatures"],
        per_minute: 120,
        burst: 20,
        limits: Limits::USUAL.up_to_bytes(4 * 1024 * 1024),
    }
);
