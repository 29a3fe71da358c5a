//! The book of top-ups for gas, and the budgets that bound them. [`Book`] is the port; its
//! implementations keep the record in memory, in a SQLite file or in a PostgreSQL database. A book
//! only records: [`GasFunding`](crate::GasFunding) sends the coins.

mod memory;
mod postgres;
mod sqlite;

use alloy_primitives::{Address, U256};
use custody::Owner;
use thiserror::Error;

pub use self::memory::MemoryBook;
pub use self::postgres::PostgresBook;
pub use self::sqlite::{Predecessors, SqliteBook};
use crate::PortFuture;

/// The seconds of a day.
const DAY_SECONDS: u64 = 86_400;

/// The pending answer of a book.
pub type BookFuture<'a, T> = PortFuture<'a, Result<T, BookError>>;

/// The durable record of all top-ups. A booking is durable when the call returns.
pub trait Book: Send + Sync + 'static {
    /// Books a top-up before its transfer is sent. The booking counts even if the transfer fails. A
    /// key is booked once: a later call with it changes nothing and returns the first amount.
    ///
    /// # Errors
    /// [`BookError::Budget`] when a budget does not cover the top-up. Then nothing is booked.
    fn book(&self, top_up: TopUp, limits: Limits) -> BookFuture<'_, Booked>;
}

/// A top-up that is about to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopUp {
    /// The key of the transfer at the sender of transactions. It belongs to this top-up for ever.
    pub key: String,
    /// The owner whose budgets count.
    pub owner: Owner,
    /// The account that acts.
    pub account: Address,
    /// The time, in Unix seconds.
    pub at: u64,
    /// The chain.
    pub chain_id: u64,
    /// The amount of the chain's own coin, in wei.
    pub wei: U256,
    /// The value of the amount, in micro US dollars.
    pub micro_usd: u64,
}

/// The limits of the budgets, in micro US dollars unless the name says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most that one owner may get in a day (UTC).
    pub of_owner: u64,
    /// The most that this owner may get in all days together: the sum of its payments.
    pub paid_by_owner: u64,
    /// The most that all owners together may get in a day (UTC).
    pub of_all: u64,
    /// The most that all owners together may get on one chain in a day (UTC), in wei.
    pub of_chain_wei: U256,
}

/// The book's entry for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Booked {
    /// The first booked amount of the key, in wei.
    pub wei: U256,
    /// Whether this call made the booking.
    pub is_new: bool,
}

/// A budget for top-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Limits one owner's top-ups in a day.
    OfOwner,
    /// Limits one owner's top-ups in all days together.
    PaidByOwner,
    /// Limits all owners' top-ups in a day.
    OfAll,
    /// Limits all owners' top-ups on one chain in a day, in wei.
    OfChain,
}

impl Budget {
    /// The configuration key of the limit, or `paid` for the limit by the owner's payments.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OfOwner => "gas_topup_budget_usd",
            Self::PaidByOwner => "paid",
            Self::OfAll => "gas_topup_total_usd",
            Self::OfChain => "gas_topup_total_wei",
        }
    }
}

impl Budget {
    const fn unit(self) -> &'static str {
        match self {
            Self::OfChain => "wei",
            Self::OfOwner | Self::PaidByOwner | Self::OfAll => "micro dollars",
        }
    }
}

/// Why nothing was booked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BookError {
    /// A budget does not cover the coins.
    #[error("the budget {} does not cover {asked} {}: {given} of {most} are given", .budget.as_str(), .budget.unit())]
    Budget {
        /// The budget.
        budget: Budget,
        /// The refused top-up, in the budget's unit.
        asked: U256,
        /// The earlier top-ups.
        given: U256,
        /// The limit.
        most: U256,
    },
    /// The book cannot be read or written. The code names no path.
    #[error("the book of coins for gas cannot be used: {code}")]
    Unavailable {
        /// The code of the database error.
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

/// The values of the earlier top-ups, in micro US dollars unless the name says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Given {
    /// For the owner, in the day.
    owner_today: u64,
    /// For the owner, in all days together.
    owner_ever: u64,
    /// For all owners, in the day.
    all_today: u64,
    /// For all owners on the top-up's chain, in the day, in wei.
    chain_today_wei: U256,
}

impl Limits {
    /// # Errors
    /// [`BookError::Budget`]
    fn require(&self, top_up: &TopUp, given: Given) -> Result<(), BookError> {
        let usd = |budget, given: u64, most: u64| {
            let asked = U256::from(top_up.micro_usd);
            (budget, asked, U256::from(given), U256::from(most))
        };
        for (budget, asked, given, most) in [
            usd(Budget::OfOwner, given.owner_today, self.of_owner),
            usd(Budget::PaidByOwner, given.owner_ever, self.paid_by_owner),
            usd(Budget::OfAll, given.all_today, self.of_all),
            (
                Budget::OfChain,
                top_up.wei,
                given.chain_today_wei,
                self.of_chain_wei,
            ),
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

/// The first second of the day (UTC) of a time.
const fn day_of(at: u64) -> u64 {
    at.saturating_sub(at % DAY_SECONDS)
}
