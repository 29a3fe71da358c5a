//! The pinned parts of `[delegation]`, and the files that they name. Opens no store.

use std::path::Path;

use alloy_primitives::U256;
use delegation_fence::{Budget, Domain, Fence, Instance, Name, Policy, Refusal, Rule};

use super::redeemer;
use crate::config::{Config, DelegationSection, Problem, Usd};
use crate::fees::fees;

/// The pinned parts of a configuration: the fence, the reviewed fees, the budgets.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) fence: Fence,
    pub(super) plans: plan_builder::Policy,
    pub(super) budget: Budget,
}

/// Reads the pinned parts of a configuration; `None` without `[delegation]`.
///
/// # Errors
/// A [`Problem`] that names the key: a file that cannot be read or used, a policy with another
/// digest than the pinned one.
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
    let instance = Instance {
        domain: Domain::new(policy.chain_id(), salt),
        project_id,
    };
    let fence = Fence::new(instance, policy)
        .map_err(|refusal| wrong("delegation.policy", refusal))?
        .with_service_keys(redeemer::service_keys(config));
    let plans = plans(config.fee_config())?;
    reviewed(fence.policy(), &plans)?;
    Ok(Some(Pinned {
        fence,
        plans,
        budget,
    }))
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

/// Requires a policy under which plans can be sent with these fees.
fn reviewed(policy: &Policy, plans: &plan_builder::Policy) -> Result<(), Problem> {
    policy.require_reviewed(&plans.fees).map_err(|refusal| {
        if refusal.rule != Rule::FenceFeeVersion {
            return Problem::new("delegation.policy", refusal.to_string());
        }
        let message = format!(
            "expected version {}, which the fence's policy names, observed {}: no plan would be admitted",
            refusal.expected, refusal.observed
        );
        Problem::new("plans.fee_config", message)
    })
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

/// Dollars in the smallest unit of a token that is worth a dollar; rounded up.
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
