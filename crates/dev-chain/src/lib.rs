#![doc = include_str!("../README.md")]

mod accounts;
mod admission;
pub mod base;
mod block;
mod builder;
mod chain;
mod chain_196;
mod contract;
mod error;
mod evm;
mod fault;
mod node;
mod pool;
mod rpc;
mod server;
mod spec;
mod state;

pub use self::{
    accounts::{BUYER, DEV_ACCOUNTS, DevAccount, GAS_PAYER, MINTER, PAYEE},
    builder::DevChainBuilder,
    chain::{DevChain, MinedSummary},
    chain_196::{USDC, USDG, USDT0},
    contract::Contract,
    error::{DevChainError, ExecutionError},
    fault::{BadAnswer, Fault},
    node::{Fate, Mining},
    rpc::Reply,
    server::RpcServer,
    spec::{
        BurnMessengerSpec, Erc20Kind, Erc20Spec, ExchangeSpec, Rate, Reuse, RouterSpec, SafeSpec,
        TokenSpec,
    },
};
