//! The basis of a verdict: the checks, lists and trades that it rests on.

use serde::Serialize;

use super::{Check, Concentration, Judgement, Scan, TradeSide, Traded, Trades};

/// On what a verdict over a contract is based: the scanners, and how many of the checks they made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Basis {
    /// The scanners that had finished.
    pub scanners: Vec<&'static str>,
    /// How many checks have a result.
    pub checks_made: usize,
    /// How many checks there are.
    pub checks_total: usize,
    /// The severe checks that no finished scan made, the worst first. While there is one, the
    /// verdict is not `safe`.
    pub severe_unknown: Vec<Check>,
    /// On what a vetting is based in addition to the contract.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub market: Option<MarketBasis>,
}

/// On what a vetting is based in addition to the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MarketBasis {
    /// How many holders are in the concentration. Null when it is unknown.
    pub holders_counted: Option<usize>,
    /// Whether these are the ten largest holders, or all of them.
    pub holders_complete: bool,
    /// The sizes, in dollars, for which a sale was quoted.
    pub sales_quoted_usd: Vec<String>,
    /// The sizes, in dollars, for which a round trip was quoted.
    pub round_trips_quoted_usd: Vec<String>,
}

impl Basis {
    /// Makes the basis of the verdict over a contract.
    #[must_use]
    pub fn of(scans: &[Scan], judgement: &Judgement) -> Self {
        let made = |check: &Check| scans.iter().any(|scan| scan.finding(*check).is_some());
        let finished = scans.iter().filter(|scan| scan.complete);
        let mut scanners: Vec<_> = finished.map(|scan| scan.source).collect();
        scanners.sort_unstable();
        Self {
            scanners,
            checks_made: Check::ALL.into_iter().filter(made).count(),
            checks_total: Check::ALL.len(),
            severe_unknown: judgement.severe_unknown.clone(),
            market: None,
        }
    }

    /// Adds the basis of a vetting. `holder_count` is the number of all holders.
    #[must_use]
    pub fn with_market(
        self,
        concentration: Option<&Concentration>,
        holder_count: Option<u64>,
        trades: &Trades,
    ) -> Self {
        let sizes = |quoted: &dyn Fn(&super::Probe) -> bool| {
            let probes = trades.probes.iter().filter(|probe| quoted(probe));
            probes.map(|probe| probe.usd.to_string()).collect()
        };
        let market = MarketBasis {
            holders_counted: concentration.map(|found| found.counted),
            holders_complete: concentration
                .is_some_and(|found| !found.is_lower_bound(holder_count)),
            sales_quoted_usd: sizes(&|probe| {
                matches!(probe.side(TradeSide::Sell), Traded::Quoted(_))
            }),
            round_trips_quoted_usd: sizes(&|probe| probe.round_trip_loss_pct().is_some()),
        };
        Self {
            market: Some(market),
            ..self
        }
    }
}
