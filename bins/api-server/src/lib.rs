#![doc = include_str!("../README.md")]

mod answer;
mod api;
mod artifacts;
mod call;
mod challenge;
mod check;
mod cli;
pub mod config;
mod context;
mod cors;
mod delegation;
#[cfg(feature = "demo")]
mod demo;
mod error;
mod fees;
mod free;
mod ledger_cli;
mod memory;
mod observe;
mod offering;
mod operations;
mod page;
mod payment;
mod reply;
mod resource;
mod reviewed;
mod serve;
mod signing;
mod snapshots;
mod source_report;
mod sources;
mod wallets;
mod wallets_cli;

pub use cli::run_cli;
pub use config::{Config, ConfigError};
#[cfg(feature = "demo")]
pub use demo::{
    EmbeddedPlan, EmbeddedPlans, FenceStage, FenceStageError, recorded_clock, replay_upstreams,
};
pub use error::ServeError;
pub use serve::{ApiServer, Parts, serve, serve_signed_by};
pub use server_config::start_log;
pub use sources::Sources;
pub use wallets::{NativePrices, PaidByOwners, TokenPrices, WalletMover, WalletPlans};
