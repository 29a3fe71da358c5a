#![doc = include_str!("../README.md")]

mod payee;
mod spelling;

pub use payee::{LOCAL_CHAIN_ACCOUNTS, PayeeFault, check_payee};
pub use spelling::{AddressFault, ConfiguredAddress, PLACEHOLDER, parse};
