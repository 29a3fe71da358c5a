//! The model of the chain: a token that moves the money of an authorization at most once, before
//! its window ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloy_primitives::{Address, B256, U256, hex};
use x402_wire::Payment;

use super::chance::Chance;

/// How far the chain must be past the end of a window before an unused authorization counts as
/// void.
pub(super) const EXPIRY_MARGIN_SECONDS: u64 = 30;

/// The party that executed an authorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Settler,
    /// A stranger who saw the authorization when it was broadcast.
    Stranger,
}

/// An executed authorization.
#[derive(Debug, Clone)]
pub(super) struct Transfer {
    pub(super) transaction: String,
    pub(super) by: By,
    pub(super) amount: U256,
}

/// The model of the chain. Nonces identify authorizations, because none repeats here.
#[derive(Default)]
pub(super) struct Chain(Mutex<State>);

#[derive(Default)]
struct State {
    balances: BTreeMap<(Address, Address), U256>,
    moved: BTreeMap<B256, Transfer>,
    /// Transactions that will be executed if they are still possible then.
    waiting: Vec<Waiting>,
    /// Authorizations that their payers have cancelled.
    cancelled: BTreeSet<B256>,
    /// Authorizations that parties other than payer and server have seen.
    public: BTreeSet<B256>,
    /// The failed transactions of each authorization.
    failed: BTreeMap<B256, Vec<String>>,
    transactions: u64,
}

struct Waiting {
    at: u64,
    payment: Payment,
    what: What,
    transaction: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Execute(By),
    Cancel,
}

/// A short name of a payment, for people.
pub(super) fn name(nonce: B256) -> String {
    hex::encode(&nonce[..3])
}

fn nonce(payment: &Payment) -> B256 {
    payment.authorization().nonce
}

fn ends(payment: &Payment) -> u64 {
    u64::try_from(payment.authorization().valid_before).unwrap()
}

impl State {
    fn new_transaction(&mut self) -> String {
        self.transactions += 1;
        format!("0x{:064x}", self.transactions)
    }

    /// A cancellation needs no window.
    fn cancel(&mut self, payment: &Payment) {
        if !self.moved.contains_key(&nonce(payment)) {
            self.cancelled.insert(nonce(payment));
        }
    }

    fn execute(&mut self, payment: &Payment, by: By, transaction: &str, at: u64) -> bool {
        let amount = payment.authorization().value;
        let account = (payment.payer(), payment.requirements().asset);
        let balance = self.balances.entry(account).or_default();
        let is_used =
            self.moved.contains_key(&nonce(payment)) || self.cancelled.contains(&nonce(payment));
        if is_used || at >= ends(payment) || *balance < amount {
            return false;
        }
        *balance -= amount;
        let transfer = Transfer {
            transaction: transaction.to_owned(),
            by,
            amount,
        };
        self.moved.insert(nonce(payment), transfer);
        true
    }
}

impl Chain {
    /// The state after everything that was due by now.
    fn at(&self, now: u64) -> MutexGuard<'_, State> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(next) = (0..state.waiting.len()).min_by_key(|i| state.waiting[*i].at) {
            if state.waiting[next].at > now {
                break;
            }
            let due = state.waiting.remove(next);
            match due.what {
                What::Execute(by) => {
                    state.execute(&due.payment, by, &due.transaction, due.at);
                }
                What::Cancel => state.cancel(&due.payment),
            }
        }
        state
    }

    pub(super) fn fund(&self, payer: Address, asset: Address, amount: U256) {
        self.at(0).balances.insert((payer, asset), amount);
    }

    pub(super) fn balance(&self, payer: Address, asset: Address, now: u64) -> U256 {
        let state = self.at(now);
        state
            .balances
            .get(&(payer, asset))
            .copied()
            .unwrap_or_default()
    }

    pub(super) fn transfer(&self, nonce: B256, now: u64) -> Option<Transfer> {
        self.at(now).moved.get(&nonce).cloned()
    }

    /// Every transfer so far.
    pub(super) fn transfers(&self, now: u64) -> Vec<(B256, Transfer)> {
        let state = self.at(now);
        let moved = state.moved.iter();
        moved
            .map(|(nonce, moved)| (*nonce, moved.clone()))
            .collect()
    }

    /// Executes an authorization now; `None` when the token refuses.
    pub(super) fn execute(&self, payment: &Payment, now: u64) -> Option<String> {
        let mut state = self.at(now);
        let transaction = state.new_transaction();
        state
            .execute(payment, By::Settler, &transaction, now)
            .then_some(transaction)
    }

    /// Schedules the execution of an authorization.
    pub(super) fn execute_later(&self, payment: &Payment, by: By, at: u64) -> String {
        self.do_later(payment, What::Execute(by), at)
    }

    /// Schedules the cancellation of an authorization by its payer.
    pub(super) fn cancel_later(&self, payment: &Payment, at: u64) {
        self.do_later(payment, What::Cancel, at);
    }

    fn do_later(&self, payment: &Payment, what: What, at: u64) -> String {
        let mut state = self.at(0);
        let transaction = state.new_transaction();
        state.waiting.push(Waiting {
            at,
            payment: payment.clone(),
            what,
            transaction: transaction.clone(),
        });
        transaction
    }

    /// Whether an authorization was cancelled before it moved any money.
    pub(super) fn is_cancelled(&self, nonce: B256, now: u64) -> bool {
        self.at(now).cancelled.contains(&nonce)
    }

    /// Adds a failed transaction of the settler.
    pub(super) fn fail(&self, payment: &Payment, now: u64) -> String {
        let mut state = self.at(now);
        let transaction = state.new_transaction();
        let failed = state.failed.entry(nonce(payment)).or_default();
        failed.push(transaction.clone());
        transaction
    }

    pub(super) fn failures(&self, nonce: B256) -> Vec<String> {
        self.at(0).failed.get(&nonce).cloned().unwrap_or_default()
    }

    /// Whether a transaction of the settler waits to be executed.
    pub(super) fn waits(&self, nonce: B256, now: u64) -> bool {
        let state = self.at(now);
        let mut waiting = state.waiting.iter();
        waiting.any(|w| {
            w.what == What::Execute(By::Settler) && w.payment.authorization().nonce == nonce
        })
    }

    /// Shows an authorization to others. Some of them execute it, at any time until it ends.
    /// Returns whether one does.
    pub(super) fn publish(
        &self,
        payment: &Payment,
        now: u64,
        chance: &Chance,
        one_in: u64,
    ) -> bool {
        if !self.at(now).public.insert(nonce(payment)) || !chance.one_in(one_in) {
            return false;
        }
        let at = chance.between(now, ends(payment).max(now));
        self.execute_later(payment, By::Stranger, at);
        true
    }

    /// Whether the payer can still be charged.
    pub(super) fn is_dangerous(&self, nonce: B256, valid_before: u64, now: u64) -> bool {
        let state = self.at(now);
        let is_moved = state.moved.contains_key(&nonce);
        let is_usable = now < valid_before && !state.cancelled.contains(&nonce);
        is_moved || (state.public.contains(&nonce) && is_usable)
    }
}
