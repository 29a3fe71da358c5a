//! Who pays for work that ends without a paid answer.
//!
//! A payer's settled payments earn credit, which the journal keeps; uncharged work spends it. Whoever has none, or has not
//! proven who it is, draws on the newcomers' pool, of which the journal keeps what is missing. The most that a call can cost is
//! held before its work begins, so that calls at the same time cannot spend the same credit.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::Address;
use credit::{Cost, Newcomers, OutOfCredit, Refill, Rules, Taken};
use data_sources::Usage;
use hashlink::LruCache;
use ledger::{Missing, Spent};
use route_catalog::WorkClass;

/// What uncharged work costs, and what there is to pay for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CreditPolicy {
    /// One call of a data upstream.
    pub(crate) upstream_call: Cost,
    /// One call of a model.
    pub(crate) model_call: Cost,
    /// One remote verification of a payment.
    pub(crate) verification: Cost,
    /// One transaction of the service's own that failed.
    pub(crate) transaction: Cost,
    /// The newcomers' pool and the shares of addresses.
    pub(crate) newcomers: Rules,
    /// The most credit that a payer can hold.
    pub(crate) cap: Cost,
}

/// Upstream calls that are held for one call of a data route. Few routes make as many.
const HELD_UPSTREAM_CALLS: u32 = 8;
/// Model calls that are held for one call of a model route: the first model, and one that it falls back to.
const HELD_MODEL_CALLS: u32 = 2;

impl CreditPolicy {
    /// The most that is held for one call.
    fn held_for(&self, work: WorkClass) -> Cost {
        let work = match work {
            WorkClass::Data => self.upstream_call.times(HELD_UPSTREAM_CALLS),
            WorkClass::Model => self.model_call.times(HELD_MODEL_CALLS),
            WorkClass::Transaction => self.transaction,
        };
        work.plus(self.verification)
    }

    /// What the verification and the work that was done have cost.
    pub(super) fn spent(&self, usage: Usage) -> Cost {
        self.verification
            .plus(self.upstream_call.times(usage.upstream_calls))
            .plus(self.model_call.times(usage.model_calls))
    }
}

/// Payers whose credit is held in memory.
const PAYERS: usize = 65_536;

/// The credit of payers as far as it is known here, and the newcomers' pool.
pub(super) struct CreditBook {
    policy: CreditPolicy,
    newcomers: Newcomers,
    payers: LruCache<Address, Account>,
}

#[derive(Default)]
struct Account {
    /// As the journal has it, or will have it when what is under way is written.
    credit: Cost,
    /// What was spent of an earning that was then taken back, because its record could not be written. The next earning pays
    /// it, as it will in the journal.
    owed: Cost,
    /// Of the credit, what calls in flight may yet spend.
    held: Cost,
}

impl Account {
    fn take(&mut self, cost: Cost) {
        self.owed = self.owed.plus(cost.minus(self.credit));
        self.credit = self.credit.minus(cost);
    }

    /// Returns how much of the amount counts.
    fn add(&mut self, amount: Cost, cap: Cost) -> Cost {
        let (owed, before) = (self.owed, self.credit);
        self.owed = owed.minus(amount);
        self.credit = before.plus(amount.minus(owed)).min(cap);
        let paid = owed.minus(self.owed);
        paid.plus(self.credit.minus(before))
    }
}

impl CreditBook {
    pub(super) fn new(policy: CreditPolicy, now_ms: u64) -> Self {
        Self {
            newcomers: Newcomers::new(policy.newcomers, now_ms),
            payers: LruCache::new(PAYERS),
            policy,
        }
    }

    /// Takes over what newcomers have spent before this process began.
    pub(super) fn restore(&mut self, missing: Missing, now_ms: u64) {
        let rules = self.policy.newcomers;
        let left = |refill: Refill, missing| refill.capacity.minus(Cost::micro_usd(missing));
        self.newcomers
            .restore_pool(left(rules.pool, missing.pool), 0, now_ms);
        for (address, missing) in missing.addresses {
            self.newcomers
                .restore_share(address, left(rules.address, missing), 0, now_ms);
        }
    }

    /// Whether the payer's credit has been read from the journal.
    pub(super) fn knows(&self, payer: Address) -> bool {
        self.payers.peek(&payer).is_some()
    }

    /// Takes over what the journal says, unless it is known meanwhile.
    pub(super) fn learn(&mut self, payer: Address, credit: u64) {
        if !self.knows(payer) {
            let account = Account {
                credit: Cost::micro_usd(credit).min(self.policy.cap),
                ..Account::default()
            };
            self.payers.insert(payer, account);
        }
    }

    /// Adds what a settled payment earns. Returns how much that was: nothing for a payer who is not known here, whose credit
    /// is read from the journal when it is needed.
    fn earn(&mut self, payer: Address, amount: Cost) -> Cost {
        let cap = self.policy.cap;
        let account = self.payers.get_mut(&payer);
        account.map_or(Cost::ZERO, |account| account.add(amount, cap))
    }

    /// Takes what a payer's call turns out to have cost after it has ended.
    pub(super) fn charge(&mut self, payer: Address, cost: Cost) {
        if let Some(account) = self.payers.get_mut(&payer) {
            account.take(cost);
        }
    }

    /// What is known of a payer's credit, and how much of it is held, in millionths of a dollar.
    #[cfg(test)]
    pub(super) fn account(&self, payer: Address) -> Option<(u64, u64)> {
        let account = self.payers.peek(&payer)?;
        Some((account.credit.as_micro_usd(), account.held.as_micro_usd()))
    }
}

/// What a settlement earns whose record is being written. It counts already, and is taken back when this is dropped: only the
/// one write that moves the entry earns.
pub(super) struct Earning {
    book: Arc<Mutex<CreditBook>>,
    payer: Address,
    added: Cost,
}

impl Earning {
    pub(super) fn begin(book: &Arc<Mutex<CreditBook>>, payer: Address, amount: Cost) -> Self {
        let mut state = book.lock().unwrap_or_else(PoisonError::into_inner);
        let added = state.earn(payer, amount);
        drop(state);
        Self {
            book: Arc::clone(book),
            payer,
            added,
        }
    }

    /// The record is written.
    pub(super) fn keep(mut self) {
        self.added = Cost::ZERO;
    }
}

impl Drop for Earning {
    fn drop(&mut self) {
        let mut state = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = state.payers.get_mut(&self.payer) {
            account.take(self.added);
        }
    }
}

/// What is held for one call. It is given back when it is dropped, unless it was spent.
pub(super) struct Hold {
    book: Arc<Mutex<CreditBook>>,
    purse: Option<Purse>,
}

enum Purse {
    Payer { payer: Address, cost: Cost },
    Newcomers(Taken),
}

impl Hold {
    /// Holds what a call can cost: of the payer's own credit, if it is proven and has enough, otherwise of the newcomers'.
    pub(super) fn take(
        book: &Arc<Mutex<CreditBook>>,
        payer: Option<Address>,
        client: Option<IpAddr>,
        work: WorkClass,
        now_ms: u64,
    ) -> Result<Self, OutOfCredit> {
        let mut state = book.lock().unwrap_or_else(PoisonError::into_inner);
        let cost = state.policy.held_for(work);
        let account = payer.and_then(|payer| Some((payer, state.payers.get_mut(&payer)?)));
        let purse = match account {
            Some((payer, account)) if account.credit.minus(account.held) >= cost => {
                account.held = account.held.plus(cost);
                Purse::Payer { payer, cost }
            }
            _ => Purse::Newcomers(state.newcomers.take(client, cost, now_ms)?),
        };
        drop(state);
        Ok(Self {
            book: Arc::clone(book),
            purse: Some(purse),
        })
    }

    /// Whether the payer's own credit covers the call.
    pub(super) fn is_of_payer(&self) -> bool {
        matches!(self.purse, Some(Purse::Payer { .. }))
    }

    /// Spends so much of what is held and gives back the rest. Returns who pays, for the journal.
    pub(super) fn spend(mut self, spent: Cost) -> Spent {
        self.settle_up(spent)
    }

    fn settle_up(&mut self, spent: Cost) -> Spent {
        let Some(purse) = self.purse.take() else {
            return Spent::NOTHING;
        };
        let mut state = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        match purse {
            Purse::Payer { payer, cost } => {
                if let Some(account) = state.payers.get_mut(&payer) {
                    account.held = account.held.minus(cost);
                    account.take(spent);
                }
                Spent::by_payer(spent.as_micro_usd())
            }
            Purse::Newcomers(taken) => {
                let spent = state.newcomers.give_back(taken, spent);
                let share = |(address, cost): (IpAddr, Cost)| (address, cost.as_micro_usd());
                Spent {
                    payer: 0,
                    pool: spent.pool.as_micro_usd(),
                    address: spent.address.map(share),
                }
            }
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.settle_up(Cost::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_spent_of_an_earning_that_is_taken_back_is_owed() {
        let cost = Cost::micro_usd;
        let mut account = Account::default();
        let added = account.add(cost(2_000), cost(5_000));
        assert_eq!(added, cost(2_000));
        // Its record cannot be written, and meanwhile a call has spent some of it.
        account.take(added);
        account.take(cost(100));
        assert_eq!((account.credit, account.owed), (Cost::ZERO, cost(100)));
        assert_eq!(account.add(cost(2_000), cost(5_000)), cost(2_000));
        assert_eq!((account.credit, account.owed), (cost(1_900), Cost::ZERO));
        // The cap counts for what is kept, not for what is owed.
        account.take(cost(2_000));
        assert_eq!(account.add(cost(900), cost(500)), cost(600));
        assert_eq!((account.credit, account.owed), (cost(500), Cost::ZERO));
    }
}
