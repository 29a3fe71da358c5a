//! The records of a model journal, and the moves of its entries.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use alloy_primitives::{Address, B256, U256};
use ledger::{
    Allowance, Claim, EntryId, LedgerError, MAX_REPETITIONS, Missing, Occupant, OpenCounts,
    Options, PaidAnswer, PaymentRecord, PaymentStatus, Purchase, REPETITION, Recovery, Repeated,
    RequestBinding, Reservation, Spent, State, StoredAnswer, StoredReceipt, Transition, Undecided,
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
    /// Whether the entry has the place of its purchase, and which kind of purchase it is.
    place: Option<Purchase>,
    is_delivered: bool,
    /// The purchase that the authorization repeats.
    repeats: Option<EntryId>,
    repeated: u32,
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
            entry.retired = entry.attempted && transition == Transition::ResolveReleased;
            (entry.payment, entry.answer, entry.payment_id) = (None, None, None);
            entry.place = None;
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
        if let Some(first) = found.repeats {
            return Some(match self.bought(first) {
                Some(stored) if is_of_request => PaymentStatus::Answered(stored),
                _ => PaymentStatus::BoundElsewhere,
            });
        }
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
                entry,
                is_repetition: false,
            }),
            state => PaymentStatus::InFlight { entry, state },
        })
    }

    pub(super) fn retire(&mut self, entry: EntryId, is_refused: bool) -> bool {
        let entry = self.entries.get_mut(&entry);
        let released = entry
            .filter(|entry| entry.state == State::Released && (is_refused || !entry.attempted));
        released.map(|entry| entry.retired = true).is_some()
    }

    fn taken(&self, claim: &Claim) -> Option<PaymentStatus> {
        let id = claim.payment_id.as_ref()?;
        let mut entries = self.entries.iter();
        let (taken_by, taken) = entries.find(|(_, entry)| {
            entry.key.payer == claim.key.payer && entry.payment_id.as_ref() == Some(id)
        })?;
        let occupant = Occupant {
            by_identifier: true,
            ..self.occupant(*taken_by)?
        };
        let is_of_request = taken.request.content_digest() == claim.request.content_digest();
        Some(match is_of_request {
            true => PaymentStatus::Occupied(occupant),
            false => PaymentStatus::IdentifierTaken {
                transaction: occupant.transaction,
                key: occupant.key,
            },
        })
    }

    fn occupant(&self, entry: EntryId) -> Option<Occupant> {
        let found = self.entries.get(&entry)?;
        let receipt = found.receipt.as_ref();
        Some(Occupant {
            entry,
            key: Some(found.key),
            state: found.state,
            transaction: receipt.map(|receipt| receipt.transaction.clone()),
            by_identifier: false,
            is_action: found.place == Some(Purchase::Action),
            is_delivered: found.is_delivered,
        })
    }

    /// Whether an undecidable purchase is beside a claim, or the status that another one gives to
    /// it. A place that counts no longer is freed.
    pub(super) fn others(&mut self, claim: &Claim) -> Result<bool, PaymentStatus> {
        if claim.payment_id.is_some() {
            return self.taken(claim).map_or(Ok(false), Err);
        }
        if claim.purchase == Purchase::Unproven {
            return Ok(false);
        }
        let again = self.options.again_seconds;
        let holder = self.entries.iter_mut().find(|(_, entry)| {
            entry.place.is_some()
                && entry.key.payer == claim.key.payer
                && entry.request.content_digest() == claim.request.content_digest()
        });
        let Some((id, entry)) = holder else {
            return Ok(false);
        };
        let is_over = match entry.state {
            State::Settled => {
                let counts = entry.place == Some(Purchase::Action) || !entry.is_delivered;
                !counts || entry.changed_at + again <= claim.now
            }
            state => state == State::Undecidable,
        };
        let is_undecidable = entry.state == State::Undecidable;
        if is_over {
            entry.place = None;
            return Ok(is_undecidable);
        }
        let id = *id;
        match self.occupant(id) {
            Some(occupant) => Err(PaymentStatus::Occupied(occupant)),
            None => Ok(false),
        }
    }

    fn place_of(claim: &Claim) -> Option<Purchase> {
        let counts = claim.payment_id.is_none() && claim.purchase != Purchase::Unproven;
        counts.then_some(claim.purchase)
    }

    pub(super) fn prove(
        &mut self,
        entry: EntryId,
        claim: Claim,
    ) -> Result<Reservation, LedgerError> {
        if !self.entries.contains_key(&entry) {
            return Err(LedgerError::NoSuchEntry { entry });
        }
        let is_beside = match self.others(&claim) {
            Ok(is_beside) => is_beside,
            Err(status) => return Ok(Reservation::Known(status)),
        };
        if let Some(found) = self.entries.get_mut(&entry) {
            found.place = Self::place_of(&claim);
            found.payment_id = claim.payment_id;
        }
        Ok(match is_beside {
            true => Reservation::ReservedBeside(entry),
            false => Reservation::Reserved(entry),
        })
    }

    pub(super) fn mark_delivered(&mut self, entry: EntryId) {
        if let Some(entry) = self.entries.get_mut(&entry) {
            entry.is_delivered = true;
        }
    }

    /// The answer of a settled purchase, for a repetition.
    fn bought(&self, first: EntryId) -> Option<StoredAnswer> {
        let found = self.entries.get(&first)?;
        Some(StoredAnswer {
            answer: found.answer.clone()?,
            receipt: found.receipt.clone()?,
            settled_at: found.changed_at,
            entry: first,
            is_repetition: true,
        })
    }

    pub(super) fn repeat(&mut self, claim: Claim, first: EntryId) -> Repeated {
        if let Some(status) = self.find(&claim.key, &claim.request) {
            return Repeated::Known(status);
        }
        let is_settled = |entry: &Entry| entry.state == State::Settled;
        if !self.entries.get(&first).is_some_and(is_settled) {
            return Repeated::NotSettled;
        }
        let Some(stored) = self.bought(first) else {
            return Repeated::NotSettled;
        };
        if let Some(purchase) = self.entries.get_mut(&first) {
            if purchase.repeated >= MAX_REPETITIONS {
                return Repeated::TooMany;
            }
            purchase.repeated += 1;
        }
        let repetition = Claim {
            payment_id: None,
            purchase: Purchase::Unproven,
            ..claim
        };
        let id = self.insert(0, repetition);
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.state = State::Released;
            entry.retired = true;
            entry.repeats = Some(first);
            entry.cause = Some(REPETITION.to_owned());
            entry.transaction = Some(stored.receipt.transaction.clone());
        }
        Repeated::Answered(stored)
    }

    pub(super) fn reserve(
        &mut self,
        instance: i64,
        claim: Claim,
    ) -> Result<Reservation, LedgerError> {
        if self.expired.contains(&instance) {
            return Err(LedgerError::LeaseLost);
        }
        if let Some(status) = self.find(&claim.key, &claim.request) {
            return Ok(Reservation::Known(status));
        }
        let is_beside = match self.others(&claim) {
            Ok(is_beside) => is_beside,
            Err(status) => return Ok(Reservation::Known(status)),
        };
        let id = self.insert(instance, claim);
        Ok(match is_beside {
            true => Reservation::ReservedBeside(id),
            false => Reservation::Reserved(id),
        })
    }

    fn insert(&mut self, instance: i64, claim: Claim) -> EntryId {
        let released = self.by_authorization.get(&claim.key.digest()).copied();
        let released = released.and_then(|released| self.entries.remove(&released));
        self.last += 1;
        let id = EntryId::new(self.last);
        self.by_authorization.insert(claim.key.digest(), id);
        let place = Self::place_of(&claim);
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
            place,
            is_delivered: false,
            repeats: None,
            repeated: 0,
        };
        self.entries.insert(id, entry);
        id
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
            _ => found
                .transaction
                .clone()
                .filter(|_| found.repeats.is_some()),
        };
        let reason = found.cause.clone();
        Some(PaymentRecord {
            entry,
            state: found.state,
            since: found.changed_at,
            is_repetition: found.repeats.is_some(),
            is_retired: found.retired,
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
