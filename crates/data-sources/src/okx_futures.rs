//! OKX futures: funding, open interest, long/short ratios.

use crate::{
    source::{KeyRule, UpstreamSpec, upstream},
    transport::Limits,
};

upstream!(
    /// OKX futures: funding, open interest, long/short ratios.
    OkxFutures,
    UpstreamSpec {
        name: "okx_futures",
        urls: &[("base_url", "https://www.okx.com")],
        key: KeyRule::Keyless,
        sources: &["okx-futures.funding", "okx-futures.open-interest", "okx-futures.long-short"],
        per_minute: 200,
        burst: 30,
        limits: Limits::USUAL,
    }
);
