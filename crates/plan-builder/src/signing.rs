//! The parts of a plan for its signer: transactions with their intended effect, or hashes of typed
//! data.
//! Exports, simulation and device display are made from these.

use alloy_primitives::{Address, B256, U256};

use crate::{exports::ExportSet, wire::StepRecord};

/// The transactions of an EVM rail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evm<'a> {
    /// The chain on which the steps are executed.
    pub(crate) chain_id: u64,
    /// The account that sends the steps.
    pub(crate) account: Address,
    /// The steps.
    pub(crate) steps: &'a [StepRecord],
    /// The chosen exports.
    pub(crate) exports: ExportSet,
    /// The intended effect of the steps.
    pub(crate) effect: Effect,
}

/// How a plan is meant to change the account's balances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The token that is spent.
    pub(crate) spent_token: Address,
    /// The most that is spent of it.
    pub(crate) spent: U256,
    /// Whether exactly that amount is spent. A swap may spend less, because the router returns what
    /// its exchanges leave, and tokens that it already held.
    pub(crate) spent_exactly: bool,
    /// The approved spender.
    pub(crate) spender: Address,
    /// The token that is received on this chain, and the least amount of it.
    pub(crate) received: Option<(Address, U256)>,
}

impl Effect {
    /// Returns whether the account may spend this amount of the input.
    pub(crate) fn allows(&self, spent: U256) -> bool {
        if self.spent_exactly {
            spent == self.spent
        } else {
            spent <= self.spent
        }
    }
}

/// The hashes of typed data (EIP-712), under the names of ERC-8213.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypedDataHashes {
    /// The Domain Hash.
    pub(crate) domain: B256,
    /// The Message Hash.
    pub(crate) message: B256,
    /// The EIP-712 Digest, which is the signed value.
    pub(crate) digest: B256,
    /// Whether the message contains the signed values themselves, and not only a hash of them.
    pub(crate) is_readable: bool,
}
