#![doc = include_str!("../README.md")]

mod bucket;
mod cost;
mod newcomers;

pub use cost::Cost;
pub use newcomers::{MAX_ADDRESSES, Newcomers, OutOfCredit, Refill, Rules, Spent, Taken};
