//! Charges work that ends without a paid answer.
//!
//! A payer's settled payments earn credit, and uncharged work spends it. A payer without credit, or
//! one that is not proven yet, draws on the newcomers' pool. The journal keeps the credit of each
//! payer, and the amount that is missing from the pool. The highest cost of a call is held before
//! its work begins, so calls at the same time cannot spend the same credit.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_primitives::Address;
use credit::{Cost, Newcomers, OutOfCredit, Refill, Rules, Taken};
use data_sources::Usage;
use hashlink::LruCache;
use ledger::{Missing, Spent};
use route_catalog::{MostCalls, Operation, WorkClass};

/// The costs of uncharged work, and the credit that pays for it.
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
    /// One sub-wallet or mandate that stays although its call ended uncharged.
    pub(crate) kept: Cost,
    /// The newcomers' pool and the shares of addresses.
    pub(crate) newcomers: Rules,
    /// The most credit that a payer can hold.
    pub(crate) cap: Cost,
}

impl CreditPolicy {
    /// The amount to hold for one call: a verification, every request that its work may make, and
    /// what its work may leave behind.
    pub(super) fn held_for(&self, operation: Operation) -> Cost {
        let MostCalls { upstream, model } = operation.most_calls();
        let own = match operation.route().work {
            WorkClass::Transaction => self.transaction,
            WorkClass::Data | WorkClass::Model => Cost::ZERO,
        };
        self.verification
            .plus(self.upstream_call.times(upstream))
            .plus(self.model_call.times(model))
            .plus(self.kept.times(operation.keeps().into()))
            .plus(own)
    }

    /// The cost of the verification and of the work so far.
    pub(super) fn spent(&self, usage: Usage) -> Cost {
        self.verification
            .plus(self.upstream_call.times(usage.upstream_calls))
            .plus(self.model_call.times(usage.model_calls))
            .plus(self.stays(usage))
    }

    /// The part of [`Self::spent`] for what stays. It is due however the call ends uncharged.
    pub(super) fn stays(&self, usage: Usage) -> Cost {
        self.kept.times(usage.kept)
    }
}

/// The most payers whose credit is cached.
const PAYERS: usize = 65_536;

/// The credit of payers as far as this process knows it, and the newcomers' pool.
pub(super) struct CreditBook {
    policy: CreditPolicy,
    newcomers: Newcomers,
    payers: LruCache<Address, Account>,
}

#[derive(Default)]
struct Account {
    /// The credit in the journal once every pending write is done.
    credit: Cost,
    /// The spent part of an earning that was then taken back, because its record could not be
    /// written. The next earning pays it, as it will in the journal.
    owed: Cost,
    /// The part of the credit that calls in flight may still spend.
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

    /// Takes over the sum that newcomers have spent before this process began.
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

    /// Takes over the credit in the journal, unless the book knows it meanwhile.
    pub(super) fn learn(&mut self, payer: Address, credit: u64) {
        if !self.knows(payer) {
            let account = Account {
                credit: Cost::micro_usd(credit).min(self.policy.cap),
                ..Account::default()
            };
            self.payers.insert(payer, account);
        }
    }

    /// Adds the earning of a settled payment, and returns the added amount: zero for a payer that
    /// the book does not know, whose credit is read from the journal when it is needed.
    fn earn(&mut self, payer: Address, amount: Cost) -> Cost {
        let cap = self.policy.cap;
        let account = self.payers.get_mut(&payer);
        account.map_or(Cost::ZERO, |account| account.add(amount, cap))
    }

    /// Holds `cost` of a payer's credit. `None` when less than that is free.
    fn hold_of_payer(&mut self, payer: Address, cost: Cost) -> Option<Purse> {
        let account = self.payers.get_mut(&payer)?;
        if account.credit.minus(account.held) < cost {
            return None;
        }
        account.held = account.held.plus(cost);
        Some(Purse::Payer { payer, cost })
    }

    /// Charges a payer for a cost that became known after the end of its call.
    pub(super) fn charge(&mut self, payer: Address, cost: Cost) {
        if let Some(account) = self.payers.get_mut(&payer) {
            account.take(cost);
        }
    }

    /// The rest of the newcomers' pool, in millionths of a dollar.
    #[cfg(test)]
    pub(super) fn left_in_pool(&mut self, now_ms: u64) -> u64 {
        self.newcomers.left_in_pool(now_ms).as_micro_usd()
    }

    /// The known credit of a payer, and the held part of it, in millionths of a dollar.
    #[cfg(test)]
    pub(super) fn account(&self, payer: Address) -> Option<(u64, u64)> {
        let account = self.payers.peek(&payer)?;
        Some((account.credit.as_micro_usd(), account.held.as_micro_usd()))
    }
}

/// The earning of a settlement while its record is being written. It counts from the beginning, and
/// is taken back on drop unless [`keep`](Self::keep) was called: only the one write that moves the
/// entry earns.
pub(super) struct Earning {
    book: Arc<Mutex<CreditBook>>,
    payer: Address,
    added: Cost,
}

impl Earning {
    pub(super) fn begin(book: &Arc<Mutex<CreditBook>>, payer: Address, amount: Cost) -> Self {
        let mut state = lock(book);
        let added = state.earn(payer, amount);
        drop(state);
        Self {
            book: Arc::clone(book),
            payer,
            added,
        }
    }

    /// Keeps the earning, because its record is written.
    pub(super) fn keep(mut self) {
        self.added = Cost::ZERO;
    }
}

impl Drop for Earning {
    fn drop(&mut self) {
        let mut state = lock(&self.book);
        if let Some(account) = state.payers.get_mut(&self.payer) {
            account.take(self.added);
        }
    }
}

fn lock(book: &Mutex<CreditBook>) -> MutexGuard<'_, CreditBook> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The credit that is held for one call. Dropping it gives the credit back, unless it was spent.
pub(super) struct Hold {
    book: Arc<Mutex<CreditBook>>,
    purse: Option<Purse>,
    /// The client's address.
    client: Option<IpAddr>,
    /// The highest cost of the call. Less may be held before its payer is proven.
    most: Cost,
    /// Whether its payer will be proven by a verification.
    awaits_proof: bool,
}

enum Purse {
    Payer { payer: Address, cost: Cost },
    Newcomers(Taken),
}

impl Hold {
    /// Holds the highest cost of a call. The payer's own credit covers it if the payer is proven
    /// and has enough; otherwise the newcomers' pool does.
    pub(super) fn take(
        book: &Arc<Mutex<CreditBook>>,
        payer: Option<Address>,
        client: Option<IpAddr>,
        operation: Operation,
        now_ms: u64,
    ) -> Result<Self, OutOfCredit> {
        let mut state = lock(book);
        let most = state.policy.held_for(operation);
        let own = payer.and_then(|payer| state.hold_of_payer(payer, most));
        let purse = match own {
            Some(own) => own,
            None => Purse::Newcomers(state.newcomers.take(client, most, now_ms)?),
        };
        drop(state);
        Ok(Self {
            book: Arc::clone(book),
            purse: Some(purse),
            client,
            most,
            awaits_proof: false,
        })
    }

    /// Holds the highest cost of a call whose payer only a verification can prove. The newcomers'
    /// pool covers it. When the pool has less, only the verification is held: the payer's own
    /// credit may cover the rest later ([`prove`](Self::prove)).
    pub(super) fn take_to_verify(
        book: &Arc<Mutex<CreditBook>>,
        client: Option<IpAddr>,
        operation: Operation,
        now_ms: u64,
    ) -> Result<Self, OutOfCredit> {
        let mut state = lock(book);
        let CreditPolicy { verification, .. } = state.policy;
        let most = state.policy.held_for(operation);
        let taken = state.newcomers.take(client, most, now_ms);
        let taken = match taken {
            Ok(taken) => taken,
            Err(_) => state.newcomers.take(client, verification, now_ms)?,
        };
        drop(state);
        Ok(Self {
            book: Arc::clone(book),
            purse: Some(Purse::Newcomers(taken)),
            client,
            most,
            awaits_proof: true,
        })
    }

    /// Whether [`prove`](Self::prove) must still be called.
    pub(super) fn awaits_proof(&self) -> bool {
        self.awaits_proof
    }

    /// Marks the payer as proven: from now on its own credit pays, if it has enough. Otherwise the
    /// newcomers' pool must cover the whole call.
    ///
    /// # Errors
    /// Neither has enough. The credit that was held stays held.
    pub(super) fn prove(&mut self, payer: Address, now_ms: u64) -> Result<(), OutOfCredit> {
        self.awaits_proof = false;
        let book = Arc::clone(&self.book);
        let mut state = lock(&book);
        let Some(Purse::Newcomers(taken)) = self.purse.take() else {
            return Ok(());
        };
        if let Some(own) = state.hold_of_payer(payer, self.most) {
            // Nothing of it was spent.
            let _ = state.newcomers.give_back(taken, Cost::ZERO);
            self.purse = Some(own);
            return Ok(());
        }
        let (taken, extended) = state
            .newcomers
            .extend(taken, self.client, self.most, now_ms);
        self.purse = Some(Purse::Newcomers(taken));
        extended
    }

    /// Whether the payer's own credit covers the call.
    pub(super) fn is_of_payer(&self) -> bool {
        matches!(self.purse, Some(Purse::Payer { .. }))
    }

    /// Spends `spent` of the held credit and gives back the rest. Returns the purse that pays, for
    /// the journal.
    pub(super) fn spend(mut self, spent: Cost) -> Spent {
        self.settle_up(spent)
    }

    fn settle_up(&mut self, spent: Cost) -> Spent {
        let Some(purse) = self.purse.take() else {
            return Spent::NOTHING;
        };
        let mut state = lock(&self.book);
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
mod tests;
