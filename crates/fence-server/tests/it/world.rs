//! A server's delegations with a clock, custody and a store that a test directs.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
use std::time::Duration;

use alloy_primitives::{Address, B256};
use calldata_checks::{BasisPoints, UtcSeconds};
use delegation_fence::{
    AccountKind, Admitted, Fence, Foresight, LogRecord, Now, PlanWorth, Rates, verify_log,
};
use fence_server::{
    Accounts, Clocks, DelegationError, Delegations, Foresee, Ordered, Parts, PortError, PortFuture,
    Prices, Store,
};
use test_support::ManualClock;

use super::{
    sample::{ACCOUNT, NOW, policy},
    stage::{BUDGET, StoreLocation, fence_policy, instance, order, owner, plan},
};

/// The clock of a test. It starts at the time of the plans.
#[derive(Clone)]
pub(crate) struct Clock(ManualClock);

impl Clock {
    pub(crate) fn new() -> Self {
        let clock = Self(ManualClock::at("1970-01-01T00:00:00Z".parse().unwrap()));
        clock.pass(NOW);
        clock
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.0.advance(Duration::from_secs(seconds));
    }
}

impl Clocks for Clock {
    fn now(&self) -> PortFuture<'_, Now> {
        let now = Now::offline(UtcSeconds::from_timestamp(self.0.shared().now()));
        Box::pin(async move { now })
    }
}

/// Custody of one sub-wallet. It can be away, and the wallet can change hands.
#[derive(Clone)]
pub(crate) struct Custody {
    sends_delegated: bool,
    pub(crate) is_away: Arc<AtomicBool>,
    pub(crate) owner: Arc<Mutex<Address>>,
    /// How often it was asked.
    pub(crate) asked: Arc<AtomicU64>,
}

impl Custody {
    pub(crate) fn new() -> Self {
        Self {
            sends_delegated: false,
            is_away: Arc::default(),
            owner: Arc::new(Mutex::new(owner().address())),
            asked: Arc::default(),
        }
    }

    /// A server beside a key that redeems the delegations of accounts that sign for themselves.
    pub(crate) fn delegated() -> Self {
        Self {
            sends_delegated: true,
            ..Self::new()
        }
    }
}

impl Accounts for Custody {
    fn sends_for(&self, kind: AccountKind) -> bool {
        kind == AccountKind::SubWallet || (self.sends_delegated && kind == AccountKind::Eoa7702)
    }

    fn owner(&self, account: Address) -> PortFuture<'_, Result<Option<Address>, PortError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let owner = *self.owner.lock().unwrap();
        let answer = if self.is_away.load(Ordering::SeqCst) {
            Err(PortError {
                reason: "custody does not answer".to_owned(),
            })
        } else {
            Ok((account == ACCOUNT).then_some(owner))
        };
        Box::pin(async move { answer })
    }
}

/// The prices of a test: a dollar for the input token, and this many for the output token; or none.
#[derive(Clone)]
pub(crate) struct Market(Arc<Mutex<Option<&'static str>>>);

impl Market {
    pub(crate) fn new(output_usd: &'static str) -> Self {
        Self(Arc::new(Mutex::new(Some(output_usd))))
    }

    pub(crate) fn change(&self, output_usd: Option<&'static str>) {
        *self.0.lock().unwrap() = output_usd;
    }
}

impl Prices for Market {
    fn worth<'a>(&'a self, _: &'a Admitted) -> PortFuture<'a, Result<PlanWorth, PortError>> {
        let output = *self.0.lock().unwrap();
        let rates = output.map(|output| Rates {
            input_usd: "1".parse().unwrap(),
            input_decimals: 6,
            output_usd: output.parse().unwrap(),
            output_decimals: 18,
        });
        let worth = match rates {
            Some(rates) => PlanWorth::Judged {
                rates,
                holds: Ok(()),
            },
            None => PlanWorth::Unknown {
                reason: "the market is closed".to_owned(),
            },
        };
        Box::pin(async move { Ok(worth) })
    }

    fn max_deviation(&self) -> BasisPoints {
        BasisPoints::new(200).unwrap()
    }
}

/// A chain with fixed answers: the account's balance and the step that reverts. It may also not
/// answer.
#[derive(Clone)]
pub(crate) struct Oracle(pub(crate) Arc<Mutex<Option<Foresight>>>);

impl Foresee for Oracle {
    fn foresee<'a>(&'a self, _: &'a Admitted) -> PortFuture<'a, Result<Foresight, PortError>> {
        let foresight = self.0.lock().unwrap().ok_or_else(|| PortError {
            reason: "no node answers".to_owned(),
        });
        Box::pin(async move { foresight })
    }
}

pub(crate) struct World {
    pub(crate) location: StoreLocation,
    pub(crate) clock: Clock,
    pub(crate) custody: Custody,
    pub(crate) desk: Delegations,
}

impl World {
    pub(crate) async fn new() -> Self {
        let location = StoreLocation::new();
        let (clock, custody) = (Clock::new(), Custody::new());
        let desk = desk(location.open(), 1, &clock, &custody).await;
        Self {
            location,
            clock,
            custody,
            desk,
        }
    }

    /// Another server on the same records, with a version of the policy.
    pub(crate) async fn another(&self, version: u64) -> Delegations {
        let store = self.location.open();
        desk(store, version, &self.clock, &self.custody).await
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.location.open()
    }

    /// The events of a grant's log, which verifies.
    pub(crate) async fn log(&self, grant_id: B256) -> Vec<String> {
        log(self.desk.store().as_ref(), grant_id).await
    }
}

/// The events of a grant's log, which verifies.
pub(crate) async fn log(store: &dyn Store, grant_id: B256) -> Vec<String> {
    let records = store.log(ACCOUNT, grant_id, 0, 1000).await.unwrap();
    let text: Vec<String> = records.iter().map(LogRecord::to_json).collect();
    verify_log([format!("[{}]", text.join(",")).as_str()]).unwrap();
    let word = |record: &LogRecord| {
        let event = serde_json::to_value(record.event()).unwrap();
        let event = event.as_str().unwrap().to_owned();
        match record.refused_by() {
            Some(rule) => format!("{event} {rule}"),
            None => event,
        }
    };
    records.iter().map(word).collect()
}

pub(crate) async fn desk(
    store: Arc<dyn Store>,
    version: u64,
    clock: &Clock,
    custody: &Custody,
) -> Delegations {
    priced_desk(store, version, clock, custody, None).await
}

/// A server that compares plans with prices.
pub(crate) async fn priced_desk(
    store: Arc<dyn Store>,
    version: u64,
    clock: &Clock,
    custody: &Custody,
    prices: Option<Arc<dyn Prices>>,
) -> Delegations {
    let parts = desk_parts(store, version, clock, custody, prices);
    Delegations::install(parts).await.unwrap()
}

/// The parts of a server, for a test that changes one.
pub(crate) fn desk_parts(
    store: Arc<dyn Store>,
    version: u64,
    clock: &Clock,
    custody: &Custody,
    prices: Option<Arc<dyn Prices>>,
) -> Parts {
    Parts {
        fence: Fence::new(instance(), fence_policy(version)).unwrap(),
        plans: policy(),
        budget: BUDGET,
        store,
        accounts: Arc::new(custody.clone()),
        clocks: Arc::new(clock.clone()),
        prices,
        chain: None,
        delegated: None,
        strangers_revocations: 1000,
    }
}

/// A plan of an amount, ordered under a grant.
pub(crate) fn ordered(amount: u64, grant_id: B256) -> Ordered {
    let (request, envelope) = plan(amount);
    Ordered {
        account: ACCOUNT,
        grant_id,
        request,
        order: order(&envelope, grant_id),
        envelope,
    }
}

/// Returns the code of a failure.
pub(crate) fn code<T>(result: Result<T, DelegationError>) -> &'static str {
    result.err().map_or("ok", |error| error.code())
}
