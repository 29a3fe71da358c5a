#![doc = include_str!("../README.md")]

mod bucket;
mod cost;
mod newcomers;
mod quota;

pub use bucket::Refill;
pub use cost::Cost;
pub use newcomers::{MAX_ADDRESSES, Newcomers, OutOfCredit, Rules, Spent, Taken};
pub use quota::{QuotaStore, QuotaStoreError, Stored};
