//! Transactions of EVM chains: what a node says of one, read into exact types and explained.
//!
//! - [`network`] lists the chains; [`record`] holds what nodes tell of a transaction.
//! - [`abi`] reads calldata: a signature counts only when the calldata is the exact encoding of the
//!   arguments it reads.
//! - [`builtin`] knows the functions of common standards, and which of them carry further calls.
//! - [`events`] reads transfers and approvals from logs; [`balances`] adds them up.
//! - [`fee`] and [`revert`] say what a transaction cost and why it failed.
//! - [`explain()`] puts all of it together. Every sentence comes from a template.
//!
//! Everything is bounded: bytes, nesting, elements, logs and texts. What is cut off is named.

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
        ShownCall, ShownChange, ShownTransfer, Status, Warning, explain,
    },
    knowledge::{ContractFacts, Knowledge, Needs, TokenFacts},
    network::{NETWORKS, Network},
    record::{BlockRef, Log, Outcome, Receipt, Record, Testimony, Transaction},
    signature::Confidence,
};
