//! One reviewed contract: the functions that a wallet's key may call there, and whether it may be
//! approved. The operator reviews it; the code only checks that the entry is consistent.

use std::collections::BTreeSet;

use alloy_primitives::{Address, Selector};

use super::TargetsFault;
use super::arguments::{APPROVE, NEVER, OF_TOKEN};

/// A reviewed contract, and its functions that a wallet's key may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    chain_id: u64,
    contract: Address,
    selectors: BTreeSet<Selector>,
    description: String,
    vaults: Vec<Vault>,
}

/// A target as a deposit product. Depositing code reads it; the policy does not judge by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vault {
    /// The product's id in the data of its protocol.
    pub product_id: String,
    /// The protocol, such as `aave-v3` or `erc4626`.
    pub protocol: String,
    /// The token that is deposited.
    pub asset: Address,
}

impl Target {
    /// `approve(address,uint256)` of ERC-20.
    pub const APPROVE: Selector = APPROVE;

    /// A contract with the functions that may be called.
    ///
    /// # Errors
    /// [`TargetsFault`]: no function, a repeated function, or one that gives tokens away without
    /// the judgement of arguments (`transferFrom`, `increaseAllowance`, `permit`, …); an empty
    /// description.
    pub fn new(
        chain_id: u64,
        contract: Address,
        selectors: impl IntoIterator<Item = Selector>,
        description: impl Into<String>,
    ) -> Result<Self, TargetsFault> {
        let mut target = Self::spender(chain_id, contract, description)?;
        for observed in selectors {
            if let Some(&(_, function)) = NEVER.iter().find(|(never, _)| *never == observed) {
                return Err(TargetsFault::SelectorNever {
                    contract,
                    observed,
                    function,
                });
            }
            if !target.selectors.insert(observed) {
                return Err(TargetsFault::SelectorDuplicate { contract, observed });
            }
        }
        if target.selectors.is_empty() {
            return Err(TargetsFault::SelectorsEmpty { contract });
        }
        Ok(target)
    }

    /// A contract that is approved and never called, such as the proxy through which a router takes
    /// tokens.
    ///
    /// # Errors
    /// [`TargetsFault::WhatEmpty`].
    pub fn spender(
        chain_id: u64,
        contract: Address,
        description: impl Into<String>,
    ) -> Result<Self, TargetsFault> {
        let description = description.into();
        if description.trim().is_empty() {
            return Err(TargetsFault::WhatEmpty { contract });
        }
        Ok(Self {
            chain_id,
            contract,
            selectors: BTreeSet::new(),
            description,
            vaults: Vec::new(),
        })
    }

    /// Adds a deposit product.
    #[must_use]
    pub fn with_vault(mut self, vault: Vault) -> Self {
        self.vaults.push(vault);
        self
    }

    /// The chain (EIP-155).
    #[must_use]
    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// The contract.
    #[must_use]
    pub const fn contract(&self) -> Address {
        self.contract
    }

    /// The functions that may be called. Empty for a contract that is only approved.
    pub fn selectors(&self) -> impl Iterator<Item = Selector> {
        self.selectors.iter().copied()
    }

    /// The contract's description, for people.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its deposit products. A pool has one for each of its assets.
    #[must_use]
    pub fn vaults(&self) -> &[Vault] {
        &self.vaults
    }

    pub(super) const fn key(&self) -> (u64, Address) {
        (self.chain_id, self.contract)
    }

    pub(super) fn may_be_called(&self, selector: Selector) -> bool {
        self.selectors.contains(&selector)
    }

    /// Whether it may be approved. A target with a token's functions only is a token, and takes
    /// nothing.
    pub(super) fn may_spend(&self) -> bool {
        let is_of_token = |selector: &Selector| OF_TOKEN.contains(selector);
        self.selectors.is_empty() || !self.selectors.iter().all(is_of_token)
    }

    /// Whether both are rows of one pool, for different products.
    pub(super) fn is_other_product_of(&self, other: &Self) -> bool {
        let ids = |target: &Self| -> BTreeSet<String> {
            let ids = target.vaults.iter().map(|vault| vault.product_id.clone());
            ids.collect()
        };
        let (ids, others) = (ids(self), ids(other));
        !ids.is_empty() && !others.is_empty() && ids.is_disjoint(&others)
    }

    /// One target with the functions and products of both.
    pub(super) fn join(mut self, other: Self) -> Self {
        self.selectors.extend(other.selectors);
        self.vaults.extend(other.vaults);
        self
    }
}
