//! Who gives coins, how many at most, and what came of asking.

use alloy_primitives::{Address, U256};

use crate::Budget;

/// The account that tops others up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Funder {
    /// The account. The sender of transactions signs for it.
    pub account: Address,
    /// The most wei that it gives for one purpose on one chain: the steps of a plan, the clearing
    /// after its halt, an intent.
    pub most_wei: U256,
    /// The most that it gives one owner in a day, in micro US dollars.
    pub of_owner: u64,
    /// The most that it gives all owners in a day, in micro US dollars.
    pub of_all: u64,
}

/// Whether an account can pay for gas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Funds {
    /// Yes.
    Enough,
    /// Coins for it are on their way.
    Coming,
    /// No, and nobody gives them.
    Missing(NotGiven),
}

/// What an account lacks that nobody would give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lacking {
    /// How many wei.
    pub wei: U256,
    /// Why nobody gives them.
    pub why: NotGiven,
}

/// Why coins are not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotGiven {
    /// The operator has set up no account that tops others up.
    NoGasAccount,
    /// It is more than is given for one purpose.
    TooLarge,
    /// Whose account it is cannot be told.
    OwnerUnknown,
    /// A budget does not cover it.
    BudgetExhausted(Budget),
    /// No price of the coin can be read. By the most that it can be worth, a budget does not cover
    /// it.
    PriceUnavailable(Budget),
}

impl NotGiven {
    /// The stable machine-readable name of the reason.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoGasAccount => "no_gas_account",
            Self::TooLarge => "gas_topup_too_large",
            Self::OwnerUnknown => "gas_owner_unknown",
            Self::BudgetExhausted(_) => "gas_budget_exhausted",
            Self::PriceUnavailable(_) => "coin_price_unavailable",
        }
    }
}
