//! The fence's records in memory, for simulated time: a file's thread would not wait for it. The
//! store keeps those promises of the port that sending needs.

use std::collections::BTreeMap;
use std::sync::Mutex;

use alloy_primitives::{Address, B256};
use calldata_checks::UtcSeconds;
use delegation_fence::{Event, LogEntry, LogRecord, Policy, Spent, Transaction, Use};
use fence_server::{
    Acceptance, Change, Ended, InstalledPolicy, KeptGrant, KeptSubmission, Lease, Store,
    StoreError, StoreFuture, View, Write,
};

#[derive(Default)]
pub(crate) struct Memory(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    policy: Option<Policy>,
    version: u64,
    token: u64,
    holder: String,
    until: u64,
    grants: BTreeMap<B256, KeptGrant>,
    ended: BTreeMap<B256, u64>,
    history: Option<String>,
    plans: BTreeMap<B256, Plan>,
    order: Vec<B256>,
    /// Steps that were ordered although they must not be.
    violations: Vec<String>,
}

struct Plan {
    acceptance: Acceptance,
    at: UtcSeconds,
    events: Vec<Event>,
    is_open: bool,
    changed: u64,
    used: Option<UtcSeconds>,
    gas: u64,
}

fn done<'a, T: Send + 'a>(result: Result<T, StoreError>) -> StoreFuture<'a, T> {
    Box::pin(std::future::ready(result))
}

impl Inner {
    fn view(&self, account: Address, grant_id: B256, plan: Option<B256>) -> View {
        let of = |digest: &B256| {
            let plan = self.plans.get(digest)?;
            Some((*digest, plan.acceptance.admitted.order_digest))
        };
        let in_flight = self
            .order
            .iter()
            .filter(|digest| self.plans[*digest].is_open);
        View {
            account,
            version: self.version,
            grant_id,
            grant: self.grants.get(&grant_id).cloned(),
            limits: Vec::new(),
            ended: self
                .ended
                .get(&grant_id)
                .map(|at| Ended { at: *at, seq: 0 }),
            ended_all: None,
            uses: self
                .plans
                .iter()
                .filter_map(|(digest, plan)| {
                    Some(Use {
                        payload_digest: *digest,
                        amount: plan.acceptance.admitted.amount,
                        signed_at: plan.used?,
                    })
                })
                .collect(),
            plan: plan.as_ref().and_then(of),
            in_flight: in_flight
                .filter(|digest| Some(**digest) != plan)
                .find_map(of),
        }
    }

    fn apply(&mut self, write: Write) -> Result<u64, StoreError> {
        let account = write.account;
        if write.version != self.version {
            return Err(StoreError::Conflict { account });
        }
        if write.lease.is_some_and(|lease| lease.token != self.token) {
            return Err(StoreError::Fenced { account });
        }
        for change in write.changes {
            match change {
                Change::Grant(received, delegations) => {
                    let kept = KeptGrant {
                        signed: received.signed().clone(),
                        owner: received.owner(),
                        delegations,
                        received_at: write.at,
                    };
                    self.grants.insert(received.grant().grant_id, kept);
                }
                Change::End {
                    grant_id, ended_at, ..
                } => {
                    self.ended.entry(grant_id).or_insert(ended_at);
                }
                Change::Accept(acceptance) => {
                    let digest = acceptance.admitted.payload_digest;
                    self.order.push(digest);
                    let plan = Plan {
                        gas: acceptance.budget.of_plan,
                        acceptance: *acceptance,
                        at: write.at,
                        events: Vec::new(),
                        is_open: true,
                        changed: write.at.unix(),
                        used: None,
                    };
                    assert!(self.plans.insert(digest, plan).is_none());
                }
                Change::Event {
                    payload_digest,
                    number,
                    event,
                    counts,
                    is_open,
                    ..
                } => {
                    let plan = self.plans.get_mut(&payload_digest).unwrap();
                    if plan.events.len() as u64 != number {
                        return Err(StoreError::Conflict { account });
                    }
                    let grant = plan.acceptance.admitted.grant_id;
                    if matches!(event, Event::Ordered(Transaction::Step(_))) {
                        let valid_until = plan.acceptance.admitted.valid_until;
                        if self.ended.contains_key(&grant) {
                            self.violations
                                .push(format!("{event:?} after the revocation"));
                        }
                        if write.at >= valid_until {
                            self.violations
                                .push(format!("{event:?} of a plan that is over"));
                        }
                        if write.lease.is_none() {
                            self.violations.push(format!("{event:?} without a lease"));
                        }
                    }
                    plan.events.push(event);
                    plan.is_open = is_open;
                    plan.changed = write.at.unix();
                    if counts {
                        plan.used.get_or_insert(write.at);
                    }
                }
                Change::Gas {
                    payload_digest,
                    micro_usd,
                } => self.plans.get_mut(&payload_digest).unwrap().gas = micro_usd,
                Change::Limit(_) => {}
            }
        }
        self.version += 1;
        Ok(self.version)
    }
}

impl Memory {
    /// Changes an account, whatever its version.
    pub(crate) fn put(&self, account: Address, at: UtcSeconds, change: Change) {
        let mut inner = self.0.lock().unwrap();
        let version = inner.version;
        let write = Write {
            account,
            version,
            lease: None,
            at,
            changes: vec![change],
        };
        inner.apply(write).unwrap();
    }

    pub(crate) fn set_policy(&self, policy: Option<Policy>) {
        self.0.lock().unwrap().policy = policy;
    }

    /// A replica takes over that has no end of a grant.
    pub(crate) fn lose_ends(&self, history: &str) {
        let mut inner = self.0.lock().unwrap();
        inner.ended.clear();
        inner.history = Some(history.to_owned());
    }

    /// A replica takes over that has the acceptance of a plan, and nothing of what followed.
    pub(crate) fn lose_events(&self, plan: B256) {
        let mut inner = self.0.lock().unwrap();
        let plan = inner.plans.get_mut(&plan).unwrap();
        plan.events.clear();
        (plan.is_open, plan.used) = (true, None);
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.0.lock().unwrap().violations.clone()
    }

    pub(crate) fn kept(&self, digest: B256) -> Option<KeptSubmission> {
        let inner = self.0.lock().unwrap();
        let plan = inner.plans.get(&digest)?;
        let Acceptance {
            order,
            request,
            envelope,
            admitted,
            ..
        } = plan.acceptance.clone();
        Some(KeptSubmission {
            view: inner.view(admitted.account, admitted.grant_id, Some(digest)),
            order,
            request,
            envelope,
            admitted,
            accepted_at: plan.at,
            gas_micro_usd: plan.gas,
            is_open: plan.is_open,
            events: plan.events.clone(),
        })
    }
}

impl Store for Memory {
    /// The policy that a test has installed stays.
    fn install(&self, _: Policy, _: UtcSeconds) -> StoreFuture<'_, ()> {
        done(Ok(()))
    }

    fn installed(&self) -> StoreFuture<'_, Option<InstalledPolicy>> {
        let policy = self.0.lock().unwrap().policy.clone();
        done(Ok(policy.map(|policy| InstalledPolicy {
            document: policy.canonical().to_owned(),
        })))
    }

    fn view(&self, account: Address, grant: B256, plan: Option<B256>) -> StoreFuture<'_, View> {
        let view = self.0.lock().unwrap().view(account, grant, plan);
        done(Ok(view))
    }

    fn write(&self, write: Write) -> StoreFuture<'_, u64> {
        done(self.0.lock().unwrap().apply(write))
    }

    fn note_refusal(&self, _: Address, _: B256, _: LogEntry, _: u32) -> StoreFuture<'_, ()> {
        done(Ok(()))
    }

    fn log(&self, _: Address, _: B256, _: u64, _: u32) -> StoreFuture<'_, Vec<LogRecord>> {
        done(Ok(Vec::new()))
    }

    fn submission(&self, payload_digest: B256) -> StoreFuture<'_, Option<KeptSubmission>> {
        done(Ok(self.kept(payload_digest)))
    }

    fn sendings(&self, ended_since: UtcSeconds) -> StoreFuture<'_, Vec<B256>> {
        let inner = self.0.lock().unwrap();
        let of_interest = |digest: &&B256| {
            let plan = &inner.plans[*digest];
            plan.is_open || plan.changed >= ended_since.unix()
        };
        let plans = inner.order.iter().filter(of_interest).copied().collect();
        done(Ok(plans))
    }

    fn gas_spent(&self, _: Address, _: UtcSeconds) -> StoreFuture<'_, Spent> {
        done(Ok(Spent::default()))
    }

    fn acquire(
        &self,
        account: Address,
        holder: &str,
        now: UtcSeconds,
        seconds: u64,
    ) -> StoreFuture<'_, Option<Lease>> {
        let mut inner = self.0.lock().unwrap();
        let now = now.unix();
        if inner.holder != holder {
            if inner.until > now {
                return done(Ok(None));
            }
            inner.token += 1;
            holder.clone_into(&mut inner.holder);
        }
        inner.until = now + seconds;
        let token = inner.token;
        done(Ok(Some(Lease { account, token })))
    }

    fn give_back(&self, lease: Lease, holder: &str) -> StoreFuture<'_, ()> {
        let mut inner = self.0.lock().unwrap();
        if inner.token == lease.token && inner.holder == holder {
            inner.until = 0;
            inner.holder.clear();
        }
        done(Ok(()))
    }

    fn history(&self) -> StoreFuture<'_, Option<String>> {
        done(Ok(self.0.lock().unwrap().history.clone()))
    }

    fn probe(&self) -> StoreFuture<'_, ()> {
        done(Ok(()))
    }
}
