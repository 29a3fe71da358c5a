//! The state before the first block, while it is built.

use std::collections::HashSet;

use alloy_primitives::{Address, Bytes, U256, keccak256};
use revm::{bytecode::Bytecode, state::AccountInfo};

use crate::{
    error::DevChainError,
    evm::{BlockContext, Checks, execute, free_call},
    node::expect_success,
    spec::SetupCall,
    state::State,
};

/// Accounts and code so far.
pub(super) struct Genesis {
    chain_id: u64,
    state: State,
    placed: HashSet<Address>,
}

impl Genesis {
    pub(super) fn new(chain_id: u64, accounts: &[(Address, U256)]) -> Self {
        let mut state = State::default();
        state.begin_block();
        for (address, wei) in accounts {
            state.insert_account(*address, AccountInfo::default().with_balance(*wei));
        }
        Self {
            chain_id,
            state,
            placed: HashSet::new(),
        }
    }

    pub(super) fn place(&mut self, address: Address, code: Bytes) -> Result<(), DevChainError> {
        if !self.placed.insert(address) {
            return Err(DevChainError::AddressTaken { address });
        }
        let code_hash = keccak256(&code);
        let code =
            Bytecode::new_raw_checked(code).map_err(|_| DevChainError::InvalidCode { address })?;
        let balance = self.state.latest().balance(address);
        self.state
            .insert_account(address, AccountInfo::new(balance, 1, code_hash, code));
        Ok(())
    }

    /// Makes a call without a fee. It has to succeed, and leaves no transaction count behind.
    pub(super) fn call(&mut self, call: SetupCall) -> Result<(), DevChainError> {
        let SetupCall { from, to, data } = call;
        if !self.placed.contains(&to) {
            return Err(DevChainError::Call {
                contract: to,
                output: Bytes::new(),
            });
        }
        let nonce = self.state.latest().nonce(from);
        let context = BlockContext {
            chain_id: self.chain_id,
            number: 0,
            timestamp: 0,
            base_fee: 0,
            gas_limit: u64::MAX,
        };
        let tx = free_call(self.chain_id, from, to, data);
        let done = execute(self.state.latest(), context, tx, Checks::Call)?;
        expect_success(to, done.result)?;
        self.state.commit(done.state);
        let caller = self.state.latest().account(from).with_nonce(nonce);
        self.state.insert_account(from, caller);
        Ok(())
    }

    pub(super) fn finish(self) -> State {
        self.state
    }
}
