#![doc = include_str!("../README.md")]

mod answer;
mod chain;
mod config;
mod error;
mod facilitator;
mod http;
mod okx;
mod onchain;
mod port;
mod reason;
mod support;
mod with_chain;

pub use chain::{ChainReader, Finding, LogSearch};
pub use config::{AnySettler, Mode, SettlementConfig, Timeouts, UnknownMode};
pub use error::{AssetFault, Call, Cause, Malformation, SettlementError};
pub use facilitator::Facilitator;
pub use okx::{Okx, OkxCredentials};
pub use onchain::OnchainSettler;
pub use port::{Readiness, Receipt, Reconciliation, Settlement, Settler, Verification};
pub use with_chain::WithChain;
