//! The signing policy of sub-wallets' keys: the operator's list of reviewed targets, plus the
//! contracts that the fence pins.

use std::collections::BTreeMap;
use std::path::Path;

use custody::{SigningPolicy, Target, TargetsFault};

use crate::config::{Config, Problem};
use crate::delegation;
use crate::error::ServeError;

/// The key of the list.
const KEY: &str = "wallets.reviewed";

/// Reads the policy of a configuration. The contracts of the fence's plans are reviewed with its
/// policy document and need no entry in the list.
///
/// # Errors
/// [`ServeError`] names the key when the list or a part of the fence cannot be read or used.
pub(crate) fn policy(config: &Config) -> Result<SigningPolicy, ServeError> {
    let policy = match &config.wallets.reviewed {
        Some(path) => read(path).map_err(wrong)?,
        None => SigningPolicy::default(),
    };
    let pinned = delegation::pinned(config).map_err(ServeError::Delegation)?;
    match pinned {
        Some(pinned) => {
            with_fence(policy, pinned.fence.policy()).map_err(|fault| wrong(fault.to_string()))
        }
        None => Ok(policy),
    }
}

/// Counts the contracts that the keys may call or approve, by chain.
pub(crate) fn summary(policy: &SigningPolicy) -> String {
    let mut chains: BTreeMap<u64, usize> = BTreeMap::new();
    for target in policy.targets() {
        let count = chains.entry(target.chain_id()).or_default();
        *count = count.saturating_add(1);
    }
    let counted: Vec<String> = chains
        .iter()
        .map(|(chain_id, count)| format!("{count} of chain {chain_id}"))
        .collect();
    let counted = match counted.is_empty() {
        true => "none, so that no wallet signs anything".to_owned(),
        false => counted.join(", "),
    };
    match policy.version() {
        "" => format!("reviewed contracts: {counted}"),
        version => format!("reviewed contracts ({version}): {counted}"),
    }
}

/// Adds the calls of plans under the fence: approvals of the input token, and the functions of the
/// router that the fence's policy names.
fn with_fence(
    policy: SigningPolicy,
    fence: &delegation_fence::Policy,
) -> Result<SigningPolicy, TargetsFault> {
    let (chain_id, name) = (fence.chain_id(), fence.name());
    let token = Target::new(
        chain_id,
        fence.input_token(),
        [Target::APPROVE],
        format!("the input token of {name}"),
    )?;
    let shapes = fence.shapes();
    let router = Target::new(
        chain_id,
        fence.router(),
        shapes.iter().map(|shape| shape.selector),
        format!("the router of {name}"),
    )?;
    Ok(policy.with(token).with(router))
}

fn read(path: &Path) -> Result<SigningPolicy, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {}", path.display(), error.kind()))?;
    SigningPolicy::parse(&text).map_err(|fault| format!("{}: {fault}", path.display()))
}

fn wrong(message: String) -> ServeError {
    ServeError::Wallets(Problem::new(KEY, message))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, Bytes, U256};
    use alloy_sol_types::{SolCall as _, sol};
    use custody::{Owner, Purpose, Subject};
    use tx_sender::{Fees, Unsigned};

    use super::*;

    sol! {
        function approve(address spender, uint256 amount) external returns (bool);
    }

    fn fence() -> delegation_fence::Policy {
        let document = include_str!("../../../docs/fence-policy.example.json");
        delegation_fence::Policy::parse(document).unwrap()
    }

    #[test]
    fn the_example_can_be_used_and_the_fence_adds_nothing_to_it() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let policy = read(&folder.join("wallet-targets.example.toml")).unwrap();
        // The example list already covers the contracts that the fence pins.
        assert_eq!(with_fence(policy.clone(), &fence()), Ok(policy.clone()));
        assert_eq!(policy.targets().count(), 23);
        let missing = read(&folder.join("none.toml")).unwrap_err();
        assert!(missing.starts_with("cannot read "), "{missing}");
    }

    #[test]
    fn without_a_list_the_keys_sign_for_the_fence_and_nothing_else() {
        let fence = fence();
        let policy = with_fence(SigningPolicy::default(), &fence).unwrap();
        assert_eq!(summary(&policy), "reviewed contracts: 2 of chain 8453");
        let owner = Owner::new(196, Address::repeat_byte(1));
        let judge = |to, input: Bytes| {
            let unsigned = Unsigned {
                chain_id: fence.chain_id(),
                nonce: 0,
                to,
                value: U256::ZERO,
                input,
                gas_limit: 100_000,
                fees: Fees::Legacy { price: 1 },
            };
            let subject = Subject::Transaction(&unsigned);
            let judged = policy.judge(owner, Address::repeat_byte(2), subject, Purpose::FencedPlan);
            judged.map_err(|refusal| refusal.code())
        };
        let approve = |spender| {
            let amount = U256::from(5);
            Bytes::from(approveCall { spender, amount }.abi_encode())
        };
        let (token, router) = (fence.input_token(), fence.router());
        let swap = Bytes::copy_from_slice(fence.shapes()[0].selector.as_slice());
        assert_eq!(judge(token, approve(router)), Ok(()));
        assert_eq!(judge(router, swap.clone()), Ok(()));
        let elsewhere = Address::repeat_byte(3);
        assert_eq!(
            judge(token, approve(elsewhere)),
            Err("wallet_spender_unreviewed")
        );
        assert_eq!(judge(elsewhere, swap), Err("wallet_target_unreviewed"));
        assert_eq!(
            judge(token, Bytes::from_static(&[0xa9, 0x05, 0x9c, 0xbb])),
            Err("wallet_selector_unreviewed")
        );
    }

    #[test]
    fn without_a_list_and_a_fence_nothing_is_signed() {
        assert_eq!(
            summary(&SigningPolicy::default()),
            "reviewed contracts: none, so that no wallet signs anything"
        );
    }
}
