//! Transactions of EVM chains: what a node says about them, read into exact types and explained.
//!
//! - [`network`] lists the chains, and [`record`] has the nodes' data of a transaction.
//! - [`abi`] reads calldata. A signature counts only when the calldata is the exact encoding of the
//!   arguments.
//! - [`builtin`] has the functions of common standards, and knows which of them carry further
//!   calls.
//! - [`events`] reads transfers and approvals from logs, and [`balances`] adds them up.
//! - [`fee`] and [`revert`] give the cost of a transaction and the reason of its failure.
//! - [`explain()`] combines all of these. Every sentence comes from a template.
//!
//! Everything is bounded: bytes, nesting, elements, logs and texts. Every cut is named.

pub mod abi;
pub mod amount;
pub mod balances;
pub mod builtin;
pub mod events;
mod explain;
pub mod fee;
pub mod knowledge;
pub mod network;
pub mod record;
pub mod revert;
pub mod signature;
pub mod text;

pub use self::{
    explain::{
        Action, ChainName, Contract, Evidence, Explanation, MAX_SHOWN, ShownApproval, ShownAsset,
        ShownCall, ShownChange, ShownDelegation, ShownTransfer, Status, Warning, explain,
    },
    knowledge::{ContractFacts, Knowledge, Needs, TokenFacts},
    network::{NETWORKS, Network},
    record::{
        BlockRef, CodeAuthorization, ExecutionOutcome, Log, Receipt, Record, Testimony, Transaction,
    },
    signature::Confidence,
};
