//! The records of a model journal, and the moves of its entries.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use alloy_primitives::{Address, B256, U256};
use ledger::{
    Allowance, Claim, EntryId, LedgerError, Missing, OpenCounts, Options, PaidAnswer,
    PaymentRecord, PaymentStatus, Recovery, RequestBinding, Reservation, Spent, State,
    StoredAnswer, StoredReceipt, Transition, Undecided,
};
use x402_wire::{AuthorizationKey, Payment};

#[derive(Default)]
pub(super) struct Books {
    entries: BTreeMap<EntryId, Entry>,
    /// The newest entry of each authorization.
    by_authorization: BTreeMap<B256, EntryId>,
    pub(super) credit: BTreeMap<Address, u64>,
    /// The sums of settled payments.
    pub(super) paid: BTreeMap<Address, u64>,
    /// The missing sums of the pool (no address) and of shares, each with its time.
    newcomers: BTreeMap<Option<IpAddr>, (u64, u64)>,
    options: Options,
    last: i64,
    /// Instances whose lease has expired. Any other instance may take over their entries, and they
    /// can move none.
    pub(super) expired: BTreeSet<i64>,
}

pub(super) struct Entry {
    /// The instance that works on the entry or decides it.
    owner: i64,
    key: AuthorizationKey,
    request: RequestBinding,
    payment_id: Option<String>,
    amount: U256,
    state: State,
    changed_at: u64,
    /// The payment of a settlement that has begun.
    pub(super) payment: Option<Payment>,
    pub(super) answer: Option<PaidAnswer>,
    receipt: Option<StoredReceipt>,
    pub(super) transaction: Option<String>,
    pub(super) cause: Option<String>,
    attempted: bool,
    /// Whether the entry is released for good.
    retired: bool,
}

impl Books {
    pub(super) fn new(options: Options) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    fn newest(&self, key: &AuthorizationKey) -> Option<(EntryId, &Entry)> {
        let id = *self.by_authorization.get(&key.digest())?;
        Some((id, self.entries.get(&id)?))
    }

    /// Gives the open entries of one instance to another one.
    pub(super) fn take_along(&mut self, from: i64, to: i64) {
        for entry in self.entries.values_mut() {
            let is_open = entry.state.is_in_flight() || entry.state == State::Unknown;
            if entry.owner == from && is_open {
                entry.owner = to;
            }
        }
    }

    /// Whether an instance may move an entry. The state of the entry is checked first.
    pub(super) fn may_move(
        &self,
        instance: i64,
        entry: EntryId,
        transition: Transition,
    ) -> Result<(), LedgerError> {
        match self.entries.get(&entry) {
            Some(found) if !transition.from().contains(&found.state) => Ok(()),
            Some(_) if self.expired.contains(&instance) => Err(LedgerError::LeaseLost),
            // A charge is recorded whoever holds the entry.
            Some(_) if transition == Transition::Settle => Ok(()),
            Some(found) if found.owner != instance => Err(LedgerError::TakenOver { entry }),
            _ => Ok(()),
        }
    }

    /// Checks that an entry is that of an authorization.
    pub(super) fn must_be(
        &self,
        entry: EntryId,
        key: &AuthorizationKey,
    ) -> Result<(), LedgerError> {
        match self.entries.get(&entry) {
            Some(found) if found.key == *key => Ok(()),
            _ => Err(LedgerError::NoSuchEntry { entry }),
        }
    }

    /// Sets payments in settlement back to the moment before their answers were stored.
    pub(super) fn lose_answers(&mut self) {
        let entries = self.entries.values_mut();
        for entry in entries.filter(|entry| entry.state == State::Settling) {
            entry.state = State::Reserved;
            (entry.payment, entry.answer) = (None, None);
        }
    }

    pub(super) fn advance<T>(
        &mut self,
        entry: EntryId,
        transition: Transition,
        now: u64,
        write: impl FnOnce(&mut Entry) -> T,
    ) -> Result<T, LedgerError> {
        let found = self.entries.get_mut(&entry);
        let found = found.ok_or(LedgerError::NoSuchEntry { entry })?;
        if !transition.from().contains(&found.state) {
            return Err(LedgerError::WrongState {
                entry,
                transition,
                expected: transition.from(),
                observed: found.state,
            });
        }
        // The mark that work has begun changes no time, and an unknown entry keeps its age.
        if transition != Transition::StartWork && found.state != transition.to() {
            found.changed_at = found.changed_at.max(now);
        }
        found.state = transition.to();
        Ok(write(found))
    }

    pub(super) fn release(
        &mut self,
        entry: EntryId,
        transition: Transition,
        reason: &str,
        now: u64,
    ) -> Result<Address, LedgerError> {
        self.advance(entry, transition, now, |entry| {
            entry.attempted |= entry.answer.is_some();
            (entry.payment, entry.answer, entry.payment_id) = (None, None, None);
            entry.cause = Some(reason.to_owned());
            entry.key.payer
        })
    }

    pub(super) fn spend(&mut self, payer: Address, spent: Spent, now: u64) {
        if let Some(credit) = self.credit.get_mut(&payer) {
            *credit = credit.saturating_sub(spent.payer);
        }
        let share = spent.address.map(|(address, spent)| (Some(address), spent));
        for (purse, spent) in [Some((None, spent.pool)), share].into_iter().flatten() {
            if spent > 0 {
                let missing = self.missing_of(purse, now).saturating_add(spent);
                let most = self.allowance(purse).capacity;
                // A late write does not refill a purse for the same time again.
                let (_, at) = self.newcomers.get(&purse).copied().unwrap_or_default();
                self.newcomers
                    .insert(purse, (missing.min(most), now.max(at)));
            }
        }
    }

    fn allowance(&self, purse: Option<IpAddr>) -> Allowance {
        match purse {
            None => self.options.pool,
            Some(_) => self.options.address_share,
        }
    }

    fn missing_of(&self, purse: Option<IpAddr>, now: u64) -> u64 {
        let (missing, at) = self.newcomers.get(&purse).copied().unwrap_or_default();
        let back = now.saturating_sub(at) * self.allowance(purse).per_second;
        missing.saturating_sub(back)
    }

    pub(super) fn missing(&self, now: u64) -> Missing {
        let shares = self.newcomers.keys().flatten();
        let shares = shares.map(|address| (*address, self.missing_of(Some(*address), now)));
        Missing {
            pool: self.missing_of(None, now),
            addresses: shares.filter(|(_, missing)| *missing > 0).collect(),
        }
    }

    pub(super) fn find(
        &self,
        key: &AuthorizationKey,
        request: &RequestBinding,
    ) -> Option<PaymentStatus> {
        let (entry, found) = self.newest(key)?;
        let transaction = found.transaction.clone();
        let is_of_request = found.request.digest() == request.digest();
        Some(match found.state {
            State::Released if is_of_request || !found.attempted => {
                let reason = found.cause.clone().unwrap_or_default();
                return found.retired.then_some(PaymentStatus::Retired { reason });
            }
            _ if !is_of_request => PaymentStatus::BoundElsewhere,
            State::Unknown => PaymentStatus::Unknown { entry, transaction },
            State::Undecidable => PaymentStatus::Undecidable { entry, transaction },
            State::Settled => PaymentStatus::Answered(StoredAnswer {
                answer: found.answer.clone()?,
                receipt: found.receipt.clone()?,
                settled_at: found.changed_at,
            }),
            state => PaymentStatus::InFlight { entry, state },
        })
    }

    pub(super) fn retire(&mut self, entry: EntryId) -> bool {
        let entry = self.entries.get_mut(&entry);
        let released = entry.filter(|entry| entry.state == State::Released && !entry.attempted);
        released.map(|entry| entry.retired = true).is_some()
    }

    fn taken(&self, claim: &Claim) -> Option<PaymentStatus> {
        let id = claim.payment_id.as_ref()?;
        let mut entries = self.entries.values();
        let taken = entries.find(|entry| {
            entry.key.payer == claim.key.payer && entry.payment_id.as_ref() == Some(id)
        })?;
        let receipt = taken.receipt.as_ref();
        Some(PaymentStatus::IdentifierTaken {
            transaction: receipt.map(|receipt| receipt.transaction.clone()),
            key: taken.payment.as_ref().map(Payment::key),
            same_request: taken.request.content_digest() == claim.request.content_digest(),
        })
    }

    pub(super) fn reserve(
        &mut self,
        instance: i64,
        claim: Claim,
    ) -> Result<Reservation, LedgerError> {
        if self.expired.contains(&instance) {
            return Err(LedgerError::LeaseLost);
        }
        let known = self.find(&claim.key, &claim.request);
        if let Some(status) = known.or_else(|| self.taken(&claim)) {
            return Ok(Reservation::Known(status));
        }
        let released = self.by_authorization.get(&claim.key.digest()).copied();
        let released = released.and_then(|released| self.entries.remove(&released));
        self.last += 1;
        let id = EntryId::new(self.last);
        self.by_authorization.insert(claim.key.digest(), id);
        let entry = Entry {
            owner: instance,
            key: claim.key,
            request: claim.request,
            payment_id: claim.payment_id,
            amount: claim.amount,
            state: State::Reserved,
            changed_at: claim.now,
            payment: None,
            answer: None,
            receipt: None,
            transaction: None,
            cause: None,
            // Anyone who has seen the authorization before can still execute it.
            attempted: released.is_some_and(|released| released.attempted),
            retired: false,
        };
        self.entries.insert(id, entry);
        Ok(Reservation::Reserved(id))
    }

    pub(super) fn end_charged(
        &mut self,
        entry: EntryId,
        transition: Transition,
        receipt: StoredReceipt,
        now: u64,
    ) -> Result<(), LedgerError> {
        let (payer, amount) = self.advance(entry, transition, now, |entry| {
            entry.receipt = Some(receipt);
            (entry.key.payer, entry.amount)
        })?;
        let cap = self.options.credit_cap_micro_usd;
        let credit = self.credit.entry(payer).or_default();
        let amount = u64::try_from(amount).unwrap_or(u64::MAX);
        *credit = credit.saturating_add(amount).min(cap);
        let paid = self.paid.entry(payer).or_default();
        *paid = paid.saturating_add(amount);
        Ok(())
    }

    /// Decides entries in flight that have no call: those of the instance itself that are not
    /// `owned` and have not changed since `until`, and all entries of expired instances.
    pub(super) fn close(
        &mut self,
        instance: i64,
        (owned, until): (&[EntryId], u64),
        cause: &str,
        now: u64,
    ) -> Result<Recovery, LedgerError> {
        let mut recovery = Recovery::default();
        if self.expired.contains(&instance) {
            return Ok(recovery);
        }
        let open = self.entries.iter_mut().filter(|(id, entry)| {
            let left = entry.changed_at <= until && !owned.contains(id);
            let is_given_up =
                self.expired.contains(&entry.owner) || entry.owner == instance && left;
            entry.state.is_in_flight() && is_given_up
        });
        let mut closing = Vec::new();
        for (id, entry) in open {
            entry.owner = instance;
            closing.push((*id, entry.state));
        }
        for (id, state) in closing {
            if state == State::Settling {
                self.advance(id, Transition::MarkUnknown, now, |entry| {
                    entry.cause = Some(cause.to_owned());
                })?;
                recovery.unknown += 1;
            } else {
                self.release(id, Transition::Release, cause, now)?;
                recovery.released += 1;
            }
        }
        Ok(recovery)
    }

    /// The unknown entries that belong to an instance, or that it takes over because their owner
    /// has expired.
    pub(super) fn undecided(
        &mut self,
        instance: i64,
        after: Option<EntryId>,
        limit: u32,
    ) -> Vec<Undecided> {
        if self.expired.contains(&instance) {
            return Vec::new();
        }
        let mine = self.entries.iter_mut().filter(|(_, entry)| {
            let is_free = entry.owner == instance || self.expired.contains(&entry.owner);
            entry.state == State::Unknown && is_free
        });
        let mine = mine.filter(|(id, _)| after.is_none_or(|after| **id > after));
        let mut taken = BTreeSet::new();
        for (id, entry) in mine.take(usize::try_from(limit).unwrap()) {
            entry.owner = instance;
            taken.insert(*id);
        }
        let mut listed = self.list(State::Unknown, after, u32::MAX);
        listed.retain(|undecided| taken.contains(&undecided.entry));
        listed
    }

    pub(super) fn list(&self, state: State, after: Option<EntryId>, limit: u32) -> Vec<Undecided> {
        let found = self
            .entries
            .iter()
            .filter(|(id, entry)| entry.state == state && after.is_none_or(|after| **id > after));
        let listed = found.filter_map(|(id, entry)| {
            let payment = entry.payment.as_ref()?;
            Some(Undecided {
                entry: *id,
                payload_json: payment.payload().raw().to_owned(),
                requirements_json: payment.requirements_json().to_owned(),
                transaction: entry.transaction.clone(),
                since: entry.changed_at,
                cause: entry.cause.clone(),
                amount: entry.amount,
                payer: entry.key.payer,
                method: entry.request.method().to_owned(),
                path: entry.request.path().to_owned(),
            })
        });
        listed.take(usize::try_from(limit).unwrap()).collect()
    }

    pub(super) fn record(&self, key: &AuthorizationKey) -> Option<PaymentRecord> {
        let (entry, found) = self.newest(key)?;
        let receipt = found.receipt.as_ref();
        let transaction = match found.state {
            State::Settled => receipt.map(|receipt| receipt.transaction.clone()),
            State::Unknown | State::Undecidable => found.transaction.clone(),
            _ => None,
        };
        let reason = found.cause.clone();
        Some(PaymentRecord {
            entry,
            state: found.state,
            since: found.changed_at,
            transaction,
            reason: reason.filter(|_| found.state != State::Settled),
            attempted: found.attempted || found.answer.is_some(),
        })
    }

    pub(super) fn counts(&self) -> OpenCounts {
        let count = |counts: fn(State) -> bool| {
            let entries = self.entries.values().filter(|entry| counts(entry.state));
            u64::try_from(entries.count()).unwrap()
        };
        let entries = self.entries.values();
        let unknown = entries.filter(|entry| entry.state == State::Unknown);
        OpenCounts {
            in_flight: count(State::is_in_flight),
            unknown: count(|state| state == State::Unknown),
            undecidable: count(|state| state == State::Undecidable),
            oldest_unknown: unknown.map(|entry| entry.changed_at).min(),
        }
    }
}
