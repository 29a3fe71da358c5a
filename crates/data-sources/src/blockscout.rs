//! Blockscout: token balances, one explorer for each chain.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// Blockscout: token balances, one explorer for each chain.
    Blockscout,
    UpstreamSpec {
        name: "blockscout",
        urls: &[("base_url", "https://base.blockscout.com")],
        key: KeyRule::Keyless,
        sources: &["blockscout.token-balances"],
        per_minute: 120,
        burst: 20,
        limits: Limits::USUAL.up_to_bytes(8 * 1024 * 1024),
    }
);
