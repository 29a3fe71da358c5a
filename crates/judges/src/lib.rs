#![doc = include_str!("../README.md")]

mod anvil;
mod api_server;
mod binary;
mod client;
mod error;
mod mcp_server;
mod process;
mod rpc;
mod token;
mod toolchain;

pub use anvil::{Account, Anvil, PAYEE};
pub use api_server::{ApiServer, ApiServerConfig};
pub use binary::fence_cli;
pub use client::{Client, Order, OrderOutcome, Receipt, ServiceAnswer, SpendControls};
pub use error::JudgeError;
pub use mcp_server::{McpProgram, McpServer, McpServerConfig};
pub use process::{judge, run, start};
pub use rpc::{Log, Rpc, TransactionReceipt};
pub use token::{TestToken, Token, contracts, install_tokens};
pub use toolchain::Toolchain;
