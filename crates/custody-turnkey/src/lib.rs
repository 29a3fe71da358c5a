#![doc = include_str!("../README.md")]

mod api;
mod client;
mod keys;
mod provider;
mod stamp;

pub use client::{Identity, TurnkeyConfig, TurnkeyConfigError};
pub use provider::TurnkeyCustody;
