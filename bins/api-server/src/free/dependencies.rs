//! The dependencies of paid calls: the settlement, the ledger, and the records beside it. Frequent
//! probes share one check. The upstreams of data are not among them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ledger::Journal;
use settlement::{Cause, Readiness, Settler};
use tokio::sync::Mutex;
use watch_server::Mandates;

use crate::observe;
use crate::payment::{PaymentProcessor, Worker};

/// How long a result is reused, so that frequent probes do not turn into one facilitator call each.
const KEPT: Duration = Duration::from_secs(2);

/// The checked dependencies, and the last result.
#[derive(Default)]
pub(crate) struct Dependencies {
    last: Mutex<Option<(Instant, Look)>>,
    /// The records of delegations, if delegations are configured.
    fence: Option<Arc<dyn fence_server::Store>>,
    /// The mandates, if they are stored.
    mandates: Option<Mandates>,
}

/// The state of the dependencies at the last check.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) faults: Vec<FailedDependency>,
    /// Settlements that the gas account can still pay; `None` when another account pays.
    pub(super) settlements_left: Option<u64>,
    /// Whether scheme `aggr_deferred` can be settled; `None` while nothing can be.
    pub(super) aggr_deferred: Option<bool>,
}

/// A failed dependency without which paid calls cannot be served.
#[derive(Debug, Clone)]
pub(super) struct FailedDependency {
    pub(super) component: &'static str,
    pub(super) reason: String,
}

impl Dependencies {
    /// Adds the records of mandates to the dependencies.
    pub(crate) fn on_mandates(&mut self, mandates: Mandates) {
        self.mandates = Some(mandates);
    }

    /// Adds the records of delegations to the dependencies.
    pub(crate) fn on_fence(&mut self, fence: Arc<dyn fence_server::Store>) {
        self.fence = Some(fence);
    }

    /// Checks all dependencies, unless that has just happened.
    pub(super) async fn look<S: Settler, J: Journal, W: Worker>(
        &self,
        processor: &PaymentProcessor<S, J, W>,
    ) -> Look {
        // The lock is held during the check: further probes wait for the same result.
        let mut kept = self.last.lock().await;
        if let Some((at, look)) = kept.as_ref()
            && at.elapsed() < KEPT
        {
            return look.clone();
        }
        let mut faults = Vec::new();
        let readiness = processor.settler().readiness().await;
        observe_readiness(&readiness);
        let (settlements_left, aggr_deferred) = match readiness {
            Readiness::Ready {
                settlements_left,
                aggr_deferred,
            } => (settlements_left, Some(aggr_deferred)),
            Readiness::NotReady { reason } => {
                faults.push(FailedDependency {
                    component: "settlement",
                    reason: reason.to_string(),
                });
                (None, None)
            }
        };
        if let Err(error) = processor.journal().probe().await {
            faults.push(FailedDependency {
                component: "ledger",
                reason: error.to_string(),
            });
        }
        if let Some(fence) = &self.fence
            && let Err(error) = fence.probe().await
        {
            faults.push(FailedDependency {
                component: "fence",
                reason: error.to_string(),
            });
        }
        if let Some(mandates) = &self.mandates
            && let Err(error) = mandates.probe().await
        {
            faults.push(FailedDependency {
                component: "mandates",
                reason: error.to_string(),
            });
        }
        let look = Look {
            faults,
            settlements_left,
            aggr_deferred,
        };
        *kept = Some((Instant::now(), look.clone()));
        look
    }
}

/// Sets the metrics of the settler's account and of the clocks.
fn observe_readiness(readiness: &Readiness) {
    let apart = match readiness {
        Readiness::NotReady {
            reason: Cause::Clock { machine, block },
        } => {
            let ahead = i128::from(*machine) - i128::from(*block);
            i64::try_from(ahead).unwrap_or_default()
        }
        _ => 0,
    };
    observe::clock_difference(apart);
    match readiness {
        Readiness::Ready {
            settlements_left, ..
        } => observe::settlements_left(*settlements_left),
        Readiness::NotReady {
            reason: Cause::NoGas { .. },
        } => observe::settlements_left(Some(0)),
        // The settler did not check the account, so the gauges keep their values.
        Readiness::NotReady { .. } => {}
    }
}
