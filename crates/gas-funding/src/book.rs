//! What was given for gas, and the budgets that bound it.

mod memory;
mod sqlite;

use alloy_primitives::{Address, U256};
use custody::Owner;
use thiserror::Error;

pub use self::memory::MemoryBook;
pub use self::sqlite::{Predecessors, SqliteBook};
use crate::PortFuture;

/// A day of UTC.
const DAY_SECONDS: u64 = 86_400;

/// The answer of a book.
pub type BookFuture<'a, T> = PortFuture<'a, Result<T, BookError>>;

/// What was given for gas. A booking is on disk when it returns.
pub trait Book: Send + Sync + 'static {
    /// Books coins that are about to be given. What is booked counts, whatever becomes of the
    /// transfer. A key that is booked stays as it is: the answer says how many coins it stands for.
    ///
    /// # Errors
    /// [`BookError::Budget`] when a budget does not cover it; nothing is booked then.
    fn book(&self, top_up: TopUp, limits: Limits) -> BookFuture<'_, Booked>;
}

/// Coins that are about to be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopUp {
    /// The key of the transfer at the sender of transactions, for ever.
    pub key: String,
    /// In whose budget it counts.
    pub owner: Owner,
    /// The account that acts.
    pub account: Address,
    /// When, in Unix seconds.
    pub at: u64,
    /// The chain whose coin is given.
    pub chain_id: u64,
    /// How many wei.
    pub wei: U256,
    /// What they are worth, in micro US dollars.
    pub micro_usd: u64,
}

/// What a booking is held against, in micro US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most that one owner is given in a day of UTC.
    pub of_owner: u64,
    /// The most that this owner is ever given: what it has paid.
    pub paid_by_owner: u64,
    /// The most that all owners are given in a day of UTC.
    pub of_all: u64,
}

/// A booking that stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booked {
    /// How many wei the key stands for: those that were booked first.
    pub wei: U256,
    /// Whether it was booked now.
    pub is_new: bool,
}

/// What bounds the coins that are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// What one owner is given in a day.
    OfOwner,
    /// What one owner is ever given.
    PaidByOwner,
    /// What all owners are given in a day.
    OfAll,
}

impl Budget {
    /// The key of the configuration, or `paid`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OfOwner => "gas_topup_budget_usd",
            Self::PaidByOwner => "paid",
            Self::OfAll => "gas_topup_total_usd",
        }
    }
}

/// Why nothing was booked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BookError {
    /// A budget does not cover the coins.
    #[error("the budget {} does not cover {asked} micro dollars: {given} of {most} are given", .budget.as_str())]
    Budget {
        /// Which.
        budget: Budget,
        /// What was to be given.
        asked: u64,
        /// What was given before.
        given: u64,
        /// The most.
        most: u64,
    },
    /// The book cannot be read or written. The code names no path.
    #[error("the book of coins for gas cannot be used: {code}")]
    Unavailable {
        /// What the database calls it.
        code: &'static str,
    },
}

impl BookError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Budget { .. } => "gas_budget_exhausted",
            Self::Unavailable { .. } => "gas_book_unavailable",
        }
    }
}

/// What was given before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Given {
    /// To the owner, in the day.
    owner_today: u64,
    /// To the owner, ever.
    owner_ever: u64,
    /// To all, in the day.
    all_today: u64,
}

impl Limits {
    /// # Errors
    /// [`BookError::Budget`]
    fn require(&self, asked: u64, given: Given) -> Result<(), BookError> {
        for (budget, given, most) in [
            (Budget::OfOwner, given.owner_today, self.of_owner),
            (Budget::PaidByOwner, given.owner_ever, self.paid_by_owner),
            (Budget::OfAll, given.all_today, self.of_all),
        ] {
            if given.saturating_add(asked) > most {
                return Err(BookError::Budget {
                    budget,
                    asked,
                    given,
                    most,
                });
            }
        }
        Ok(())
    }
}

/// The first second of the day that a time lies in.
const fn day_of(at: u64) -> u64 {
    at.saturating_sub(at % DAY_SECONDS)
}
