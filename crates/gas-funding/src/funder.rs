//! The account that pays for gas and its limits, and the results of a request for coins.

use alloy_primitives::{Address, U256};

use crate::Budget;

/// The account from which other accounts get coins for gas, with its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Funder {
    /// The account. The sender of transactions signs for it.
    pub account: Address,
    /// The most wei that the account gives for one purpose on one chain. A purpose is the steps of
    /// a plan, the clearing after a halted plan, or an intent.
    pub most_wei: U256,
    /// The daily budget of one owner, in micro US dollars.
    pub of_owner: u64,
    /// The daily budget of all owners together, in micro US dollars.
    pub of_all: u64,
    /// The daily budget of all owners together on one chain, in wei. It holds whatever a source of
    /// prices says.
    pub of_chain_wei: U256,
}

/// Whether an account can pay for gas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Funds {
    /// The account holds enough.
    Enough,
    /// A transfer to the account is under way.
    Coming,
    /// The account holds too little, and gets no coins.
    Missing(NotGiven),
}

/// The coins that an account lacks and would not get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lacking {
    /// The missing wei.
    pub wei: U256,
    /// Why the account would not get them.
    pub why: NotGiven,
}

/// Why an account gets no coins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotGiven {
    /// The operator has configured no funding account.
    NoGasAccount,
    /// The amount exceeds the limit of one purpose.
    TooLarge,
    /// The owner of the account is unknown.
    OwnerUnknown,
    /// A budget does not cover the amount.
    BudgetExhausted(Budget),
    /// The price of the coin is unavailable, and a budget does not cover the amount at the highest
    /// possible price.
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
