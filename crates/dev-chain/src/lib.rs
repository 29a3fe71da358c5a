#![doc = include_str!("../README.md")]

pub mod abi;
mod accounts;
mod admission;
pub mod arbitrum;
pub mod base;
mod block;
mod builder;
pub mod cctp;
mod chain;
mod chain_196;
mod contract;
mod error;
mod evm;
mod export;
mod fault;
pub mod iris;
mod listener;
mod node;
mod pool;
pub mod rollup;
mod rpc;
mod server;
mod spec;
mod state;
pub mod xlayer;

/// The address of the multicall contract on the stages, as on most networks.
pub const MULTICALL3: alloy_primitives::Address =
    alloy_primitives::address!("cA11bde05977b3631167028862bE2a173976CA11");

pub use self::{
    accounts::{BUYER, DEV_ACCOUNTS, DevAccount, GAS_PAYER, MINTER, PAYEE},
    builder::DevChainBuilder,
    chain::{DevChain, MinedSummary},
    chain_196::{USDC, USDG, USDT0},
    contract::Contract,
    error::{DevChainError, ExecutionError},
    export::ExportedAccount,
    fault::{BadAnswer, InjectedFault},
    node::{Fate, Mining},
    rpc::Reply,
    server::RpcServer,
    spec::{
        BurnMessengerSpec, CctpSpec, DexRouterSpec, Erc20Kind, Erc20Spec, ExchangeSpec,
        LendingSpec, Rate, ReserveSpec, Reuse, RouterSpec, SafeSpec, TokenSpec, VaultSpec,
    },
};
