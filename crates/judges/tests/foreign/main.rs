//! Programs of other projects judge the running service.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    missing_docs,
    reason = "test code"
)]

mod actions;
mod base_chain;
mod calldata;
mod chain_readings;
mod chains;
mod contracts;
mod discovery;
#[path = "../it/documents.rs"]
mod documents;
#[path = "../it/ethers.rs"]
mod ethers;
mod execution;
mod facilitator;
#[path = "../it/facts.rs"]
mod facts;
mod fence;
mod fence_messages;
mod figures;
mod mcp;
mod okx_buyer;
mod onchain;
mod openapi;
mod owners;
mod payments;
mod perp_orders;
mod plan_digest;
mod pm_orders;
#[path = "../it/rails/rails.rs"]
mod rails;
mod readme;
mod safes;
mod sender;
mod sending;
mod spend_controls;
mod typed_documents;
mod wallet_key;
mod watch_audit;
mod world;
