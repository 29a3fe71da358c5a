//! The composition of wallet actions.

use std::sync::{Arc, Weak};

use custody::{Custody, SigningPolicy};
use data_sources::Clock;
use gas_funding::GasFunding;
use server_config::UpstreamMode;
use wallet_actions::{Pace, Parts, WalletActions};

use super::{NativePrices, Sending, WalletMover, WalletPlans};
use crate::Sources;
use crate::config::Config;
use crate::error::ServeError;

/// The chains on which wallets can act: the chains of wallets that have configured nodes.
pub(crate) fn acting_chains(config: &Config) -> impl Iterator<Item = u64> + '_ {
    let wallets = config.custody.iter().flat_map(|_| &config.wallets.chains);
    wallets.copied().filter(|chain_id| {
        let table = config.chains.0.get(&chain_id.to_string());
        table.is_some_and(|table| {
            table.mode != Some(UpstreamMode::Replay) && !table.rpc_urls.is_empty()
        })
    })
}

/// Makes the mover for acting mandates, if wallets act and mandates are stored.
pub(crate) fn mover(sources: &Arc<Sources>, sending: Option<Sending>) -> Option<WalletMover> {
    let actions = sources.wallets.actions.clone()?;
    let prices = Arc::new(NativePrices::new(sources));
    // The sources own the mandates, which own the mover.
    let yields: Weak<Sources> = Arc::downgrade(sources);
    sources.mandates()?;
    Some(WalletMover::new(actions, yields, prices, sending?.turns))
}

/// Starts the actions of wallets and resumes those that an earlier process left open. `None`
/// without a chain to act on.
///
/// # Errors
/// Records that cannot be opened, or a fee configuration that cannot be used.
pub(crate) async fn open(
    config: &Config,
    custody: &Arc<dyn Custody>,
    policy: &SigningPolicy,
    sending: &Sending,
    sources: &Sources,
    funding: GasFunding,
    clock: &Arc<dyn Clock>,
) -> Result<Option<WalletActions>, ServeError> {
    if sending.chains.is_empty() {
        return Ok(None);
    }
    let store = sending.stores.intents().await?;
    let clock = Arc::clone(clock);
    Ok(Some(WalletActions::start(Parts {
        custody: Arc::clone(custody),
        policy: policy.clone(),
        chains: sending.chains.clone(),
        sender: sending.sender.clone(),
        turns: sending.turns.clone(),
        store,
        plans: Arc::new(WalletPlans::new(config, sources)?),
        funding,
        pace: Pace::default(),
        clock: Arc::new(move || u64::try_from(clock.now().as_second()).unwrap_or_default()),
    })))
}
