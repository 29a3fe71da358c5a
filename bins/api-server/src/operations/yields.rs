//! What the yield routes share: the edition of pools with the judgement over it, and the sources beside it.

pub(crate) mod dataset;
mod gas;
mod holdings;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use data_sources::aave::Aave;
use data_sources::defillama::PoolList;
use data_sources::evm::EvmReader;
use data_sources::okx::{Okx, defi::OkxDefi};
use data_sources::{Clock, Sourced};
use jiff::Timestamp;
use readings::defi::market::{self, Market};

use self::dataset::{NAME, PACE};
pub(crate) use self::gas::gas_prices;
pub(crate) use self::holdings::{Held, holdings};
use super::fault;
use super::legs::Legs;
use crate::answer::Part;
use crate::reply::ErrorReply;
use crate::snapshots::{Absent, Current, Snapshot};

/// For how long an edition counts as fresh.
pub(crate) const FRESH_SECONDS: u64 = PACE.fresh.as_secs();

/// Members of a row whose `null` means that there is none: chains without an EIP-155 id, pools without a reward.
pub(crate) const NONE: &[&str] = &["chain_id", "apy_reward_pct", "next_cursor"];

/// The sources of the yield routes.
pub(crate) struct Yields {
    pub(crate) okx: OkxDefi,
    pub(crate) aave: Aave,
    pools: Current<PoolList>,
    /// The rows of the edition that was asked for last: thousands are judged once, not in each call.
    judged: Mutex<Option<Judged>>,
}

#[derive(Clone)]
struct Judged {
    snapshot_id: String,
    markets: Arc<Vec<Market>>,
}

/// An edition of the pools, judged.
#[derive(Debug, Clone)]
pub(crate) struct Edition {
    /// The pools that are shown.
    pub(crate) markets: Arc<Vec<Market>>,
    snapshot: Arc<Snapshot<PoolList>>,
}

impl Yields {
    /// Over adapters that exist and an edition that a job keeps up to date.
    pub(crate) fn new(
        okx: Okx,
        evm: EvmReader,
        clock: Arc<dyn Clock>,
        pools: Current<PoolList>,
    ) -> Self {
        Self {
            okx: OkxDefi::new(okx),
            aave: Aave::new(evm, clock),
            pools,
            judged: Mutex::new(None),
        }
    }

    /// The newest edition.
    ///
    /// # Errors
    /// 503 `core_data_missing` when there is none, or when it is too old to be sold.
    pub(crate) async fn edition(&self, now: Timestamp) -> Result<Edition, ErrorReply> {
        let snapshot = self.pools.within(PACE.refused, now).await;
        let snapshot = snapshot.map_err(|absent| missing(&absent))?;
        Ok(self.judge(snapshot))
    }

    /// [`Self::edition`] for a route that can do without.
    pub(crate) async fn edition_if_any(&self, now: Timestamp) -> Option<Edition> {
        let snapshot = self.pools.within(PACE.refused, now).await.ok()?;
        Some(self.judge(snapshot))
    }

    fn judge(&self, snapshot: Arc<Snapshot<PoolList>>) -> Edition {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        let known = judged
            .as_ref()
            .filter(|judged| judged.snapshot_id == snapshot.snapshot_id);
        let markets = match known {
            Some(known) => known.markets.clone(),
            None => {
                let rows = market::shown(&snapshot.value.pools, dataset::SOURCE);
                let markets = Arc::new(rows);
                *judged = Some(Judged {
                    snapshot_id: snapshot.snapshot_id.clone(),
                    markets: markets.clone(),
                });
                markets
            }
        };
        Edition { markets, snapshot }
    }
}

impl Edition {
    /// Its sources into `legs`.
    pub(crate) fn count_in(&self, legs: &mut Legs) {
        let sources = self.snapshot.provenance();
        legs.got(Sourced { value: (), sources });
    }

    /// It as a part of an answer.
    pub(crate) fn part(&self, now: Timestamp) -> Part {
        Part::of(&self.snapshot.sources, FRESH_SECONDS, now)
    }

    /// Its name.
    pub(crate) fn snapshot_id(&self) -> &str {
        &self.snapshot.snapshot_id
    }

    /// How many pools the source had, shown or not.
    pub(crate) fn seen(&self) -> u64 {
        self.snapshot.value.seen
    }
}

impl fmt::Debug for Yields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Yields")
            .field("pools", &self.pools)
            .finish_non_exhaustive()
    }
}

fn missing(absent: &Absent) -> ErrorReply {
    tracing::warn!(dataset = NAME, ?absent, "no edition can be served");
    match absent {
        Absent::Never => fault::core_missing("yield_snapshot", "not_gathered_yet"),
        Absent::TooOld { age_seconds } => {
            fault::core_missing("yield_snapshot", "too_old").detail("age_seconds", *age_seconds)
        }
    }
}
