//! The script of a stage: it sets the behaviour of the settler, the work and the clock.

use std::collections::BTreeMap;
use std::future::pending;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use alloy_primitives::{Address, B256, U256};
use data_sources::Clock;
use jiff::Timestamp;
use ledger::PaidAnswer;
use route_catalog::ErrorCode;
use serde_json::{Map, Value};
use settlement::{
    Cause, Readiness, Receipt, Reconciliation, RemoteCall as Asked, Settlement, Settler,
    Verification,
};
use tokio::sync::Semaphore;
use x402_wire::{Authorization, AuthorizationKey, Payment, Scheme};

use crate::call::Call;
use crate::payment::Worker;
use crate::reply::ErrorReply;

/// The time at which every test begins, in Unix seconds.
pub(super) const NOW: u64 = 1_795_200_000;

/// The result of a settlement.
#[derive(Clone)]
pub(super) enum Settles {
    Taken,
    Never,
    As(Settlement),
}

/// The result of reconciliation.
#[derive(Clone)]
pub(super) enum Reconciles {
    Taken,
    /// The settler never answers about this nonce; every other payment was taken.
    TakenBut(B256),
    As(Reconciliation),
}

/// The result of the work.
#[derive(Clone, Copy)]
pub(super) enum Work {
    Answers,
    Never,
    Refuses,
    Panics,
    /// The clock advances by this many seconds meanwhile.
    Takes(i64),
}

/// The behaviour of everything around the payment path. A test can change it during a call.
pub(super) struct Script {
    reads_chain: bool,
    pub(super) supports: Mutex<Verification>,
    pub(super) wallets: Mutex<Result<bool, Cause>>,
    pub(super) verifies: Mutex<Verification>,
    pub(super) settles: Mutex<Settles>,
    pub(super) reconciles: Mutex<Reconciles>,
    pub(super) is_void: Mutex<Result<bool, Cause>>,
    pub(super) is_spent: Mutex<Result<bool, Cause>>,
    pub(super) paid_by: Mutex<Result<Option<String>, Cause>>,
    /// The number of settlements that the settler's account can pay; `None` when it pays for none.
    pub(super) affords: Mutex<Option<usize>>,
    pub(super) work: Mutex<Work>,
    /// Whether the work of an earlier call has begun something.
    pub(super) has_begun: Mutex<bool>,
    /// Each question about the supported schemes waits for one of these permits.
    pub(super) gate: Semaphore,
    clock: Arc<Hand>,
    asked: Mutex<BTreeMap<&'static str, usize>>,
}

struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

impl Default for Script {
    fn default() -> Self {
        Self {
            reads_chain: true,
            supports: Mutex::new(Verification::Valid),
            wallets: Mutex::new(Ok(false)),
            verifies: Mutex::new(Verification::Valid),
            settles: Mutex::new(Settles::Taken),
            reconciles: Mutex::new(Reconciles::As(Reconciliation::Undecided {
                transaction: None,
                cause: unreachable(),
            })),
            is_void: Mutex::new(Ok(false)),
            is_spent: Mutex::new(Ok(false)),
            paid_by: Mutex::new(Ok(None)),
            affords: Mutex::new(None),
            work: Mutex::new(Work::Answers),
            has_begun: Mutex::new(false),
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
            clock: Arc::new(Hand(AtomicI64::new(NOW.try_into().unwrap()))),
            asked: Mutex::default(),
        }
    }
}

pub(super) fn unreachable() -> Cause {
    Cause::Unreachable {
        call: Asked::Settle,
    }
}

impl Script {
    /// Whether the settler reads a chain.
    pub(super) fn with_chain(reads_chain: bool) -> Self {
        Self {
            reads_chain,
            ..Self::default()
        }
    }

    /// Makes a script that answers this many questions about the supported schemes. Later ones
    /// wait.
    pub(super) fn with_gate(answers: usize) -> Self {
        Self {
            gate: Semaphore::new(answers),
            ..Self::default()
        }
    }

    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.0.load(Ordering::SeqCst).try_into().unwrap()
    }

    /// Advances the clock.
    pub(super) fn pass(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds, Ordering::SeqCst);
    }

    /// The number of calls of this kind: `verify`, `work`, `settle`, ...
    pub(super) fn asked(&self, name: &str) -> usize {
        self.asked.lock().unwrap().get(name).copied().unwrap_or(0)
    }

    /// Clears the counts.
    pub(super) fn forget(&self) {
        self.asked.lock().unwrap().clear();
    }

    pub(super) fn set<T>(of: &Mutex<T>, value: T) {
        *of.lock().unwrap() = value;
    }

    async fn ask(&self, name: &'static str) {
        *self.asked.lock().unwrap().entry(name).or_default() += 1;
        tokio::task::yield_now().await;
    }
}

fn now<T: Clone>(of: &Mutex<T>) -> T {
    of.lock().unwrap().clone()
}

pub(super) struct ScriptedSettler(pub(super) Arc<Script>);

impl Settler for ScriptedSettler {
    async fn supports(&self, _scheme: Scheme) -> Verification {
        self.0.ask("supports").await;
        self.0.gate.acquire().await.unwrap().forget();
        now(&self.0.supports)
    }

    fn reads_chain(&self) -> bool {
        self.0.reads_chain
    }

    async fn accepts_wallet(&self, _payer: Address) -> Result<bool, Cause> {
        self.0.ask("accepts_wallet").await;
        now(&self.0.wallets)
    }

    async fn verify(&self, _payment: &Payment, _committed: U256, _now: u64) -> Verification {
        self.0.ask("verify").await;
        now(&self.0.verifies)
    }

    fn pays_gas(&self) -> bool {
        now(&self.0.affords).is_some()
    }

    async fn affords(&self, others: usize) -> Result<(), Cause> {
        self.0.ask("affords").await;
        match now(&self.0.affords) {
            Some(most) if others >= most => Err(unreachable()),
            _ => Ok(()),
        }
    }

    async fn settle(&self, payment: &Payment) -> Settlement {
        self.0.ask("settle").await;
        match now(&self.0.settles) {
            Settles::Taken => Settlement::Settled(Receipt::of(payment, "0xab")),
            Settles::Never => pending().await,
            Settles::As(settlement) => settlement,
        }
    }

    async fn reconcile(
        &self,
        payment: &Payment,
        _transaction: Option<&str>,
        _now: u64,
    ) -> Reconciliation {
        self.0.ask("reconcile").await;
        match now(&self.0.reconciles) {
            Reconciles::TakenBut(silent) if silent == payment.authorization().nonce => {
                pending().await
            }
            Reconciles::Taken | Reconciles::TakenBut(_) => {
                Reconciliation::Settled(Receipt::of(payment, "0xab"))
            }
            Reconciles::As(reconciliation) => reconciliation,
        }
    }

    async fn is_void(&self, _key: &AuthorizationKey, _valid_before: U256) -> Result<bool, Cause> {
        self.0.ask("is_void").await;
        now(&self.0.is_void)
    }

    async fn is_spent(
        &self,
        _key: &AuthorizationKey,
        _authorization: &Authorization,
    ) -> Result<bool, Cause> {
        self.0.ask("is_spent").await;
        now(&self.0.is_spent)
    }

    async fn paid_by(
        &self,
        _key: &AuthorizationKey,
        _authorization: &Authorization,
    ) -> Result<Option<String>, Cause> {
        self.0.ask("paid_by").await;
        now(&self.0.paid_by)
    }

    async fn readiness(&self) -> Readiness {
        pending().await
    }
}

pub(super) struct ScriptedWorker(pub(super) Arc<Script>);

impl Worker for ScriptedWorker {
    async fn answer(&self, _call: &Call, _request: B256) -> Result<PaidAnswer, ErrorReply> {
        self.0.ask("work").await;
        match now(&self.0.work) {
            Work::Answers => {}
            Work::Never => pending().await,
            Work::Refuses => {
                return Err(ErrorReply::new(
                    ErrorCode::CoreDataMissing,
                    "no source answers",
                ));
            }
            Work::Panics => resume_unwind(Box::new("the work panics")),
            Work::Takes(seconds) => self.0.pass(seconds),
        }
        Ok(PaidAnswer::new(200, Vec::new(), "{}".into()))
    }

    async fn has_begun(&self, _payment: B256) -> bool {
        now(&self.0.has_begun)
    }

    async fn began(&self, _payment: B256) -> Option<Map<String, Value>> {
        let mut began = Map::new();
        began.insert("intent_id".to_owned(), "an-intent".into());
        Some(began)
    }
}
