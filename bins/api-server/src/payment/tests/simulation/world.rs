//! The state that all parts of one schedule share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use alloy_primitives::Address;
use credit::{Cost, Refill, Rules};
use data_sources::Clock;
use http_edge::RequestIds;
use jiff::Timestamp;
use ledger::{Allowance, Options};
use route_catalog::{Catalog, CatalogConfig};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use x402_wire::{Asset, Network, Terms};

use super::chain::Chain;
use super::chance::Chance;
use crate::payment::{CreditPolicy, PaymentPolicy};

/// The time at which every schedule begins, in Unix seconds.
const BEGINNING: i64 = 1_795_200_000;

/// The rates of faults: one in this many times, never when it is 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    pub(super) journal: u64,
    pub(super) settler: u64,
    pub(super) worker: u64,
    /// The rate of callers that hang up, send twice, or send for another request.
    pub(super) callers: u64,
    pub(super) strangers: u64,
    /// The rate of payers that cancel an authorization that they have sent.
    pub(super) cancellations: u64,
}

/// Whether one server keeps the journal, or several share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fleet {
    One,
    Several,
}

/// One schedule: its chance, its chain, its time, and its record.
pub(super) struct World {
    pub(super) chance: Chance,
    pub(super) rates: Rates,
    /// The number of servers that share the journal.
    pub(super) servers: usize,
    pub(super) chain: Chain,
    /// Whether the settler reads the chain. Otherwise it is a facilitator that knows only its own
    /// transactions, and may report a payment as refused although it was taken.
    pub(super) reads_chain: bool,
    pub(super) ids: RequestIds,
    pub(super) clock: Arc<VirtualClock>,
    /// Whether no server reaches the database.
    pub(super) database_is_away: AtomicBool,
    /// Whether no more faults happen.
    peace: AtomicBool,
    work_done: AtomicU64,
    notes: Option<Mutex<Vec<String>>>,
    violations: Mutex<Vec<String>>,
}

/// The runtime's paused time as a clock.
pub(super) struct VirtualClock(Instant);

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        let since = Instant::now().duration_since(self.0);
        let milliseconds = i64::try_from(since.as_millis()).unwrap();
        Timestamp::from_millisecond(BEGINNING * 1000 + milliseconds).unwrap()
    }
}

impl World {
    /// Draws the world of a seed. Every part is drawn here, so that small seeds differ in kind and
    /// not only in detail.
    pub(super) fn new(seed: u64, fleet: Fleet, with_notes: bool) -> Self {
        let chance = Chance::new(seed);
        let rates = Rates {
            journal: chance.pick(&[0, 40, 15, 6, 3]),
            settler: chance.pick(&[0, 6, 3, 2]),
            worker: chance.pick(&[0, 10, 4]),
            callers: chance.pick(&[0, 8, 3, 2]),
            strangers: chance.pick(&[0, 4, 1]),
            cancellations: chance.pick(&[0, 0, 6, 2]),
        };
        Self {
            reads_chain: !chance.one_in(3),
            servers: match fleet {
                Fleet::One => 1,
                Fleet::Several => usize::try_from(chance.between(2, 3)).unwrap(),
            },
            chance,
            rates,
            chain: Chain::default(),
            ids: RequestIds::new(),
            clock: Arc::new(VirtualClock(Instant::now())),
            database_is_away: AtomicBool::new(false),
            peace: AtomicBool::new(false),
            work_done: AtomicU64::new(0),
            notes: with_notes.then(Mutex::default),
            violations: Mutex::default(),
        }
    }

    /// The time in Unix seconds.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.clock.now().as_second()).unwrap()
    }

    /// Milliseconds since the schedule began.
    pub(super) fn now_ms(&self) -> u64 {
        let since = Instant::now().duration_since(self.clock.0);
        u64::try_from(since.as_millis()).unwrap()
    }

    pub(super) fn make_peace(&self) {
        self.peace.store(true, Ordering::SeqCst);
        self.note(|| "from here on nothing goes wrong".to_owned());
    }

    pub(super) fn is_peace(&self) -> bool {
        self.peace.load(Ordering::SeqCst)
    }

    /// Draws whether a fault happens this time.
    pub(super) fn goes_wrong(&self, one_in: u64) -> bool {
        !self.is_peace() && self.chance.one_in(one_in)
    }

    pub(super) async fn pause(&self) {
        match self.is_peace() {
            true => self.chance.short_pause().await,
            false => self.chance.pause().await,
        }
    }

    pub(super) async fn sleep(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    /// Numbers every piece of work, so that no two answers are equal.
    pub(super) fn number_work(&self) -> u64 {
        self.work_done.fetch_add(1, Ordering::SeqCst)
    }

    pub(super) fn note(&self, what: impl FnOnce() -> String) {
        if let Some(notes) = &self.notes {
            let since = Instant::now().duration_since(self.clock.0);
            let line = format!("{:>9.3} {}", since.as_secs_f64(), what());
            let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
            notes.push(line);
        }
    }

    /// The events, one on each line; empty without notes.
    pub(super) fn notes(&self) -> Vec<String> {
        let notes = self.notes.as_ref();
        notes.map_or_else(Vec::new, |notes| notes.lock().unwrap().clone())
    }

    /// Reports a broken promise.
    pub(super) fn violation(&self, what: String) {
        self.note(|| format!("VIOLATION {what}"));
        let mut violations = self.violations.lock();
        violations.as_mut().unwrap().push(what);
    }

    pub(super) fn violations(&self) -> Vec<String> {
        self.violations.lock().unwrap().clone()
    }
}

/// One life of a server process. Its calls and its memory end with it; the journal and the chain
/// remain.
#[derive(Clone, Default)]
pub(super) struct Life {
    end: CancellationToken,
    /// Cancelled when the machine runs the process again; `None` while it runs.
    held_up: Arc<Mutex<Option<CancellationToken>>>,
    is_cut_off: Arc<AtomicBool>,
}

impl Life {
    /// Ends every task of the process: its next await never returns.
    pub(super) fn crash(&self) {
        self.end.cancel();
    }

    pub(super) async fn crashed(&self) {
        self.end.cancelled().await;
    }

    pub(super) fn is_over(&self) -> bool {
        self.end.is_cancelled()
    }

    /// Holds the process up, or lets it run again. A held-up process takes no step and sends no
    /// answer.
    pub(super) fn hold_up(&self, held_up: bool) {
        let again = held_up.then(CancellationToken::new);
        if let Some(again) = std::mem::replace(&mut *self.held_up.lock().unwrap(), again) {
            again.cancel();
        }
    }

    /// Waits until the process is not held up.
    pub(super) async fn runs(&self) {
        let again = self.held_up.lock().unwrap().clone();
        if let Some(again) = again {
            again.cancelled().await;
        }
    }

    /// Cuts the process off from the database, or lets it reach it again.
    pub(super) fn cut_off(&self, cut_off: bool) {
        self.is_cut_off.store(cut_off, Ordering::SeqCst);
    }

    pub(super) fn is_cut_off(&self, world: &World) -> bool {
        let here = self.is_cut_off.load(Ordering::SeqCst);
        here || world.database_is_away.load(Ordering::SeqCst)
    }

    /// A step of the process, after a pause in which anything may happen.
    pub(super) async fn step(&self, world: &World) {
        world.pause().await;
        self.runs().await;
        if self.is_over() {
            std::future::pending::<()>().await;
        }
    }
}

pub(super) fn policy() -> PaymentPolicy {
    let cost = Cost::micro_usd;
    let refill = |capacity, per_second| Refill {
        capacity: cost(capacity),
        per_second: cost(per_second),
    };
    PaymentPolicy {
        settle_budget_seconds: 40,
        settle_guard: Duration::from_secs(60),
        transaction_retention: Duration::from_secs(90 * 86_400),
        private_answer_seconds: 3_600,
        deferred_seconds: 600,
        credit: CreditPolicy {
            upstream_call: cost(400),
            model_call: cost(2_500),
            verification: cost(100),
            transaction: cost(500),
            kept: cost(500),
            newcomers: Rules {
                pool: refill(3_000, 20),
                address: refill(1_000, 5),
            },
            cap: cost(CREDIT_CAP),
        },
    }
}

/// The options of the journal, with the policy's credit.
pub(super) fn options() -> Options {
    let CreditPolicy { newcomers, cap, .. } = policy().credit;
    let allowance = |refill: Refill| Allowance {
        capacity: refill.capacity.as_micro_usd(),
        per_second: refill.per_second.as_micro_usd(),
    };
    Options {
        credit_cap_micro_usd: cap.as_micro_usd(),
        pool: allowance(newcomers.pool),
        address_share: allowance(newcomers.address),
        ..Options::default()
    }
}

/// The most credit of one payer, in millionths of a dollar. No payer reaches it, because at the cap
/// the rest would depend on the order in which credit is earned and spent.
const CREDIT_CAP: u64 = 1_000_000;

/// The operator's terms. A restart may bring others: another payee, another window, other assets.
pub(super) fn catalogs() -> &'static [Arc<Catalog>] {
    static CATALOGS: OnceLock<Vec<Arc<Catalog>>> = OnceLock::new();
    CATALOGS.get_or_init(|| {
        let [first, second, _] = Asset::chain_196();
        let terms = |payee: u8, max_timeout_seconds, assets: &[&Asset]| Terms {
            network: Network::evm(196),
            pay_to: Address::repeat_byte(payee),
            max_timeout_seconds,
            assets: assets.iter().map(|asset| (*asset).clone()).collect(),
        };
        let terms = [
            terms(0x91, 300, &[&first, &second]),
            terms(0x92, 300, &[&first, &second]),
            terms(0x91, 200, &[&first, &second]),
            terms(0x91, 300, &[&second]),
        ];
        let catalogs = terms.map(|terms| {
            let config = CatalogConfig {
                public_url: "https://api.example.test".to_owned(),
                brand: "simulation".to_owned(),
                contact: None,
                terms,
                bazaar_in_header: false,
            };
            Arc::new(Catalog::new(&config).unwrap())
        });
        catalogs.to_vec()
    })
}
