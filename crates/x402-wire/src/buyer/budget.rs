//! The amounts that a buyer may still spend.

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256};
use thiserror::Error;

use crate::Network;

/// The amounts that a buyer may still spend, by network and asset, in the asset's smallest unit.
/// The caller keeps the budget: in memory, or in a file between runs ([`Budget::iter`] writes it,
/// `collect` reads it).
///
/// An asset that was never put in has zero left. [`Choice::authorize`](super::Choice::authorize)
/// takes amounts out.
///
/// # Example
/// ```
/// use alloy_primitives::{Address, U256};
/// use x402_wire::{Network, buyer::Budget};
///
/// let (network, asset) = (Network::evm(196), Address::repeat_byte(1));
/// let mut budget = Budget::new().with(network, asset, U256::from(10_000));
/// budget.take(network, asset, U256::from(2_000))?;
/// assert_eq!(budget.left(network, asset), U256::from(8_000));
/// assert!(budget.take(network, asset, U256::from(8_001)).is_err());
/// # Ok::<(), x402_wire::buyer::BudgetExceeded>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    left: BTreeMap<(Network, Address), U256>,
}

/// The budget has less left than the amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[error("the budget has {left} left, {needed} is needed")]
#[non_exhaustive]
pub struct BudgetExceeded {
    /// How much of the asset is left.
    pub left: U256,
    /// The amount that was to be taken out.
    pub needed: U256,
}

impl Budget {
    /// Creates an empty budget.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the budget with `amount` more of an asset.
    #[must_use]
    pub fn with(mut self, network: Network, asset: Address, amount: U256) -> Self {
        self.give_back(network, asset, amount);
        self
    }

    /// Returns the amount of an asset that is left.
    #[must_use]
    pub fn left(&self, network: Network, asset: Address) -> U256 {
        self.left
            .get(&(network, asset))
            .copied()
            .unwrap_or_default()
    }

    /// Iterates over the amounts that are left, including those that are zero.
    ///
    /// # Example
    /// ```
    /// use alloy_primitives::{Address, U256};
    /// use x402_wire::{Network, buyer::Budget};
    ///
    /// let budget = Budget::new().with(Network::evm(196), Address::repeat_byte(1), U256::from(5));
    /// let rows: Vec<(Network, Address, U256)> = budget.iter().collect(); // to a file
    /// assert_eq!(rows.into_iter().collect::<Budget>(), budget);
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Network, Address, U256)> {
        let left = self.left.iter();
        left.map(|((network, asset), amount)| (*network, *asset, *amount))
    }

    /// Takes an amount out.
    ///
    /// # Errors
    /// [`BudgetExceeded`]; the budget is unchanged.
    pub fn take(
        &mut self,
        network: Network,
        asset: Address,
        amount: U256,
    ) -> Result<(), BudgetExceeded> {
        let left = self.left(network, asset);
        let rest = left.checked_sub(amount).ok_or(BudgetExceeded {
            left,
            needed: amount,
        })?;
        self.left.insert((network, asset), rest);
        Ok(())
    }

    /// Puts an amount in.
    ///
    /// Give the amount of a payment back only when it cannot be settled any more: it was never
    /// signed, or its authorization has ended and the chain shows its nonce unused.
    ///
    /// # Example
    /// ```
    /// use alloy_primitives::{Address, U256};
    /// use x402_wire::{Network, buyer::Budget};
    ///
    /// let (network, asset) = (Network::evm(196), Address::repeat_byte(1));
    /// let mut budget = Budget::new().with(network, asset, U256::from(10_000));
    /// budget.take(network, asset, U256::from(2_000))?;
    /// budget.give_back(network, asset, U256::from(2_000)); // the payment was never signed
    /// assert_eq!(budget.left(network, asset), U256::from(10_000));
    /// # Ok::<(), x402_wire::buyer::BudgetExceeded>(())
    /// ```
    pub fn give_back(&mut self, network: Network, asset: Address, amount: U256) {
        let left = self.left.entry((network, asset)).or_default();
        *left = left.saturating_add(amount);
    }
}

impl FromIterator<(Network, Address, U256)> for Budget {
    fn from_iter<I: IntoIterator<Item = (Network, Address, U256)>>(rows: I) -> Self {
        let rows = rows.into_iter();
        rows.fold(Self::new(), |budget, (network, asset, amount)| {
            budget.with(network, asset, amount)
        })
    }
}
