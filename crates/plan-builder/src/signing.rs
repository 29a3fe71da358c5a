//! The parts of a plan that a signer receives: transactions with their intended effect, or hashes
//! of typed data. Exports, simulation and device display follow from these.

use alloy_primitives::{Address, B256, U256};

use crate::{exports::ExportSet, wire::StepRecord};

/// The transactions of an EVM rail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evm<'a> {
    /// The chain of the steps.
    pub(crate) chain_id: u64,
    /// The account of the steps.
    pub(crate) account: Address,
    /// The steps.
    pub(crate) steps: &'a [StepRecord],
    /// The chosen exports.
    pub(crate) exports: ExportSet,
    /// The intended effect of the steps.
    pub(crate) effect: Effect,
}

/// The changes that a plan is meant to make to the account's balances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The token that is spent.
    pub(crate) spent_token: Address,
    /// The most of it that is spent.
    pub(crate) spent: U256,
    /// Whether the whole amount is spent. A swap's router returns the rest of its exchanges, and
    /// tokens that lay in it before.
    pub(crate) spent_exactly: bool,
    /// The approved spender.
    pub(crate) spender: Address,
    /// The token that is received on this chain, and the least of it.
    pub(crate) received: Option<(Address, U256)>,
}

impl Effect {
    /// Returns whether the input may fall by this amount.
    pub(crate) fn allows(&self, spent: U256) -> bool {
        if self.spent_exactly {
            spent == self.spent
        } else {
            spent <= self.spent
        }
    }
}

/// The hashes of typed data (EIP-712), by the names of ERC-8213.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypedDataHashes {
    /// Domain Hash.
    pub(crate) domain: B256,
    /// Message Hash.
    pub(crate) message: B256,
    /// EIP-712 Digest: the signed value.
    pub(crate) digest: B256,
    /// Whether the message's members contain the signed values themselves, rather than a hash of
    /// them.
    pub(crate) is_readable: bool,
}
