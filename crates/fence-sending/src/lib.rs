#![doc = include_str!("../README.md")]

mod drive;
mod error;
mod foresee;
mod gas;
mod key;
mod ports;
mod route;
mod sendings;

pub use chain_reader::{ChainReader, Estimate, ReadFault, SealedBlock};
pub use custody::{Owner, Turns};
pub use drive::Pace;
pub use error::Fault;
pub use foresee::ForeseenByChain;
pub use gas::GasRules;
pub use gas_funding::GasFunding;
pub use ports::{ChainClocks, RoutedAccounts};
pub use route::{Call, DelegatedAccounts, Route, RouteFault, RouteFuture, SubWallets, own_call};
pub use sendings::{Parts, Sendings};

pub(crate) use sendings::Shared;
