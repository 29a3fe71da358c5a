#![doc = include_str!("../README.md")]

mod accounts;
mod admission;
mod block;
mod builder;
mod chain;
mod contract;
mod error;
mod evm;
mod fault;
mod node;
mod pool;
mod rpc;
mod server;
mod state;

pub use self::{
    accounts::{BUYER, DEV_ACCOUNTS, DevAccount, GAS_PAYER, MINTER, PAYEE},
    builder::{DevChainBuilder, Reuse, TokenSpec, USDC, USDG, USDT0},
    chain::{DevChain, MinedSummary},
    error::{DevChainError, ExecutionError},
    fault::{BadAnswer, Fault},
    node::Mining,
    rpc::Reply,
    server::RpcServer,
};
