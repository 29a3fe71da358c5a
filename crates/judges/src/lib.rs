#![doc = include_str!("../README.md")]

mod anvil;
mod binary;
mod client;
mod error;
mod mcp_server;
mod process;
mod rpc;
mod service;
mod token;
mod toolchain;

pub use anvil::{Account, Anvil, PAYEE};
pub use binary::fence_cli;
pub use client::{Client, Order, OrderOutcome, Receipt, ServiceAnswer, SpendControls};
pub use error::JudgeError;
pub use mcp_server::{McpProgram, McpServer, McpServerConfig};
pub use process::{judge, run, start};
pub use rpc::{Log, Rpc, TransactionReceipt};
pub use service::{Service, ServiceConfig};
pub use token::{TestToken, Token, contracts, install_tokens};
pub use toolchain::Toolchain;
