//! The key that redeems the delegations of `eoa7702` accounts.

use alloy_primitives::Address;
use delegation_fence::onchain::Level;
use server_config::Problem;
use tx_sender::{LocalKey, TransactionSigner as _};

use crate::config::{Config, DelegationSection};

/// The key, if the configuration has one.
pub(super) fn key(section: &DelegationSection) -> Result<Option<LocalKey>, Problem> {
    let wrong = |_| Problem::new("delegation.redeemer_key", "is no private key");
    section
        .redeemer_key
        .as_ref()
        .map(|key| LocalKey::from_hex(key).map_err(wrong))
        .transpose()
}

/// The enforcers that restrict a redemption to the fence.
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
