//! Tests of the server as operators run it: the real binary, configured, killed, out of disk and
//! shut down.

#![cfg(unix)]

mod actions;
mod addresses;
mod buyer;
mod commands;
mod config;
mod crash;
mod delegation;
mod demo_page;
mod deploy;
mod disk_full;
mod facilitator;
mod failover;
mod keystore;
mod ledger;
mod lifecycle;
mod limits;
mod mandates;
mod observation;
mod online;
mod postgres;
mod postgres_wallets;
mod probing;
mod server;
mod strangers;
mod tripwire;
mod wallet_files;
mod wallets;
mod world;

use std::time::Duration;

use test_support::eventually;

/// The longest wait of a test.
const PATIENCE: Duration = Duration::from_secs(30);
