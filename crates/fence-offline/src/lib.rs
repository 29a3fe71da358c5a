#![doc = include_str!("../README.md")]

pub mod document;
mod exit;
mod failure;
pub mod grant;
pub mod key;
mod key_files;
pub mod limit;
pub mod log;
pub mod now;
pub mod onchain;
pub mod order;
pub mod output;
pub mod plan;
pub mod policy;
mod printable;
pub mod revoke;
pub mod settings;
pub mod signing;
pub mod source;
pub mod summary;
pub mod terminal;
pub mod units;

pub use self::{
    exit::{CommandOutcome, Exit, Refused},
    failure::{Failure, ended},
    printable::Printable,
};
