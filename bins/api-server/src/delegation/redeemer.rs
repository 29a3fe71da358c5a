//! The key that redeems the delegations of `eoa7702` accounts.

use std::sync::Arc;

use alloy_primitives::{Address, address};
use delegation_fence::onchain::Level;
use fence_sending::{ChainReader, DelegatedAccounts};
use server_config::Problem;
use tx_sender::{LocalKey, TransactionSigner};

use super::{pinned, sending};
use crate::config::{Config, DelegationSection};
use crate::error::ServeError;

/// Tokens that many accounts of Base hold. At the stock level the redeemer of a delegation could
/// spend the router's allowances of these tokens, so a grant is refused while such an allowance
/// exists. The list cannot be complete: `docs/FENCE.md` says so.
const WATCHED: [Address; 6] = [
    address!("4200000000000000000000000000000000000006"),
    address!("d9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA"),
    address!("cbB7C0000aB88B473b1f5aFd9ef808440eed33Bf"),
    address!("2Ae3F1Ec7F1F5012CFEab0185bfc7aa3cf0DEc22"),
    address!("50c5725949A6F0c72E6C4a641F24049A917DB0Cb"),
    address!("940181a94A35A4569E4529A3CDfB74e38FD98631"),
];

/// The key, if the configuration has one.
pub(super) fn key(section: &DelegationSection) -> Result<Option<LocalKey>, Problem> {
    let wrong = |_| Problem::new("delegation.redeemer_key", "is no private key");
    section
        .redeemer_key
        .as_ref()
        .map(|key| LocalKey::from_hex(key).map_err(wrong))
        .transpose()
}

/// What restricts a redemption to the fence.
pub(crate) fn level(section: &DelegationSection) -> Level {
    let enforcer = section.enforcer.as_ref();
    match enforcer.and_then(|enforcer| enforcer.get().ok()) {
        Some(enforcer) => Level::Enforcer(enforcer),
        None => Level::Stock,
    }
}

/// The keys of this service. None of them may be the delegate of an `eoa7702` account.
pub(super) fn service_keys(config: &Config) -> Vec<Address> {
    let redeemer = config.delegation.as_ref().and_then(|section| {
        let key = key(section).ok().flatten()?;
        Some(key.account())
    });
    let gas = config.wallets.gas_account_key.as_ref();
    let gas = gas.and_then(|key| LocalKey::from_hex(key).ok());
    redeemer
        .into_iter()
        .chain(gas.map(|key| key.account()))
        .chain(config.settlement.payer_of_gas())
        .collect()
}

/// The accounts that delegate to this service; `None` without a key that redeems.
///
/// # Errors
/// A key or nodes of the configuration that are missing or cannot be used.
pub(super) fn accounts(config: &Config) -> Result<Option<DelegatedAccounts>, ServeError> {
    let Some(section) = &config.delegation else {
        return Ok(None);
    };
    let Some(key) = key(section).map_err(ServeError::Delegation)? else {
        return Ok(None);
    };
    let pinned = pinned(config).map_err(ServeError::Delegation)?;
    let Some(pinned) = pinned else {
        return Ok(None);
    };
    let chain_id = pinned.fence.policy().chain_id();
    let reader: ChainReader = sending::reader(config, section, chain_id)?;
    let signer: Arc<dyn TransactionSigner> = Arc::new(key);
    let terms = config.payment.terms();
    let payer_chain = terms.map_or(0, |terms| terms.network.chain_id());
    Ok(Some(DelegatedAccounts::new(
        reader,
        signer,
        level(section),
        WATCHED.to_vec(),
        payer_chain,
    )))
}
