#![doc = include_str!("../README.md")]

mod answer;
mod any;
mod chain;
mod config;
mod error;
mod facilitator;
mod http;
mod mode;
mod observe;
mod okx;
mod onchain;
mod outcome;
mod port;
mod reason;
mod support;
mod text;
mod timeouts;
mod with_chain;

pub use any::AnySettler;
pub use chain::{ChainOptions, ChainReader, Finding, LogSearch};
pub use config::SettlementConfig;
pub use error::{AssetFault, Cause, Malformation, RemoteCall, SettlementError};
pub use facilitator::Facilitator;
pub use mode::{Mode, UnknownMode};
pub use okx::{Okx, OkxCredentials};
pub use onchain::{GasPolicy, OnchainSettler};
pub use outcome::{
    DECISION_MARGIN_SECONDS, Readiness, Receipt, Reconciliation, Settlement, Verification,
};
pub use port::Settler;
pub use timeouts::Timeouts;
pub use tx_sender::Clock;
pub use with_chain::WithChain;
