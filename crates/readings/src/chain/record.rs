//! What nodes tell of a transaction. Adapters fill these; nothing here is judged yet.

use alloy_primitives::{Address, B256, Bytes, U256};
use jiff::Timestamp;

use super::network::Network;

/// Most logs of a receipt that are read.
pub const MAX_LOGS: usize = 4096;

/// A transaction with what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its chain.
    pub network: &'static Network,
    /// What was sent.
    pub transaction: Transaction,
    /// What came of it; `None` while no block holds it.
    pub receipt: Option<Receipt>,
    /// The time of its block; `None` without a block, or when the block could not be read.
    pub time: Option<Timestamp>,
    /// How many nodes say so.
    pub testimony: Testimony,
}

/// How far what is known of a transaction rests on more than one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Testimony {
    /// Two nodes tell the same of what was sent, of its outcome and of its logs.
    TwoNodes,
    /// One node's word: why there is no other.
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
    /// EIP-2718 type: 0 legacy, 2 with a priority fee, 3 with blobs, 4 with delegations, 0x7e a
    /// deposit of a rollup.
    pub kind: u64,
    /// The account that sent it.
    pub from: Address,
    /// Whom it calls; `None` when it creates a contract.
    pub to: Option<Address>,
    /// Native coin that it carries, in wei.
    pub value: U256,
    /// Native coin that a deposit from layer 1 makes for its sender, in wei, whatever comes of the
    /// call.
    pub minted: Option<U256>,
    /// Its calldata.
    pub input: Bytes,
    /// The gas that it may use, when the node says.
    pub gas_limit: Option<U256>,
    /// Its block; `None` while it is pending.
    pub block: Option<BlockRef>,
    /// How many EIP-7702 delegations it carries.
    pub delegations: usize,
}

/// The type of a transaction that layer 1 puts into a rollup of the OP stack; its gas is paid
/// there.
pub const DEPOSIT_KIND: u64 = 0x7e;

impl Transaction {
    /// Why its value, its logs and its fee do not tell what it does to balances; `None` when they
    /// do.
    ///
    /// Deposits of Arbitrum and zkSync make coins, and move them between accounts, in ways that no
    /// node writes down.
    #[must_use]
    pub fn untold_balances(&self) -> Option<&'static str> {
        match self.kind {
            0..=4 | 0x71 | DEPOSIT_KIND => None,
            0x64 | 0x68 | 0x69 | 0xff => Some("rollup_deposit"),
            _ => Some("unknown_transaction_type"),
        }
    }
}

/// What came of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Whether it took effect.
    pub outcome: Outcome,
    /// Its block.
    pub block: BlockRef,
    /// Gas used.
    pub gas_used: U256,
    /// The part of it that is for data on layer 1, where a chain counts that as gas.
    pub l1_gas: Option<U256>,
    /// Price paid for each unit of gas, in wei, when the node says.
    pub gas_price: Option<U256>,
    /// Fee of a rollup for the data on layer 1, in wei, when the node says.
    pub l1_fee: Option<U256>,
    /// Gas and price of its blobs, in wei.
    pub blobs: Option<(U256, U256)>,
    /// Whether the node names an operator's fee of the rollup that is not zero; its rule differs
    /// between upgrades.
    pub operator_fee: bool,
    /// The contract that it created.
    pub created: Option<Address>,
    /// Its logs, at most [`MAX_LOGS`].
    pub logs: Vec<Log>,
    /// Logs beyond those.
    pub logs_left_out: usize,
}

impl Receipt {
    /// Whether another node's receipt tells the same: block, outcome, gas, contract and every log.
    #[must_use]
    pub fn tells_the_same(&self, other: &Self) -> bool {
        let told = |receipt: &Self| {
            (
                receipt.outcome,
                receipt.block,
                receipt.gas_used,
                receipt.created,
                receipt.logs_left_out,
            )
        };
        told(self) == told(other) && self.logs == other.logs
    }
}

/// Whether a transaction took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did.
    Success,
    /// It was undone; only the fee remains.
    Reverted,
    /// The receipt is older than the rule that makes it say so.
    Unstated,
}

/// One log entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The contract that wrote it.
    pub address: Address,
    /// At most four words; the first is usually the hash of the event's signature.
    pub topics: Vec<B256>,
    /// The rest.
    pub data: Bytes,
    /// Its place in the block.
    pub index: u64,
}
