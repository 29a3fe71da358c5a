#![doc = include_str!("../README.md")]

mod drive;
mod error;
mod foresee;
mod gas;
mod key;
mod pace;
mod ports;
mod route;
mod sendings;

pub use chain_reader::{ChainReader, Estimate, ReadFault, SealedBlock};
pub use custody::{Owner, Turns};
pub use error::SendingFault;
pub use foresee::ForeseenByChain;
pub use gas::GasRules;
pub use gas_funding::GasFunding;
pub use pace::Pace;
pub use ports::{ChainClocks, RoutedAccounts};
pub use route::{
    DelegatedAccounts, OutgoingCall, Route, RouteFault, RouteFuture, SubWallets, own_call,
};
pub use sendings::{Parts, Sendings};

pub(crate) use sendings::Shared;
