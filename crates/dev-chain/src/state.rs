//! The world state, of the newest block and of every earlier one.
//!
//! It stores accounts and code, and runs nothing. Earlier states are rebuilt from the values that
//! each block overwrote.

use std::{collections::HashMap, convert::Infallible};

use alloy_primitives::{Address, B256, Bytes, U256};
use revm::{
    DatabaseCommit, DatabaseRef,
    bytecode::Bytecode,
    database::InMemoryDB,
    state::{AccountInfo, EvmState},
};

use crate::export::ExportedAccount;

/// Accounts, code and storage after the newest block, and the changes of each block, so that every
/// earlier block can still be read (node operators call this an archive).
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    latest: InMemoryDB,
    /// `undo[n]` holds the values that block `n` overwrote.
    undo: Vec<Undo>,
    block_hashes: Vec<B256>,
}

/// The values that one block overwrote.
#[derive(Clone, Debug, Default)]
struct Undo {
    accounts: HashMap<Address, Option<AccountInfo>>,
    storage: HashMap<(Address, U256), U256>,
}

impl State {
    /// Places an account before the first block.
    pub(crate) fn insert_account(&mut self, address: Address, info: AccountInfo) {
        self.latest.insert_account_info(address, info);
    }

    /// Starts the next block: later commits belong to it.
    pub(crate) fn begin_block(&mut self) {
        self.undo.push(Undo::default());
    }

    /// Ends the current block: its number is the count of blocks before it.
    pub(crate) fn seal_block(&mut self, hash: B256) {
        self.block_hashes.push(hash);
    }

    /// Makes the changes of one transaction part of the current block.
    pub(crate) fn commit(&mut self, changes: EvmState) {
        if let Some(undo) = self.undo.last_mut() {
            for (&address, account) in changes.iter().filter(|(_, account)| account.is_touched()) {
                undo.accounts
                    .entry(address)
                    .or_insert_with(|| infallible(self.latest.basic_ref(address)));
                for (&slot, _) in account.storage.iter().filter(|(_, slot)| slot.is_changed()) {
                    undo.storage
                        .entry((address, slot))
                        .or_insert_with(|| infallible(self.latest.storage_ref(address, slot)));
                }
            }
        }
        self.latest.commit(changes);
    }

    /// Removes the newest block, as if it had never been made. Code stays known by its hash.
    pub(crate) fn revert_block(&mut self) {
        self.block_hashes.pop();
        let Some(undo) = self.undo.pop() else { return };
        for (address, account) in undo.accounts {
            self.latest
                .insert_account_info(address, account.unwrap_or_default());
        }
        for ((address, slot), value) in undo.storage {
            let written = self.latest.insert_account_storage(address, slot, value);
            infallible(written);
        }
    }

    /// Every account after the newest block, by address.
    pub(crate) fn export(&self) -> Vec<ExportedAccount> {
        let known = self.latest.cache.accounts.iter();
        let accounts = known.filter_map(|(address, account)| {
            let info = account.info()?;
            let words = account.storage.iter().filter(|(_, word)| !word.is_zero());
            let mut storage: Vec<(B256, B256)> = words
                .map(|(slot, word)| (B256::from(*slot), B256::from(*word)))
                .collect();
            storage.sort_unstable();
            Some(ExportedAccount {
                address: *address,
                balance: info.balance,
                nonce: info.nonce,
                code: self.latest().code(*address),
                storage,
            })
        });
        let mut accounts: Vec<_> = accounts.collect();
        accounts.sort_unstable_by_key(|account| account.address);
        accounts
    }

    /// The state after every transaction so far.
    pub(crate) fn latest(&self) -> StateAt<'_> {
        StateAt {
            state: self,
            later: &[],
        }
    }

    /// The state after the block with this number.
    pub(crate) fn at(&self, block: u64) -> StateAt<'_> {
        let later = usize::try_from(block)
            .ok()
            .and_then(|block| self.undo.get(block.checked_add(1)?..))
            .unwrap_or_default();
        StateAt { state: self, later }
    }
}

/// The state after one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateAt<'a> {
    state: &'a State,
    /// The values that later blocks overwrote, oldest first.
    later: &'a [Undo],
}

impl StateAt<'_> {
    /// The account, or an empty one.
    pub(crate) fn account(&self, address: Address) -> AccountInfo {
        infallible(self.basic_ref(address)).unwrap_or_default()
    }

    /// The number of transactions that the account has sent.
    pub(crate) fn nonce(&self, address: Address) -> u64 {
        self.account(address).nonce
    }

    /// The account's wei.
    pub(crate) fn balance(&self, address: Address) -> U256 {
        self.account(address).balance
    }

    /// The code at the address, empty when there is none.
    pub(crate) fn code(&self, address: Address) -> Bytes {
        infallible(self.code_by_hash_ref(self.account(address).code_hash)).original_bytes()
    }

    /// One word of storage.
    pub(crate) fn storage(&self, address: Address, slot: U256) -> U256 {
        infallible(self.storage_ref(address, slot))
    }
}

impl DatabaseRef for StateAt<'_> {
    type Error = Infallible;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        match self
            .later
            .iter()
            .find_map(|undo| undo.accounts.get(&address))
        {
            Some(account) => Ok(account.clone()),
            None => self.state.latest.basic_ref(address),
        }
    }

    fn code_by_hash_ref(&self, code_hash: B256) -> Result<Bytecode, Infallible> {
        if code_hash.is_zero() {
            return Ok(Bytecode::default());
        }
        self.state.latest.code_by_hash_ref(code_hash)
    }

    fn storage_ref(&self, address: Address, slot: U256) -> Result<U256, Infallible> {
        match self
            .later
            .iter()
            .find_map(|undo| undo.storage.get(&(address, slot)))
        {
            Some(&value) => Ok(value),
            None => self.state.latest.storage_ref(address, slot),
        }
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, Infallible> {
        let hash = usize::try_from(number)
            .ok()
            .and_then(|n| self.state.block_hashes.get(n));
        Ok(hash.copied().unwrap_or_default())
    }
}

fn infallible<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

#[cfg(test)]
mod tests {
    use revm::state::{Account, EvmStorageSlot, TransactionId};

    use super::*;

    const WHO: Address = Address::repeat_byte(1);
    const SLOT: U256 = U256::ZERO;

    /// One account with this balance, whose slot 0 goes from one value to another.
    fn change(balance: u64, from: u64, to: u64) -> EvmState {
        let mut account = Account::from(AccountInfo::from_balance(U256::from(balance)));
        account.mark_touch();
        let slot =
            EvmStorageSlot::new_changed(U256::from(from), U256::from(to), TransactionId::ZERO);
        account.storage.insert(SLOT, slot);
        let mut state = EvmState::default();
        state.insert(WHO, account);
        state
    }

    fn check(at: StateAt<'_>, balance: u64, slot: u64) {
        assert_eq!(at.balance(WHO), U256::from(balance));
        assert_eq!(at.storage(WHO, SLOT), U256::from(slot));
    }

    #[test]
    fn every_block_stays_readable() {
        let mut state = State::default();
        state.begin_block();
        state.seal_block(B256::ZERO);
        state.begin_block();
        state.commit(change(10, 0, 5));
        state.commit(change(11, 5, 6));
        state.seal_block(B256::ZERO);
        state.begin_block();
        state.seal_block(B256::ZERO);
        state.begin_block();
        state.commit(change(12, 6, 7));
        state.seal_block(B256::ZERO);

        check(state.at(0), 0, 0);
        check(state.at(1), 11, 6);
        check(state.at(2), 11, 6);
        check(state.at(3), 12, 7);
        check(state.latest(), 12, 7);

        state.revert_block();
        check(state.latest(), 11, 6);
        state.revert_block();
        state.revert_block();
        check(state.latest(), 0, 0);
    }
}
