//! The pools of DefiLlama, gathered every half hour.

use std::time::Duration;

use data_sources::Error;
use data_sources::defillama::{Defillama, PoolList};
use jiff::Timestamp;

use super::{Dataset, Gathered, Pace};

/// The dataset's name.
pub(crate) const NAME: &str = route_catalog::Dataset::YieldPools.name();
/// Every half hour; fresh for 45 minutes, refused after six hours.
pub(crate) const PACE: Pace = Pace {
    every: Duration::from_secs(1800),
    fresh: Duration::from_secs(2700),
    refused: Duration::from_secs(6 * 3600),
    retry: Duration::from_secs(300),
    patience: Duration::from_secs(60),
};
/// The source of its rows.
pub(crate) const SOURCE: &str = "defillama.pools";

/// Every pool that can be shown.
#[derive(Debug, Clone)]
pub(crate) struct YieldPools {
    defillama: Defillama,
}

impl YieldPools {
    pub(crate) fn new(defillama: Defillama) -> Self {
        Self { defillama }
    }
}

impl Dataset for YieldPools {
    const NAME: &'static str = NAME;
    const PACE: Pace = PACE;
    type Value = PoolList;

    fn source_ids(&self) -> Vec<&'static str> {
        vec![SOURCE]
    }

    async fn gather(&self, _now: Timestamp) -> Result<Gathered<PoolList>, Error> {
        self.defillama.pools().await.map(Gathered::from)
    }
}
