//! The record of one account: its grants, their revocations and limits, and the used orders.
//!
//! The record judges messages against what came before them. The signatures were judged before; the
//! store keeps the record.

mod room;
mod standing;
mod tightest;

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};
use calldata_checks::UtcSeconds;

pub use self::{
    room::{
        MOST_GRANT_DAYS, MOST_GRANTS, MOST_TOMBSTONES, TOMBSTONE_SECONDS, require_room_for_grant,
        require_room_for_stranger, require_room_for_tombstone,
    },
    standing::{ActiveGrant, EndReason, EndedGrant, Standing},
    tightest::Tightest,
};
use crate::{
    Now, Order, Policy, ReceivedGrant, ReceivedLimit, ReceivedRevocation, Refusal, Rule, Signed,
};

/// The record of one account. A store keeps it, and this module changes it. No change is ever
/// undone: a revocation is for ever, a limit never loosens, a used plan stays used.
///
/// # Example
/// ```
/// use alloy_primitives::{Address, B256};
/// use delegation_fence::Account;
///
/// let mut account = Account::new(Address::repeat_byte(0xab));
/// // A revocation may come before its grant: it is kept, and the grant is refused when it comes.
/// account.revoke_by_service(B256::repeat_byte(0x22), 1_795_309_200);
/// assert_eq!(account.revoked_at(B256::repeat_byte(0x22)), Some(1_795_309_200));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    address: Address,
    grants: BTreeMap<B256, Record>,
    revoked_through: Option<u64>,
    orders: BTreeMap<B256, B256>,
    in_flight: Option<B256>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Record {
    grant: Option<ReceivedGrant>,
    revoked_at: Option<u64>,
    tightest: Tightest,
    uses: Vec<Use>,
}

/// A plan whose third step was signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// The plan.
    pub payload_digest: B256,
    /// The amount that it takes, in the input token's smallest unit.
    pub amount: U256,
    /// When its third step was signed.
    pub signed_at: UtcSeconds,
}

/// The effect of a message that may be a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Novelty {
    /// The message is new.
    New,
    /// The message is a repetition, and changes nothing.
    Again,
}

impl Account {
    /// An account without any record.
    #[must_use]
    pub const fn new(address: Address) -> Self {
        Self {
            address,
            grants: BTreeMap::new(),
            revoked_through: None,
            orders: BTreeMap::new(),
            in_flight: None,
        }
    }

    /// The account.
    #[must_use]
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Keeps a grant. The same grant again changes nothing.
    ///
    /// # Errors
    /// `account_not_owned` for a grant of another account, `grant_revoked` for one that was
    /// revoked, be it before it came, `grant_id_taken` for another grant with an id that was used.
    pub fn receive(&mut self, received: ReceivedGrant) -> Result<Novelty, Refusal> {
        let grant = received.grant();
        self.require_own(grant.account)?;
        let (id, issued_at) = (grant.grant_id, grant.issued_at);
        if let Some(known) = self
            .grants
            .get(&id)
            .and_then(|record| record.grant.as_ref())
            && known.signed().digest() != received.signed().digest()
        {
            return Err(Refusal::new(
                Rule::GrantIdTaken,
                "another grant of this account has this id",
                "an id that was not used",
                id,
            ));
        }
        if let Some(at) = self.ended_at(id, issued_at) {
            return Err(revoked(at));
        }
        let record = self.grants.entry(id).or_default();
        if record.grant.is_some() {
            return Ok(Novelty::Again);
        }
        record.grant = Some(received);
        Ok(Novelty::New)
    }

    /// Ends the grants that a revocation names. Returns when they ended: the time of the first
    /// revocation stays.
    ///
    /// # Errors
    /// `account_not_owned` for a revocation of another account.
    pub fn revoke(&mut self, received: &ReceivedRevocation) -> Result<u64, Refusal> {
        let revocation = received.revocation();
        self.require_own(revocation.account)?;
        if revocation.is_of_all() {
            return Ok(self.revoke_all_by_service(revocation.revoked_at));
        }
        Ok(self.revoke_by_service(revocation.grant_id, revocation.revoked_at))
    }

    /// Ends a grant without its holder, because the service may end its own permission. Returns
    /// when it ended.
    pub fn revoke_by_service(&mut self, grant_id: B256, at: u64) -> u64 {
        *self
            .grants
            .entry(grant_id)
            .or_default()
            .revoked_at
            .get_or_insert(at)
    }

    /// Ends every grant that was issued at or before a time, without its holder. Returns the latest
    /// such time.
    pub fn revoke_all_by_service(&mut self, through: u64) -> u64 {
        let through = self.revoked_through.unwrap_or(0).max(through);
        self.revoked_through = Some(through);
        through
    }

    /// When a grant was revoked. Also for a grant that was never received.
    #[must_use]
    pub fn revoked_at(&self, grant_id: B256) -> Option<u64> {
        let record = self.grants.get(&grant_id)?;
        let issued_at = record.grant.as_ref().map(|known| known.grant().issued_at);
        self.ended_at(grant_id, issued_at.unwrap_or(u64::MAX))
    }

    /// Tightens a grant. Returns the tightest of all signed limits.
    ///
    /// # Errors
    /// `account_not_owned`, `grant_not_found`
    pub fn tighten(&mut self, received: &ReceivedLimit) -> Result<Tightest, Refusal> {
        let limit = received.limit();
        self.require_own(limit.account)?;
        let record = self
            .grants
            .get_mut(&limit.grant_id)
            .filter(|record| record.grant.is_some())
            .ok_or_else(|| not_found(limit.grant_id))?;
        record.tightest = record.tightest.and(limit);
        Ok(record.tightest)
    }

    /// The present state of a grant.
    ///
    /// # Errors
    /// `grant_not_found` for a grant that was never received, also for one that was revoked before
    /// it was received.
    pub fn standing(
        &self,
        grant_id: B256,
        policy: &Policy,
        now: Now,
    ) -> Result<Standing<'_>, Refusal> {
        let record = self.grants.get(&grant_id);
        let (record, received) = record
            .and_then(|record| Some((record, record.grant.as_ref()?)))
            .ok_or_else(|| not_found(grant_id))?;
        let ended = self.ended_at(grant_id, received.grant().issued_at);
        Ok(Standing::of(
            received,
            ended,
            policy,
            now,
            record.tightest,
            &record.uses,
        ))
    }

    /// Whether an order may be accepted: no order over its plan was accepted before, and no plan is
    /// in flight. An identical order is a repetition.
    ///
    /// # Errors
    /// `order_already_used`, then `plan_in_flight`
    pub fn judge_order(&self, order: &Signed<Order>) -> Result<Novelty, Refusal> {
        let plan = order.message().payload_digest;
        match self.orders.get(&plan) {
            Some(used) if *used == order.digest() => return Ok(Novelty::Again),
            Some(used) => {
                return Err(Refusal::new(
                    Rule::OrderAlreadyUsed,
                    "the plan was ordered before by another order; a plan is sent at most once",
                    used,
                    order.digest(),
                ));
            }
            None => {}
        }
        match self.in_flight {
            Some(other) => Err(Refusal::new(
                Rule::PlanInFlight,
                "another plan of the person who signed the grant is being sent",
                "no plan in flight",
                other,
            )),
            None => Ok(Novelty::New),
        }
    }

    /// Accepts an order: its plan is used for ever, and in flight until [`Self::release`].
    ///
    /// # Errors
    /// As [`Self::judge_order`].
    pub fn accept(&mut self, order: &Signed<Order>) -> Result<Novelty, Refusal> {
        let novelty = self.judge_order(order)?;
        if novelty == Novelty::New {
            let plan = order.message().payload_digest;
            self.orders.insert(plan, order.digest());
            self.in_flight = Some(plan);
        }
        Ok(novelty)
    }

    /// Takes in an order that was accepted before, as a store kept it.
    pub fn restore_order(&mut self, payload_digest: B256, order_digest: B256, in_flight: bool) {
        self.orders.insert(payload_digest, order_digest);
        if in_flight {
            self.in_flight = Some(payload_digest);
        }
    }

    /// Counts a plan whose third step is about to be signed. Counting it again changes nothing.
    ///
    /// # Errors
    /// `grant_not_found`
    pub fn count(&mut self, grant_id: B256, new: Use) -> Result<Novelty, Refusal> {
        let record = self.grants.get_mut(&grant_id);
        let uses = &mut record.ok_or_else(|| not_found(grant_id))?.uses;
        if uses
            .iter()
            .any(|known| known.payload_digest == new.payload_digest)
        {
            return Ok(Novelty::Again);
        }
        uses.push(new);
        Ok(Novelty::New)
    }

    /// Ends the flight of a plan that reached a final state.
    pub fn release(&mut self, payload_digest: B256) {
        if self.in_flight == Some(payload_digest) {
            self.in_flight = None;
        }
    }

    /// The plan that is being sent.
    #[must_use]
    pub const fn in_flight(&self) -> Option<B256> {
        self.in_flight
    }

    fn ended_at(&self, grant_id: B256, issued_at: u64) -> Option<u64> {
        let own = self
            .grants
            .get(&grant_id)
            .and_then(|record| record.revoked_at);
        let with_all = self.revoked_through.filter(|through| issued_at <= *through);
        match (own, with_all) {
            (Some(own), Some(all)) => Some(own.min(all)),
            (own, all) => own.or(all),
        }
    }

    fn require_own(&self, account: Address) -> Result<(), Refusal> {
        crate::refusal::same(
            Rule::AccountNotOwned,
            "a message of another account",
            self.address,
            account,
        )
    }
}

fn not_found(grant_id: B256) -> Refusal {
    Refusal::new(
        Rule::GrantNotFound,
        "the account has no such grant",
        "a grant that was received",
        grant_id,
    )
}

fn revoked(at: u64) -> Refusal {
    Refusal::new(
        Rule::GrantRevoked,
        "the grant is revoked, for ever; sign a new one with a new id",
        "a grant that is not revoked",
        format_args!("revoked at {}", UtcSeconds::from_unix(at)),
    )
}
