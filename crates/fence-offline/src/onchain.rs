//! `onchain delegation`, `auth7702` and `disable`: the part of the on-chain fence that needs no
//! network.

mod auth7702;
mod delegation;
mod disable;
pub mod words;

use std::path::Path;

use alloy_primitives::{Address, U256};
use clap::Args;
use delegation_fence::{
    Grant, Policy, TypedData,
    onchain::{
        ChainGrant, ChainTerms, Delegation, Level, Purpose, SignedDelegation, UnsentTransaction,
    },
};
use serde_json::{Value, json};

pub(crate) use self::delegation::deliver as deliver_with;
pub use self::{
    auth7702::{Auth7702, auth7702},
    delegation::{Delegate, delegation},
    disable::{Disable, disable},
};
use crate::{
    Failure, Refused,
    document::{Document, signature},
    policy::PolicyArguments,
    settings::Settings,
};

/// The redeemer and the enforcer.
#[derive(Debug, Args)]
pub struct Chain {
    /// The service's key that redeems the delegations; the service publishes it
    #[arg(long, value_name = "ADDRESS", env = "SVC_FENCE_REDEEMER", value_parser = exact::address::parse)]
    pub redeemer: Option<Address>,
    /// The project's own enforcer at this address; not audited [default: the framework's enforcers]
    #[arg(long, value_name = "ADDRESS", env = "SVC_FENCE_ENFORCER", value_parser = exact::address::parse)]
    pub enforcer: Option<Address>,
    /// The account's number at the framework's NonceEnforcer, which is 0 unless it was counted up
    #[arg(long, value_name = "NUMBER", default_value = "0")]
    pub chain_nonce: u64,
}

impl Chain {
    pub(crate) fn redeemer(&self, settings: &Settings) -> Option<Address> {
        self.redeemer.or(settings.redeemer)
    }

    pub(crate) fn terms<'a>(
        &self,
        grant: &'a TypedData<Grant>,
        policy: &'a Policy,
        redeemer: Address,
        settings: &Settings,
    ) -> ChainTerms<'a> {
        let enforcer = self.enforcer.or(settings.enforcer);
        ChainTerms {
            grant,
            policy,
            redeemer,
            level: enforcer.map_or(Level::Stock, Level::Enforcer),
            nonce: U256::from(self.chain_nonce),
        }
    }
}

/// Signs each delegation with the account's key.
pub(crate) fn sign_all(
    key: &keystore::Key,
    chain_id: u64,
    delegations: Vec<(Purpose, Delegation)>,
) -> Result<Vec<SignedDelegation>, Failure> {
    delegations
        .into_iter()
        .map(|(_, delegation)| {
            let signature = signature(key, delegation.digest(chain_id))?;
            Ok(delegation.sign_with(signature))
        })
        .collect()
}

/// The grant of a file with its delegations, each compared with the grant.
///
/// # Errors
/// A file that cannot be used; `delegations_missing`, `delegation_*`.
pub fn of_file(path: &Path, policy: &PolicyArguments) -> Result<(ChainGrant, Policy), Failure> {
    let document = Document::<Grant>::read(path)?;
    let policy = policy.choose(&Settings::load()?)?.policy;
    let chain = of_document(&document, &policy)?;
    Ok((chain, policy))
}

/// Like [`of_file`], for a grant that was read.
///
/// # Errors
/// `delegations_missing`, `delegation_*`
pub fn of_document(document: &Document<Grant>, policy: &Policy) -> Result<ChainGrant, Failure> {
    if document.delegations.is_empty() {
        return Err(Refused::new(
            "delegations_missing",
            "the grant's file has no delegations: give the file that was submitted (fence-cli onchain delegation makes them)",
        )
        .into());
    }
    Ok(ChainGrant::of_file(
        &document.typed_data,
        policy,
        &document.delegations,
    )?)
}

/// A transaction in the tool's output: for a wallet, and for people with cast.
#[must_use]
pub fn transaction(call: &UnsentTransaction) -> Value {
    json!({
        "chain_id": call.chain_id,
        "from": call.from.to_string(),
        "to": call.to.to_string(),
        "value": "0",
        "data": call.data,
    })
}
