//! Entries in the form in which an operator reads them.

use alloy_primitives::{Address, B256, U256};

use crate::state::{EntryId, State};

/// Selects entries. The default selects all entries, and every field that is set narrows the
/// selection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Entries in one of these states. When it is empty, entries in any state.
    pub states: Vec<State>,
    /// Entries that were reserved at this time or later, in Unix seconds.
    pub since: Option<u64>,
    /// Entries that were reserved before this time, in Unix seconds.
    pub until: Option<u64>,
    /// Entries of this payer.
    pub payer: Option<Address>,
    /// The entry with this number.
    pub entry: Option<EntryId>,
    /// Entries with this payment identifier. Different payers may use the same identifier.
    pub payment_id: Option<String>,
}

impl Filter {
    /// The states as bits: bit `n` is set for the state with the number `n` in storage.
    pub(crate) fn state_bits(&self) -> i64 {
        let states = match self.states.is_empty() {
            true => &State::ALL[..],
            false => &self.states,
        };
        states
            .iter()
            .fold(0, |bits, state| bits | (1 << state.code()))
    }

    /// Whether the filter selects only entries without a decision. An index finds them.
    pub(crate) fn is_of_open_entries(&self) -> bool {
        let decided = [State::Settled, State::Released];
        !self.states.is_empty() && !self.states.iter().any(|state| decided.contains(state))
    }
}

/// An entry without its answer and without its signature, so that nobody can take the payment with
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryRecord {
    /// The entry.
    pub entry: EntryId,
    /// The state. PostgreSQL does not store [`State::Working`], so such an entry reads as reserved.
    pub state: State,
    /// The network of the authorization. `None` for entries of SQLite files before version 10.
    pub network: Option<String>,
    /// The asset. `None` in the same cases as the network.
    pub asset: Option<Address>,
    /// The payer.
    pub payer: Address,
    /// The nonce of the authorization. `None` in the same cases as the network.
    pub nonce: Option<B256>,
    /// The amount, in the asset's smallest unit.
    pub amount: U256,
    /// The method of the paid request.
    pub method: String,
    /// The path of that request, without the query.
    pub path: String,
    /// The caller's payment identifier. `None` for a released entry.
    pub payment_id: Option<String>,
    /// The last known transaction. A released entry may also have one.
    pub transaction: Option<String>,
    /// The authorization's `validBefore`, in Unix seconds.
    pub valid_before: u64,
    /// When the entry was reserved, in Unix seconds.
    pub reserved_at: u64,
    /// When the state last changed, in Unix seconds. The start of the work does not change this
    /// time.
    pub changed_at: u64,
    /// Why the entry is released, unknown or undecidable, or why it was unknown before it was
    /// settled.
    pub cause: Option<String>,
    /// Whether the authorization is released and can never be reserved again.
    pub retired: bool,
}
