//! Opens the delegations of this service from a configuration.

use std::sync::Arc;

use calldata_checks::UtcSeconds;
use data_sources::Clock;
use data_sources::worth::WorthJudge;
use delegation_fence::Now;
use fence_sending::{ChainClocks, ForeseenByChain};
use fence_server::{Clocks, Delegations, Foresee, Parts, PortFuture, Prices};

use super::{Routes, pinned, prices::TokenPrices, sending};
use crate::config::Config;
use crate::error::ServeError;
use crate::serve::Stores;

/// Opens the records beside the ledger and installs the pinned policy in them.
///
/// # Errors
/// [`ServeError`] that names the key.
pub(crate) async fn open(
    config: &Config,
    stores: &Stores,
    routes: &Routes,
    worth: WorthJudge,
    clock: Arc<dyn Clock>,
) -> Result<Option<Arc<Delegations>>, ServeError> {
    let pinned = pinned(config).map_err(ServeError::Delegation)?;
    let (Some(pinned), Some(section)) = (pinned, &config.delegation) else {
        return Ok(None);
    };
    let policy = pinned.fence.policy();
    // A server that sends nothing judges no worth.
    let chain = match routes.is_empty() {
        true => None,
        false => Some(sending::reader(config, section, policy.chain_id())?),
    };
    let prices = chain.clone().map(|chain| {
        Arc::new(TokenPrices {
            worth,
            chain,
            input_decimals: policy.input_decimals(),
            max_deviation: section.max_deviation(),
        })
    });
    let machine = MachineClock(clock);
    let clocks: Arc<dyn Clocks> = match &chain {
        Some(chain) => Arc::new(ChainClocks::new(
            chain.clone(),
            Arc::new(move || machine.unix()),
        )),
        None => Arc::new(machine),
    };
    let store = stores.delegations().await?;
    let parts = Parts {
        fence: pinned.fence,
        plans: pinned.plans,
        budget: pinned.budget,
        store,
        accounts: routes.accounts(),
        clocks,
        prices: prices.map(|prices| -> Arc<dyn Prices> { prices }),
        chain: chain.map(|chain| -> Arc<dyn Foresee> { Arc::new(ForeseenByChain::new(chain)) }),
        delegated: routes.chain(),
        strangers_revocations: u64::from(section.strangers_revocations),
    };
    let delegations = Delegations::install(parts)
        .await
        .map_err(ServeError::Fence)?;
    Ok(Some(Arc::new(delegations)))
}

/// The machine's clock as both clocks of the fence, for a server that sends nothing and reads no
/// chain.
struct MachineClock(Arc<dyn Clock>);

impl MachineClock {
    fn unix(&self) -> u64 {
        u64::try_from(self.0.now().as_second()).unwrap_or_default()
    }
}

impl Clocks for MachineClock {
    fn now(&self) -> PortFuture<'_, Now> {
        let now = self.unix();
        Box::pin(async move { Now::offline(UtcSeconds::from_unix(now)) })
    }
}
