//! Blocks and their transactions, and their JSON-RPC form.
//!
//! Hashes, blooms and receipts are computed as on a real chain. State roots are not: no proof of
//! this chain holds.

use alloy_consensus::{
    BlockBody, Header, Receipt, ReceiptEnvelope, ReceiptWithBloom, Sealable, Sealed,
    Transaction as _, TxEnvelope, TxReceipt,
    constants::EMPTY_WITHDRAWALS,
    proofs::{calculate_receipt_root, calculate_transaction_root},
    transaction::{Recovered, TransactionInfo},
};
use alloy_eips::{eip4895::Withdrawals, eip7685::EMPTY_REQUESTS_HASH};
use alloy_primitives::{Address, B256, Bloom, Bytes, Log, U256};
use alloy_rpc_types_eth as rpc;
use serde::Serialize;

use crate::evm::{BENEFICIARY, BlockContext};

/// A transaction that is part of a block.
#[derive(Clone, Debug)]
pub(crate) struct MinedTransaction {
    pub(crate) transaction: Recovered<TxEnvelope>,
    pub(crate) receipt: ReceiptEnvelope,
    pub(crate) gas_used: u64,
    /// The fee for its data on Ethereum, in wei.
    pub(crate) data_fee: U256,
    pub(crate) contract_address: Option<Address>,
}

/// A receipt as a client sees it.
#[derive(Debug, Serialize)]
pub(crate) struct ReceiptAnswer {
    #[serde(flatten)]
    receipt: rpc::TransactionReceipt,
    /// A member of the OP stack. Absent when there is no such fee.
    #[serde(rename = "l1Fee", skip_serializing_if = "U256::is_zero")]
    data_fee: U256,
}

/// A block with all of its content.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) header: Sealed<Header>,
    pub(crate) transactions: Vec<MinedTransaction>,
}

impl Block {
    /// Closes a block. The state root is that of an empty trie: this chain has no trie, and no
    /// answer of it proves anything.
    pub(crate) fn seal(
        context: BlockContext,
        parent_hash: B256,
        transactions: Vec<MinedTransaction>,
        branch: u64,
    ) -> Self {
        let mut logs_bloom = Bloom::ZERO;
        for mined in &transactions {
            logs_bloom.accrue_bloom(mined.receipt.logs_bloom());
        }
        let envelopes: Vec<&TxEnvelope> = transactions
            .iter()
            .map(|mined| mined.transaction.inner())
            .collect();
        let receipts: Vec<&ReceiptEnvelope> =
            transactions.iter().map(|mined| &mined.receipt).collect();
        let header = Header {
            parent_hash,
            beneficiary: BENEFICIARY,
            transactions_root: calculate_transaction_root(&envelopes),
            receipts_root: calculate_receipt_root(&receipts),
            withdrawals_root: Some(EMPTY_WITHDRAWALS),
            logs_bloom,
            number: context.number,
            gas_limit: context.gas_limit,
            gas_used: transactions
                .last()
                .map_or(0, |last| last.receipt.cumulative_gas_used()),
            timestamp: context.timestamp,
            // Distinguishes the blocks of one branch from those of another with the same content.
            extra_data: match branch {
                0 => Bytes::new(),
                branch => branch.to_be_bytes().into(),
            },
            mix_hash: context.randomness(),
            base_fee_per_gas: Some(context.base_fee),
            blob_gas_used: Some(0),
            excess_blob_gas: Some(0),
            parent_beacon_block_root: Some(B256::ZERO),
            requests_hash: Some(EMPTY_REQUESTS_HASH),
            ..Header::default()
        };
        Self {
            header: header.seal_slow(),
            transactions,
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.header.number
    }

    pub(crate) fn timestamp(&self) -> u64 {
        self.header.timestamp
    }

    pub(crate) fn hash(&self) -> B256 {
        self.header.hash()
    }

    fn base_fee(&self) -> u64 {
        self.header.base_fee_per_gas.unwrap_or_default()
    }

    /// `eth_getBlockBy*`, with whole transactions or with their hashes.
    pub(crate) fn to_rpc(&self, full: bool) -> rpc::Block {
        let transactions = if full {
            let all = 0..self.transactions.len();
            rpc::BlockTransactions::Full(all.filter_map(|i| self.transaction_to_rpc(i)).collect())
        } else {
            let hashes = self
                .transactions
                .iter()
                .map(|mined| *mined.transaction.tx_hash());
            rpc::BlockTransactions::Hashes(hashes.collect())
        };
        let envelopes = self
            .transactions
            .iter()
            .map(|mined| mined.transaction.inner().clone());
        let body = BlockBody {
            transactions: envelopes.collect(),
            ommers: Vec::new(),
            withdrawals: Some(Withdrawals::default()),
        };
        let whole = alloy_consensus::Block::<TxEnvelope>::new(self.header.inner().clone(), body);
        // Only the header of this conversion is used: it states the size.
        let header = rpc::Block::from_consensus(whole, None).header;
        rpc::Block::new(header, transactions).with_withdrawals(Some(Withdrawals::default()))
    }

    /// `eth_getTransactionByHash` for the transaction at this index.
    pub(crate) fn transaction_to_rpc(&self, index: usize) -> Option<rpc::Transaction> {
        let mined = self.transactions.get(index)?;
        let info = TransactionInfo {
            hash: Some(*mined.transaction.tx_hash()),
            index: u64::try_from(index).ok(),
            block_hash: Some(self.hash()),
            block_number: Some(self.number()),
            base_fee: Some(self.base_fee()),
            block_timestamp: Some(self.timestamp()),
        };
        Some(rpc::Transaction::from_transaction(
            mined.transaction.clone(),
            info,
        ))
    }

    /// `eth_getTransactionReceipt` for the transaction at this index.
    pub(crate) fn receipt_to_rpc(&self, index: usize) -> Option<ReceiptAnswer> {
        let mined = self.transactions.get(index)?;
        let logs = self.logs_of(index).collect();
        let receipt = Receipt {
            status: mined.receipt.status_or_post_state(),
            cumulative_gas_used: mined.receipt.cumulative_gas_used(),
            logs,
        };
        let with_bloom = ReceiptWithBloom::new(receipt, *mined.receipt.logs_bloom());
        let receipt = rpc::TransactionReceipt {
            inner: ReceiptEnvelope::from_typed(mined.transaction.tx_type(), with_bloom),
            transaction_hash: *mined.transaction.tx_hash(),
            transaction_index: u64::try_from(index).ok(),
            block_hash: Some(self.hash()),
            block_number: Some(self.number()),
            gas_used: mined.gas_used,
            effective_gas_price: mined.transaction.effective_gas_price(Some(self.base_fee())),
            blob_gas_used: None,
            blob_gas_price: None,
            from: mined.transaction.signer(),
            to: mined.transaction.to(),
            contract_address: mined.contract_address,
        };
        Some(ReceiptAnswer {
            receipt,
            data_fee: mined.data_fee,
        })
    }

    /// The logs of the whole block, with their positions.
    pub(crate) fn logs(&self) -> impl Iterator<Item = rpc::Log> {
        (0..self.transactions.len()).flat_map(|index| self.logs_of(index))
    }

    fn logs_of(&self, index: usize) -> impl Iterator<Item = rpc::Log> {
        let before: usize = self
            .transactions
            .iter()
            .take(index)
            .map(|mined| mined.receipt.logs().len())
            .sum();
        let mined = self.transactions.get(index);
        let logs: &[Log] = mined.map(|mined| mined.receipt.logs()).unwrap_or_default();
        logs.iter()
            .zip(before..)
            .map(move |(log, log_index)| rpc::Log {
                inner: log.clone(),
                block_hash: Some(self.hash()),
                block_number: Some(self.number()),
                block_timestamp: Some(self.timestamp()),
                transaction_hash: mined.map(|mined| *mined.transaction.tx_hash()),
                transaction_index: u64::try_from(index).ok(),
                log_index: u64::try_from(log_index).ok(),
                removed: false,
            })
    }
}
