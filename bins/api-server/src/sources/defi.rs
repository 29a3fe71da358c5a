//! Yields: the gathered pools with their judgement, and the other sources of DeFi data.
//!
//! A job gathers the pools; this module serves the newest edition of them, and judges each edition
//! once.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use data_sources::aave::Aave;
use data_sources::defillama::{Defillama, PoolList};
use data_sources::evm::EvmReader;
use data_sources::okx::{Okx, defi::OkxDefi};
use data_sources::{Clock, Sourced};
use jiff::Timestamp;
use readings::defi::market::{self, Market, Quoted};

use crate::answer::Part;
use crate::snapshots::{Absent, Current, Snapshot, yield_pools};
use crate::source_report::SourceReport;

/// For how many seconds an edition counts as fresh.
pub(crate) const EDITION_FRESH_SECONDS: u64 = yield_pools::PACE.fresh.as_secs();

/// The tokens for which OKX is asked when nothing else names one.
pub(crate) const USUAL_TOKENS: [&str; 3] = ["USDT0", "USDG", "USDC"];
/// The greatest age of what OKX states about products.
const STATED_AGE: Duration = Duration::from_secs(600);
/// The greatest age of reserves that are shown with an edition.
const RESERVES_AGE: Duration = Duration::from_secs(60);
/// The time limit of a call for the reserves.
const RESERVES_PATIENCE: Duration = Duration::from_secs(5);

/// The sources of protocols, pools and positions.
pub(crate) struct Defi {
    pub(crate) aave: Aave,
    pub(crate) defillama: Defillama,
    pub(crate) okx: OkxDefi,
    /// The pools, gathered every half hour.
    pub(super) pools: Current<PoolList>,
    /// The last joined rows of an edition and of reserves.
    joined: Mutex<Option<Joined>>,
    /// The judged rows of the last requested edition, so that thousands of rows are judged once and
    /// not in each call.
    judged: Mutex<Option<Judged>>,
}

#[derive(Clone)]
struct Judged {
    snapshot_id: String,
    markets: Arc<Vec<Market>>,
}

/// Rows of two sources in one list.
#[derive(Clone)]
struct Joined {
    edition: Arc<Vec<Market>>,
    reserves: Arc<Vec<Quoted>>,
    markets: Arc<Vec<Market>>,
}

/// An edition of the pools, judged.
#[derive(Debug, Clone)]
pub(crate) struct Edition {
    /// The pools that are shown.
    pub(crate) markets: Arc<Vec<Market>>,
    snapshot: Arc<Snapshot<PoolList>>,
}

impl Defi {
    /// Wraps existing adapters. There is no edition until a job gathers one.
    pub(super) fn new(
        okx: Okx,
        evm: EvmReader,
        defillama: Defillama,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            aave: Aave::new(evm, clock),
            defillama,
            okx: OkxDefi::new(okx),
            pools: Current::nothing(),
            joined: Mutex::new(None),
            judged: Mutex::new(None),
        }
    }

    /// The newest edition.
    ///
    /// # Errors
    /// There is no edition, or it is too old to be sold.
    pub(crate) async fn edition(&self, now: Timestamp) -> Result<Edition, Absent> {
        let snapshot = self.pools.within(yield_pools::PACE.refused, now).await?;
        Ok(self.judge(snapshot))
    }

    /// The newest edition of any age. Waits a moment for a server that has just started.
    pub(crate) async fn newest(&self, now: Timestamp) -> Option<Edition> {
        let snapshot = self.pools.within(Duration::MAX, now).await.ok()?;
        Some(self.judge(snapshot))
    }

    /// The rows of an edition, plus the reserves of Aave on chain 196, which the edition does not
    /// list, with what OKX states about them on `chains`. A source that does not answer is left
    /// out.
    pub(crate) async fn confirmed(&self, edition: &Edition, chains: &[u64]) -> Arc<Vec<Market>> {
        let tokens = USUAL_TOKENS.map(str::to_owned);
        let mut markets = self.with_reserves(edition).await;
        for chain_id in chains {
            let asked = self.okx.products(*chain_id, &tokens, Some(STATED_AGE));
            let Ok(Ok(stated)) = tokio::time::timeout(RESERVES_PATIENCE, asked).await else {
                continue;
            };
            let rows = stated.value.iter().filter_map(Market::of_quoted).collect();
            let known = markets.len();
            let mut merged = market::merged(markets.to_vec(), rows);
            // What only OKX lists confirms nothing. New rows are at the end.
            merged.truncate(known);
            markets = Arc::new(merged);
        }
        markets
    }

    /// The rows of an edition, plus the reserves of Aave on chain 196, which the edition does not
    /// list. If no node answers, only the edition's rows.
    async fn with_reserves(&self, edition: &Edition) -> Arc<Vec<Market>> {
        let asked = self.aave.markets(Some(RESERVES_AGE));
        let Ok(Ok(reserves)) = tokio::time::timeout(RESERVES_PATIENCE, asked).await else {
            return edition.markets.clone();
        };
        let reserves = reserves.value;
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let known = joined.as_ref().filter(|joined| {
            Arc::ptr_eq(&joined.edition, &edition.markets)
                && Arc::ptr_eq(&joined.reserves, &reserves)
        });
        if let Some(known) = known {
            return known.markets.clone();
        }
        let rows = reserves.iter().filter_map(Market::of_quoted).collect();
        let markets = Arc::new(market::merged(edition.markets.to_vec(), rows));
        *joined = Some(Joined {
            edition: edition.markets.clone(),
            reserves,
            markets: markets.clone(),
        });
        markets
    }

    fn judge(&self, snapshot: Arc<Snapshot<PoolList>>) -> Edition {
        let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
        let known = judged
            .as_ref()
            .filter(|judged| judged.snapshot_id == snapshot.snapshot_id);
        let markets = match known {
            Some(known) => known.markets.clone(),
            None => {
                let rows = market::shown(&snapshot.value.pools, yield_pools::SOURCE);
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
    /// Adds the edition's sources to `report`.
    pub(crate) fn count_in(&self, report: &mut SourceReport) {
        let sources = self.snapshot.provenance();
        report.accept(Sourced { value: (), sources });
    }

    /// The edition as a part of an answer.
    pub(crate) fn part(&self, name: &'static str) -> Part {
        Part::of(name, &self.snapshot.sources, EDITION_FRESH_SECONDS)
    }

    /// The edition's id.
    pub(crate) fn snapshot_id(&self) -> &str {
        &self.snapshot.snapshot_id
    }

    /// The time at which the edition's gathering began.
    pub(crate) fn as_of(&self) -> Timestamp {
        self.snapshot.as_of
    }

    /// The number of pools that the source listed, shown or not.
    pub(crate) fn seen(&self) -> u64 {
        self.snapshot.value.seen
    }
}

impl fmt::Debug for Defi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Defi")
            .field("pools", &self.pools)
            .finish_non_exhaustive()
    }
}
