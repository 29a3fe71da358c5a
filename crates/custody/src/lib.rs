#![doc = include_str!("../README.md")]

mod error;
mod lent;
mod local;
mod owner;
mod port;

pub use error::CustodyError;
pub use lent::lend;
pub use local::{Listed, LocalCustody, Rotated};
pub use owner::{InvalidOwner, Owner};
pub use port::{Attestation, Custody, CustodyFuture, Provider, Purpose, Subject, Wallet};
