#![doc = include_str!("../README.md")]

pub mod aftermath;
pub mod agent;
pub mod bank;
pub mod buyer;
pub mod cast;
pub mod chance;
pub mod client;
pub mod crowd;
pub mod error;
pub mod facilitator;
pub mod field;
pub mod judge;
pub mod node;
pub mod owner;
pub mod payment;
pub mod record;
pub mod run;
pub mod scale;
pub mod upstreams;
pub mod weather;
pub mod wire;
pub mod world;

pub use error::SiegeError;
