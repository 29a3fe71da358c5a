//! A sealed block's state of an account with delegations.

use alloy_primitives::{Address, B256, Bytes, U256};

use super::{accept::ChainGrant, read::judge_code};
use crate::{Block, Refusal, Rule, refusal::same};

/// A sealed block's state of an account. All of it was read as of this one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReading {
    /// The block.
    pub block: Block,
    /// The account's code.
    pub code: Bytes,
    /// Its number at the `NonceEnforcer`.
    pub nonce: U256,
    /// The requested delegations that the manager has disabled.
    pub disabled: Vec<B256>,
    /// The router's allowances for the requested tokens.
    pub allowances: Vec<(Address, U256)>,
}

impl ChainReading {
    /// Checks that the account runs the framework's code.
    ///
    /// # Errors
    /// `account_code_mismatch`
    pub fn require_code(&self) -> Result<(), Refusal> {
        judge_code(&self.code)
    }

    /// Checks that the router has no allowance yet. At the stock level the redeemer could spend it.
    ///
    /// # Errors
    /// `router_allowance_open`
    pub fn require_no_allowance(&self) -> Result<(), Refusal> {
        let open = self.allowances.iter().find(|(_, left)| !left.is_zero());
        match open {
            None => Ok(()),
            Some((token, left)) => Err(Refusal::new(
                Rule::RouterAllowanceOpen,
                "the router may already take a token from the account; set that allowance to 0 before you grant",
                format_args!("an allowance of 0 of {token}"),
                left,
            )),
        }
    }
}

impl ChainGrant {
    /// Checks that the chain would let the delegations be redeemed, as far as that can be read
    /// beforehand. It does not read whether the manager is paused.
    ///
    /// # Errors
    /// `account_code_mismatch`, `delegation_nonce_mismatch`, `delegation_disabled`. The delegation
    /// that clears an allowance counts too, because no plan may begin whose allowance could not be
    /// cleared.
    pub fn judge(&self, reading: &ChainReading) -> Result<(), Refusal> {
        reading.require_code()?;
        same(
            Rule::DelegationNonceMismatch,
            "the account has counted up since it signed the delegations: they count no more",
            self.nonce,
            reading.nonce,
        )?;
        let disabled = self
            .delegations
            .iter()
            .map(|(purpose, signed)| (purpose, signed.delegation.hash()))
            .find(|(_, hash)| reading.disabled.contains(hash));
        match disabled {
            None => Ok(()),
            Some((purpose, hash)) => Err(Refusal::new(
                Rule::DelegationDisabled,
                "the account has a delegation of the grant disabled",
                format_args!("the delegation to {} enabled", purpose.as_str()),
                hash,
            )),
        }
    }

    /// The hashes of all delegations, the clearing one included.
    #[must_use]
    pub fn hashes(&self) -> Vec<B256> {
        self.delegations
            .iter()
            .map(|(_, signed)| signed.delegation.hash())
            .collect()
    }

    /// The hash of the delegation that clears an allowance.
    #[must_use]
    pub fn clearing(&self) -> Option<B256> {
        self.delegations
            .iter()
            .find(|(purpose, _)| !purpose.ends_with_the_grant())
            .map(|(_, signed)| signed.delegation.hash())
    }

    /// Whether the permission is over according to a block: every delegation except the clearing
    /// one is disabled.
    #[must_use]
    pub fn is_over(&self, reading: &ChainReading) -> bool {
        self.ending()
            .iter()
            .all(|hash| reading.disabled.contains(hash))
    }
}
