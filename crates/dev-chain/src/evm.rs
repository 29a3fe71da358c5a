//! Runs one transaction on a state.

use std::convert::Infallible;

use alloy_primitives::{Address, B256, Bytes, TxKind, U256, address, keccak256};
use revm::{
    Context, ExecuteEvm, MainBuilder, MainContext,
    context::{
        BlockEnv, TxEnv,
        result::{EVMError, ResultAndState},
    },
    database_interface::{DatabaseRef, WrapDatabaseRef},
    primitives::hardfork::SpecId,
};

use crate::error::ExecutionError;

/// The rules of the chain: those of the Prague upgrade.
pub(crate) const SPEC: SpecId = SpecId::PRAGUE;

/// The recipient of the fees: the fee vault of OP-stack chains.
pub(crate) const BENEFICIARY: Address = address!("4200000000000000000000000000000000000011");

/// The block, as a transaction sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockContext {
    pub(crate) chain_id: u64,
    pub(crate) number: u64,
    pub(crate) timestamp: u64,
    pub(crate) base_fee: u64,
    pub(crate) gas_limit: u64,
}

impl BlockContext {
    /// The value of the header's `mixHash`, which contracts see as the block's randomness.
    pub(crate) fn randomness(&self) -> B256 {
        keccak256(self.number.to_be_bytes())
    }
}

/// The checks of a node that apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checks {
    /// All: the transaction becomes part of a block.
    Consensus,
    /// The checks of `eth_call`: nonce, block gas limit and code at the sender do not matter.
    Call,
}

/// Runs the transaction and returns its result, without changing the state.
pub(crate) fn execute(
    state: impl DatabaseRef<Error = Infallible>,
    block: BlockContext,
    tx: TxEnv,
    checks: Checks,
) -> Result<ResultAndState, ExecutionError> {
    let env = BlockEnv {
        number: U256::from(block.number),
        beneficiary: BENEFICIARY,
        timestamp: U256::from(block.timestamp),
        gas_limit: block.gas_limit,
        basefee: block.base_fee,
        prevrandao: Some(block.randomness()),
        ..BlockEnv::default()
    };
    Context::mainnet()
        .with_db(WrapDatabaseRef(state))
        .modify_cfg_chained(|cfg| {
            cfg.set_spec_and_mainnet_gas_params(SPEC);
            cfg.chain_id = block.chain_id;
            let lenient = checks == Checks::Call;
            cfg.disable_nonce_check = lenient;
            cfg.disable_block_gas_limit = lenient;
            cfg.disable_eip3607 = lenient;
        })
        .with_block(env)
        .build_mainnet()
        .transact(tx)
        .map_err(|error| match error {
            EVMError::Transaction(invalid) => ExecutionError::Invalid(invalid),
            other => ExecutionError::Internal {
                detail: other.to_string(),
            },
        })
}

/// A call without a fee, for this crate's own use.
pub(crate) fn free_call(chain_id: u64, from: Address, to: Address, data: Bytes) -> TxEnv {
    TxEnv {
        caller: from,
        kind: TxKind::Call(to),
        data,
        gas_limit: 30_000_000,
        chain_id: Some(chain_id),
        ..TxEnv::default()
    }
}
