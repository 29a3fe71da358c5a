//! The calls in flight: their payers, the amounts that they will take, and their journal entries.
//!
//! It counts the calls of this process only, and forgets them with it. The journal decides between
//! servers.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_primitives::{Address, U256};
use ledger::EntryId;
use x402_wire::AuthorizationKey;

/// The calls in flight in this process.
#[derive(Default)]
pub(super) struct InFlight {
    state: Mutex<State>,
    /// Calls whose settlement costs gas.
    settlements: AtomicUsize,
}

#[derive(Default)]
struct State {
    payers: HashMap<Address, Payer>,
    entries: HashSet<EntryId>,
    /// The payments that calls carry.
    payments: HashMap<AuthorizationKey, Copies>,
}

/// The calls that carry the same payment.
#[derive(Default)]
struct Copies {
    calls: usize,
    /// Whether several calls carried the payment at the same time.
    met: bool,
}

/// The calls of one payer.
///
/// Anybody can write, in the name of any payer, a signature that only a chain can judge. Such calls
/// are counted apart. They limit each other, but not the payer's own calls.
#[derive(Default)]
struct Payer {
    proven: Calls,
    unproven: Calls,
}

#[derive(Default)]
struct Calls {
    count: usize,
    /// The amounts by asset, in its smallest unit.
    committed: Vec<(Address, U256)>,
}

impl InFlight {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call of a payer. Returns how many of its kind were in flight before.
    pub(super) fn enter(self: &Arc<Self>, payer: Address, proven: bool) -> (Presence, usize) {
        let mut state = self.lock();
        let calls = state.payers.entry(payer).or_default().calls(proven);
        let others = calls.count;
        calls.count = others.saturating_add(1);
        drop(state);
        let presence = Presence {
            in_flight: Arc::clone(self),
            payer,
            proven,
            committed: None,
            entry: None,
        };
        (presence, others)
    }

    /// Counts a call that carries a payment. The count starts before the claim.
    pub(super) fn carry(self: &Arc<Self>, payment: AuthorizationKey) -> Carried {
        let mut state = self.lock();
        let copies = state.payments.entry(payment).or_default();
        copies.met |= copies.calls > 0;
        copies.calls = copies.calls.saturating_add(1);
        drop(state);
        Carried {
            in_flight: Arc::clone(self),
            payment,
        }
    }

    /// Every entry that a call in flight owns.
    pub(super) fn entries(&self) -> Vec<EntryId> {
        self.lock().entries.iter().copied().collect()
    }

    /// Counts a call whose settlement costs gas. Returns how many there were before.
    pub(super) fn expect_settlement(self: &Arc<Self>) -> (ExpectedSettlement, usize) {
        let others = self.settlements.fetch_add(1, Ordering::SeqCst);
        (ExpectedSettlement(Arc::clone(self)), others)
    }

    /// Whether no call is in flight.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.payers.is_empty() && state.entries.is_empty() && state.payments.is_empty()
    }
}

impl Payer {
    fn calls(&mut self, proven: bool) -> &mut Calls {
        match proven {
            true => &mut self.proven,
            false => &mut self.unproven,
        }
    }

    fn is_gone(&self) -> bool {
        self.proven.count == 0 && self.unproven.count == 0
    }
}

impl Calls {
    fn of(&self, asset: Address) -> U256 {
        let found = self.committed.iter().find(|(other, _)| *other == asset);
        found.map(|(_, sum)| *sum).unwrap_or_default()
    }

    fn add(&mut self, asset: Address, amount: U256) {
        match self.committed.iter_mut().find(|(other, _)| *other == asset) {
            Some((_, sum)) => *sum = sum.saturating_add(amount),
            None => self.committed.push((asset, amount)),
        }
    }

    fn take(&mut self, asset: Address, amount: U256) {
        if let Some((_, sum)) = self.committed.iter_mut().find(|(other, _)| *other == asset) {
            *sum = sum.saturating_sub(amount);
        }
    }
}

/// One call in flight. It ends when this is dropped.
pub(super) struct Presence {
    in_flight: Arc<InFlight>,
    payer: Address,
    proven: bool,
    committed: Option<(Address, U256)>,
    entry: Option<EntryId>,
}

impl Presence {
    /// Marks an entry as the call's own. No sweep may close it.
    pub(super) fn own(&mut self, entry: EntryId) {
        self.in_flight.lock().entries.insert(entry);
        self.entry = Some(entry);
    }

    /// Commits `amount` of an asset to the call. Returns the amount that the payer's other calls
    /// will take of it.
    pub(super) fn commit(&mut self, asset: Address, amount: U256) -> U256 {
        let mut state = self.in_flight.lock();
        let payer = state.payers.entry(self.payer).or_default();
        let mut others = payer.proven.of(asset);
        if !self.proven {
            others = others.saturating_add(payer.unproven.of(asset));
        }
        payer.calls(self.proven).add(asset, amount);
        self.committed = Some((asset, amount));
        others
    }

    /// Whether the payer is proven.
    pub(super) fn is_proven(&self) -> bool {
        self.proven
    }

    /// Moves the call to the payer's own calls, because the payer is proven.
    pub(super) fn prove(&mut self) {
        if self.proven {
            return;
        }
        let mut state = self.in_flight.lock();
        let payer = state.payers.entry(self.payer).or_default();
        leave(&mut payer.unproven, self.committed);
        payer.proven.count = payer.proven.count.saturating_add(1);
        if let Some((asset, amount)) = self.committed {
            payer.proven.add(asset, amount);
        }
        self.proven = true;
    }
}

/// A call whose settlement costs gas, until this is dropped.
pub(super) struct ExpectedSettlement(Arc<InFlight>);

impl Drop for ExpectedSettlement {
    fn drop(&mut self) {
        self.0.settlements.fetch_sub(1, Ordering::SeqCst);
    }
}

fn leave(calls: &mut Calls, committed: Option<(Address, U256)>) {
    calls.count = calls.count.saturating_sub(1);
    if let Some((asset, amount)) = committed {
        calls.take(asset, amount);
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut state = self.in_flight.lock();
        if let Some(entry) = self.entry {
            state.entries.remove(&entry);
        }
        if let Some(payer) = state.payers.get_mut(&self.payer) {
            leave(payer.calls(self.proven), self.committed);
            if payer.is_gone() {
                state.payers.remove(&self.payer);
            }
        }
    }
}

/// One call that carries a payment. It ends when this is dropped.
pub(super) struct Carried {
    in_flight: Arc<InFlight>,
    payment: AuthorizationKey,
}

impl Carried {
    /// Whether another call carried the same payment at any time during this one. That call may
    /// have changed the payment's state after this one looked it up.
    pub(super) fn met_others(&self) -> bool {
        let state = self.in_flight.lock();
        let copies = state.payments.get(&self.payment);
        copies.is_some_and(|copies| copies.met)
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        let mut state = self.in_flight.lock();
        if let Entry::Occupied(mut copies) = state.payments.entry(self.payment) {
            let calls = copies.get().calls.saturating_sub(1);
            copies.get_mut().calls = calls;
            if calls == 0 {
                copies.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYER: Address = Address::repeat_byte(1);
    const ASSET: Address = Address::repeat_byte(2);

    fn amount(of: u64) -> U256 {
        U256::from(of)
    }

    #[test]
    fn committed_amounts_add_up_and_end_with_their_calls() {
        let in_flight = Arc::new(InFlight::default());
        let (mut first, others) = in_flight.enter(PAYER, true);
        assert_eq!(others, 0);
        assert_eq!(first.commit(ASSET, amount(5)), amount(0));
        let (mut second, others) = in_flight.enter(PAYER, true);
        assert_eq!(others, 1);
        assert_eq!(second.commit(ASSET, amount(7)), amount(5));
        drop(first);
        let (mut third, _) = in_flight.enter(PAYER, true);
        assert_eq!(third.commit(ASSET, amount(1)), amount(7));
        assert_eq!(third.commit(Address::ZERO, amount(1)), amount(0));
        drop((second, third));
        assert!(in_flight.lock().payers.is_empty());
    }

    #[test]
    fn forged_payments_do_not_count_against_the_payer() {
        let in_flight = Arc::new(InFlight::default());
        let (mut forged, _) = in_flight.enter(PAYER, false);
        forged.commit(ASSET, amount(5));
        let (mut own, others) = in_flight.enter(PAYER, true);
        assert_eq!((others, own.commit(ASSET, amount(7))), (0, amount(0)));
        let (mut wallet, others) = in_flight.enter(PAYER, false);
        assert_eq!((others, wallet.commit(ASSET, amount(1))), (1, amount(12)));
        wallet.prove();
        let (mut last, others) = in_flight.enter(PAYER, true);
        assert_eq!((others, last.commit(ASSET, amount(1))), (2, amount(8)));
        drop((forged, own, wallet, last));
        assert!(in_flight.lock().payers.is_empty());
    }

    #[test]
    fn an_entry_is_owned_until_its_call_ends() {
        let in_flight = Arc::new(InFlight::default());
        let (mut presence, _) = in_flight.enter(PAYER, true);
        presence.own(EntryId::new(7));
        assert_eq!(in_flight.entries(), [EntryId::new(7)]);
        drop(presence);
        assert!(in_flight.entries().is_empty());
    }

    #[test]
    fn settlements_are_expected_until_their_calls_end() {
        let in_flight = Arc::new(InFlight::default());
        let (first, others) = in_flight.expect_settlement();
        assert_eq!(others, 0);
        let (second, others) = in_flight.expect_settlement();
        assert_eq!(others, 1);
        drop(first);
        assert_eq!(in_flight.expect_settlement().1, 1);
        drop(second);
        assert_eq!(in_flight.expect_settlement().1, 0);
    }

    #[test]
    fn calls_with_the_same_payment_meet_while_they_last() {
        let payment = |nonce: u8| AuthorizationKey {
            network: x402_wire::Network::evm(196),
            asset: ASSET,
            payer: PAYER,
            nonce: alloy_primitives::B256::repeat_byte(nonce),
        };
        let in_flight = Arc::new(InFlight::default());
        let (first, other) = (in_flight.carry(payment(1)), in_flight.carry(payment(2)));
        assert!(!first.met_others() && !other.met_others());
        let second = in_flight.carry(payment(1));
        assert!(first.met_others() && second.met_others() && !other.met_others());
        // Stays true after one of the calls has ended.
        drop(first);
        assert!(second.met_others());
        drop(second);
        assert!(!in_flight.carry(payment(1)).met_others());
        drop(other);
        assert!(in_flight.is_empty());
    }
}
