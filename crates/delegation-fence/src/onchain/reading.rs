//! What a sealed block says of an account with delegations.

use alloy_primitives::{Address, B256, Bytes, U256};

use super::{accept::ChainGrant, read::judge_code};
use crate::{Block, Refusal, Rule, refusal::same};

/// What a sealed block says of an account: everything in it was read as of this one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReading {
    /// Which block.
    pub block: Block,
    /// The account's code.
    pub code: Bytes,
    /// Its number at the `NonceEnforcer`.
    pub nonce: U256,
    /// Which of the delegations that were asked for the manager has disabled.
    pub disabled: Vec<B256>,
    /// What the router may take of the tokens that were asked for.
    pub allowances: Vec<(Address, U256)>,
}

impl ChainReading {
    /// The router may take nothing from the account yet. At the stock level whoever redeems could
    /// spend what it may take.
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
    /// The chain would let the delegations be redeemed, as far as it can be read beforehand. Not
    /// read is whether the manager is paused.
    ///
    /// # Errors
    /// `account_code_mismatch`, `delegation_nonce_mismatch`, `delegation_disabled`. The delegation
    /// that clears an allowance counts too: nothing is begun that could not be cleared.
    pub fn judge(&self, reading: &ChainReading) -> Result<(), Refusal> {
        judge_code(&reading.code)?;
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

    /// The hashes of all delegations, those to clear included.
    #[must_use]
    pub fn hashes(&self) -> Vec<B256> {
        self.delegations
            .iter()
            .map(|(_, signed)| signed.delegation.hash())
            .collect()
    }

    /// The hash of the delegation to clear an allowance.
    #[must_use]
    pub fn clearing(&self) -> Option<B256> {
        self.delegations
            .iter()
            .find(|(purpose, _)| !purpose.ends_with_the_grant())
            .map(|(_, signed)| signed.delegation.hash())
    }

    /// Whether the permission is over by what a block says: every delegation but the one to clear
    /// is disabled.
    #[must_use]
    pub fn is_over(&self, reading: &ChainReading) -> bool {
        self.ending()
            .iter()
            .all(|hash| reading.disabled.contains(hash))
    }
}
