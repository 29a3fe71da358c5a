//! Opens the delegations of this service from a configuration.

use std::path::Path;
use std::sync::Arc;

use alloy_primitives::U256;
use calldata_checks::{BasisPoints, UtcSeconds};
use data_sources::Clock;
use data_sources::defillama::Defillama;
use delegation_fence::{Budget, Domain, Fence, Instance, Name, Now, Policy, Refusal};
use fence_sending::{ChainClocks, ForeseenByChain};
use fence_server::{Clocks, Delegations, Foresee, Parts, PortFuture, Prices, SqliteStore};
use storage::sqlite::path_of;

use super::{Routes, prices::TokenPrices, redeemer, sending};
use crate::config::{Config, DelegationSection, Problem, Usd};
use crate::error::ServeError;
use crate::fees::fees;

/// The pinned parts of a configuration: the fence, the reviewed fees, the budgets.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) fence: Fence,
    plans: plan_builder::Policy,
    budget: Budget,
}

/// Reads the pinned parts; `None` without `[delegation]`.
///
/// # Errors
/// A [`Problem`] that names the key: a file that cannot be read or used, or a policy whose digest
/// is not the pinned one.
pub(crate) fn pinned(config: &Config) -> Result<Option<Pinned>, Problem> {
    let Some(section) = &config.delegation else {
        return Ok(None);
    };
    let policy = policy(section)?;
    let wrong = |key: &str, refusal: Refusal| Problem::new(key, refusal.to_string());
    let salt = DelegationSection::word(&section.instance_salt).unwrap_or_default();
    let project_id = Name::new(&section.project_id)
        .map_err(|refusal| wrong("delegation.project_id", refusal))?;
    let budget = budget(section, policy.input_decimals());
    let fee_version = policy.fee_config_version().to_owned();
    let instance = Instance {
        domain: Domain::new(policy.chain_id(), salt),
        project_id,
    };
    let fence = Fence::new(instance, policy)
        .map_err(|refusal| wrong("delegation.policy", refusal))?
        .with_service_keys(redeemer::service_keys(config));
    let plans = plans(config.fee_config())?;
    if plans.fees.version != fee_version {
        let message = format!(
            "expected version {fee_version}, which the fence's policy names, observed {}: no plan would be admitted",
            plans.fees.version
        );
        return Err(Problem::new("plans.fee_config", message));
    }
    Ok(Some(Pinned {
        fence,
        plans,
        budget,
    }))
}

/// Opens the records beside the ledger and installs the pinned policy in them.
///
/// # Errors
/// [`ServeError`] that names the key.
pub(crate) async fn open(
    config: &Config,
    routes: &Routes,
    defillama: Defillama,
    clock: Arc<dyn Clock>,
) -> Result<Option<Arc<Delegations>>, ServeError> {
    let pinned = pinned(config).map_err(ServeError::Delegation)?;
    let (Some(pinned), Some(section)) = (pinned, &config.delegation) else {
        return Ok(None);
    };
    let policy = pinned.fence.policy();
    // A deviation of 100 % limits nothing, and a server that sends nothing compares no prices.
    let is_bounded = section.max_deviation() < BasisPoints::MAX;
    let chain = match routes.is_empty() {
        true => None,
        false => Some(sending::reader(config, section, policy.chain_id())?),
    };
    let prices = chain.clone().filter(|_| is_bounded).map(|chain| {
        Arc::new(TokenPrices {
            defillama,
            chain,
            clock: Arc::clone(&clock),
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
    let path = path_of(&config.storage.url).map_err(ServeError::Records)?;
    let store = SqliteStore::open(path.with_extension("fence.db")).map_err(ServeError::Records)?;
    let parts = Parts {
        fence: pinned.fence,
        plans: pinned.plans,
        budget: pinned.budget,
        store: Arc::new(store),
        accounts: routes.accounts(),
        clocks,
        prices: prices.map(|prices| -> Arc<dyn Prices> { prices }),
        chain: chain.map(|chain| -> Arc<dyn Foresee> { Arc::new(ForeseenByChain::new(chain)) }),
        delegated: routes.chain(),
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

fn policy(section: &DelegationSection) -> Result<Policy, Problem> {
    let path = section.policy.as_deref().unwrap_or_else(|| Path::new(""));
    let key = "delegation.policy";
    let text = read(key, path)?;
    let policy = Policy::parse(&text)
        .map_err(|refusal| Problem::new(key, format!("{}: {refusal}", path.display())))?;
    let digest = DelegationSection::word(&section.policy_digest).unwrap_or_default();
    if policy.digest() == digest {
        return Ok(policy);
    }
    let message = format!(
        "expected the digest of {}, which is {}, observed {digest}: review the document before you pin it",
        path.display(),
        policy.digest()
    );
    Err(Problem::new("delegation.policy_digest", message))
}

fn plans(path: Option<&Path>) -> Result<plan_builder::Policy, Problem> {
    let path = path.unwrap_or_else(|| Path::new(""));
    Ok(plan_builder::Policy::new(fees(path)?))
}

fn read(key: &str, path: &Path) -> Result<String, Problem> {
    std::fs::read_to_string(path).map_err(|error| {
        let message = format!("cannot read {}: {}", path.display(), error.kind());
        Problem::new(key, message)
    })
}

fn budget(section: &DelegationSection, decimals: u8) -> Budget {
    Budget {
        least_amount: atoms(section.min_order_usd, decimals),
        of_plan: section.gas_estimate_usd.as_micro(),
        of_account: section.gas_budget_usd_per_account.as_micro(),
        of_all: section.gas_budget_usd.as_micro(),
    }
}

/// Converts dollars to the smallest unit of a dollar token, rounded up.
fn atoms(usd: Usd, decimals: u8) -> U256 {
    let micro = U256::from(usd.as_micro());
    let power = |exponent: u8| U256::from(10).saturating_pow(U256::from(exponent));
    match decimals.checked_sub(6) {
        Some(more) => micro.saturating_mul(power(more)),
        None => micro.div_ceil(power(6_u8.saturating_sub(decimals))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_atoms_of_a_dollar_token() {
        for (micro, decimals, expected) in [
            (10_000_000, 6, 10_000_000_u64),
            (10_000_000, 8, 1_000_000_000),
            (10_000_001, 2, 1_001),
            (0, 6, 0),
        ] {
            assert_eq!(atoms(Usd::micro(micro), decimals), U256::from(expected));
        }
    }
}
