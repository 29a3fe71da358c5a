//! The nodes' data about a transaction. Adapters fill these types, and nothing is judged yet.

use alloy_primitives::{Address, B256, Bytes, U256};
use jiff::Timestamp;

use super::network::Network;

/// The most logs of a receipt that are read.
pub const MAX_LOGS: usize = 4096;

/// A transaction with its receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its chain.
    pub network: &'static Network,
    /// The transaction as it was sent.
    pub transaction: Transaction,
    /// Its receipt. `None` while no block has it.
    pub receipt: Option<Receipt>,
    /// The time of its block. `None` without a block, or when the block could not be read.
    pub time: Option<Timestamp>,
    /// How many nodes confirm it.
    pub testimony: Testimony,
}

/// Whether more than one node confirms a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Testimony {
    /// Two nodes agree about its content, its outcome and its logs.
    TwoNodes,
    /// Only one node confirms it, for this reason.
    OneNode(&'static str),
}

/// A place in the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRef {
    /// Height.
    pub number: u64,
    /// Hash.
    pub hash: B256,
}

/// A transaction as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Its hash.
    pub hash: B256,
    /// The type by EIP-2718: 0 legacy, 2 with a priority fee, 3 with blobs, 4 with delegations,
    /// 0x7e a deposit of a rollup.
    pub kind: u64,
    /// The account that sent it.
    pub from: Address,
    /// The called account. `None` when it creates a contract.
    pub to: Option<Address>,
    /// The native coin that it carries, in wei.
    pub value: U256,
    /// The native coin that a deposit from layer 1 creates for its sender, in wei. The deposit
    /// creates it even when the call fails.
    pub minted: Option<U256>,
    /// Its calldata.
    pub input: Bytes,
    /// The gas limit, if the node states it.
    pub gas_limit: Option<U256>,
    /// Its block. `None` while it is pending.
    pub block: Option<BlockRef>,
    /// The EIP-7702 authorizations that it carries.
    pub authorizations: Vec<CodeAuthorization>,
}

/// An account's signature that lets a contract act as its code (EIP-7702), whoever sends it. The
/// chain skips one whose chain or nonce does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeAuthorization {
    /// The account that signed it. `None` when the signature belongs to no account.
    pub authority: Option<Address>,
    /// The contract. The zero address removes the code.
    pub delegate: Address,
    /// The chain for which it is. Zero means every chain.
    pub chain_id: U256,
    /// The nonce that the account must have.
    pub nonce: u64,
}

impl CodeAuthorization {
    /// Whether it removes the account's code.
    #[must_use]
    pub fn is_revocation(&self) -> bool {
        self.delegate.is_zero()
    }

    /// Whether it is signed, and for the chain with this id or for every chain.
    #[must_use]
    pub fn counts_on(&self, chain_id: u64) -> bool {
        let chain = self.chain_id.is_zero() || self.chain_id == U256::from(chain_id);
        chain && self.authority.is_some()
    }
}

/// The type of a transaction that layer 1 puts into a rollup of the OP stack. Its gas is paid on
/// layer 1.
pub const DEPOSIT_KIND: u64 = 0x7e;

impl Transaction {
    /// Returns why the value, the logs and the fee do not determine the balance changes. `None`
    /// when they do.
    ///
    /// Deposits of Arbitrum and zkSync create coins and move them between accounts, and no node's
    /// data shows that.
    #[must_use]
    pub fn undetermined_balances(&self) -> Option<&'static str> {
        match self.kind {
            0..=4 | 0x71 | DEPOSIT_KIND => None,
            0x64 | 0x68 | 0x69 | 0xff => Some("rollup_deposit"),
            _ => Some("unknown_transaction_type"),
        }
    }
}

/// The receipt of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Whether it took effect.
    pub outcome: ExecutionOutcome,
    /// Its block.
    pub block: BlockRef,
    /// How much gas was used.
    pub gas_used: U256,
    /// The part of the gas for data on layer 1, on chains that count the data as gas.
    pub l1_gas: Option<U256>,
    /// The price of a unit of gas, in wei, if the node states it.
    pub gas_price: Option<U256>,
    /// A rollup's fee for data on layer 1, in wei, if the node states it.
    pub l1_fee: Option<U256>,
    /// The gas and the price of its blobs, in wei.
    pub blobs: Option<(U256, U256)>,
    /// Whether the node states an operator's fee of the rollup that is not zero. How that fee is
    /// computed differs between upgrades.
    pub operator_fee: bool,
    /// The contract that it created.
    pub created: Option<Address>,
    /// Its logs, at most [`MAX_LOGS`].
    pub logs: Vec<Log>,
    /// How many further logs it has.
    pub logs_left_out: usize,
}

impl Receipt {
    /// Whether another node's receipt agrees in the block, the outcome, the gas, the contract and
    /// every log.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        let compared = |receipt: &Self| {
            (
                receipt.outcome,
                receipt.block,
                receipt.gas_used,
                receipt.created,
                receipt.logs_left_out,
            )
        };
        compared(self) == compared(other) && self.logs == other.logs
    }
}

/// Whether a transaction took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionOutcome {
    /// It took effect.
    Success,
    /// It was undone; only the fee remains.
    Reverted,
    /// The receipt is from a time when receipts did not state it.
    Unstated,
}

/// One log entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The contract that wrote it.
    pub address: Address,
    /// At most four words. The first one is usually the hash of the event's signature.
    pub topics: Vec<B256>,
    /// The data of the log.
    pub data: Bytes,
    /// Its place in the block.
    pub index: u64,
}
