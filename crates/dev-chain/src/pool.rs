//! Transactions that wait for a block: at most one for each sender and nonce. The order of their
//! arrival decides which is mined first, not their fee.

use std::collections::{BTreeMap, HashSet};

use alloy_consensus::{Transaction as _, TxEnvelope, transaction::Recovered};
use alloy_primitives::{Address, B256};

use crate::{admission::Refusal, state::StateAt};

/// The accepted transactions that are not in a block yet, one for each sender and nonce.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    waiting: BTreeMap<(Address, u64), Waiting>,
    arrivals: u64,
}

#[derive(Clone, Debug)]
struct Waiting {
    transaction: Recovered<TxEnvelope>,
    arrival: u64,
}

impl Pool {
    /// Adds the transaction. One with the nonce of another replaces it if it pays at least a tenth
    /// more.
    pub(crate) fn insert(&mut self, transaction: Recovered<TxEnvelope>) -> Result<(), Refusal> {
        let key = (transaction.signer(), transaction.nonce());
        if let Some(Waiting {
            transaction: old, ..
        }) = self.waiting.get(&key)
        {
            if old.tx_hash() == transaction.tx_hash() {
                return Err(Refusal::AlreadyKnown);
            }
            if !outbids(&transaction, old) {
                return Err(Refusal::ReplacementUnderpriced);
            }
        }
        self.arrivals = self.arrivals.saturating_add(1);
        self.waiting.insert(
            key,
            Waiting {
                transaction,
                arrival: self.arrivals,
            },
        );
        Ok(())
    }

    /// The next transaction to run on this state: of those with the right nonce that pay the base
    /// fee, the first to arrive. The others keep waiting, as with a miner.
    pub(crate) fn next_ready(
        &self,
        state: StateAt<'_>,
        base_fee: u64,
        skip: &HashSet<B256>,
    ) -> Option<Recovered<TxEnvelope>> {
        self.waiting
            .iter()
            .filter(|((sender, nonce), waiting)| {
                state.nonce(*sender) == *nonce
                    && waiting.transaction.max_fee_per_gas() >= u128::from(base_fee)
                    && !skip.contains(waiting.transaction.tx_hash())
            })
            .min_by_key(|(_, waiting)| waiting.arrival)
            .map(|(_, waiting)| waiting.transaction.clone())
    }

    /// Puts a transaction of a removed block back, unless another one has its nonce by now.
    pub(crate) fn put_back(&mut self, transaction: Recovered<TxEnvelope>) {
        let key = (transaction.signer(), transaction.nonce());
        self.arrivals = self.arrivals.saturating_add(1);
        let arrival = self.arrivals;
        self.waiting.entry(key).or_insert(Waiting {
            transaction,
            arrival,
        });
    }

    /// Drops the transaction.
    pub(crate) fn remove(&mut self, transaction: &Recovered<TxEnvelope>) {
        self.waiting
            .remove(&(transaction.signer(), transaction.nonce()));
    }

    /// Drops the transaction with this hash, if it waits here.
    pub(crate) fn evict(&mut self, hash: B256) -> bool {
        let before = self.waiting.len();
        self.waiting
            .retain(|_, waiting| *waiting.transaction.tx_hash() != hash);
        self.waiting.len() < before
    }

    /// The transaction with this hash, if it waits here.
    pub(crate) fn get(&self, hash: B256) -> Option<&Recovered<TxEnvelope>> {
        self.waiting
            .values()
            .map(|waiting| &waiting.transaction)
            .find(|transaction| *transaction.tx_hash() == hash)
    }

    /// The sender's first nonce from `next` on without a waiting transaction.
    pub(crate) fn pending_nonce(&self, sender: Address, next: u64) -> u64 {
        (next..)
            .find(|&nonce| !self.waiting.contains_key(&(sender, nonce)))
            .unwrap_or(next)
    }

    pub(crate) fn hashes(&self) -> Vec<B256> {
        self.waiting
            .values()
            .map(|waiting| *waiting.transaction.tx_hash())
            .collect()
    }
}

/// Whether both fees are at least a tenth above those of the other, go-ethereum's price bump.
fn outbids(new: &TxEnvelope, old: &TxEnvelope) -> bool {
    let bump = |old: u128| old.saturating_add(old.div_ceil(10));
    let tip = |transaction: &TxEnvelope| {
        transaction
            .max_priority_fee_per_gas()
            .unwrap_or_else(|| transaction.max_fee_per_gas())
    };
    new.max_fee_per_gas() >= bump(old.max_fee_per_gas()) && tip(new) >= bump(tip(old))
}
