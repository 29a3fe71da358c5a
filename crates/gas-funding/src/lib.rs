#![doc = include_str!("../README.md")]

mod book;
mod funder;
mod funding;
mod ports;
mod price;

pub use book::{
    Book, BookError, BookFuture, Booked, Budget, Limits, MemoryBook, PostgresBook, Predecessors,
    SqliteBook, TopUp,
};
pub use funder::{Funder, Funds, Lacking, NotGiven};
pub use funding::{
    FundingError, GasFunding, MOST_TOP_UPS, Need, OwnPayment, Parts, Workload, arrived, demanded,
};
pub use ports::{CoinPrices, PaidTotals, PortFuture};
pub use price::worth_at_most;
