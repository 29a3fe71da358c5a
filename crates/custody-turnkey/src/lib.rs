#![doc = include_str!("../README.md")]

mod api;
mod client;
mod error;
mod keys;
mod provider;
mod stamp;

pub use client::{Identity, TurnkeyConfig};
pub use error::TurnkeyConfigError;
pub use provider::TurnkeyCustody;
