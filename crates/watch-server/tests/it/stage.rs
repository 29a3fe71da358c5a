//! A stage for tests of mandates: a clock, yields and a mover that a test directs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use alloy_primitives::B256;
use jiff::Timestamp;
use readings::defi::grade::Grade;
use readings::defi::market::{Market, Other};
use tempfile::TempDir;
use watch_server::{
    Clock, Edition, EditionFuture, Holdings, Kept, Mandates, MoveState, Mover, MoverError,
    MoverFuture, Pace, SqliteStore, Stop, Store, Terms, Watcher, Yields,
};
use yield_watch::{
    AuditRecord, Event, Mandate, Mode, MoveKey, MoveOutcome, Pool, Position, Proposal, Rules,
    Snapshot, verify,
};

pub const OWNER: &str = "eip155:196:0x00000000000000000000000000000000000000a1";
pub const OTHER: &str = "eip155:196:0x00000000000000000000000000000000000000b2";
pub const HOUR: i64 = 3_600;

pub fn begin() -> Timestamp {
    "2026-11-21T00:00:00Z".parse().unwrap()
}

pub fn payment(number: u8) -> B256 {
    B256::repeat_byte(number)
}

pub fn terms(mode: Mode) -> Terms {
    Terms {
        owner: OWNER.to_owned(),
        rules: Rules {
            min_apy_delta_bps: 50,
            max_slippage_bps: 50,
            max_move_usd: "1000".parse().unwrap(),
            allowed_protocols: vec!["aave-v3".to_owned()],
            check_interval: 3_600,
            max_moves_per_day: 24,
            min_gain_usd: "0".parse().unwrap(),
        },
        mode,
        expires_at: begin() + jiff::SignedDuration::from_hours(24),
    }
}

pub fn market(pool: &str, apy: &str) -> Market {
    Market {
        pool: pool.to_owned(),
        chain: "Base".to_owned(),
        chain_id: Some(8453),
        project: "aave-v3".to_owned(),
        symbol: "USDC".to_owned(),
        apy_pct: apy.parse().unwrap(),
        apy_base_pct: None,
        apy_reward_pct: None,
        tvl_usd: "1000000".parse().unwrap(),
        il_risk: Some("no"),
        stablecoin: Some(true),
        risk_grade: Grade::A,
        why: Vec::new(),
        source: "defillama",
        also_reported: vec![Other {
            source: "okx.defi",
            pool: "1".to_owned(),
            apy_pct: apy.parse().unwrap(),
        }],
        underlying: Vec::new(),
        single_asset: Some(true),
        reward_known: true,
    }
}

/// A clock that a test sets, in seconds from the beginning.
#[derive(Default)]
pub struct Time(AtomicI64);

impl Time {
    pub fn set(&self, seconds: i64) {
        self.0.store(seconds, Ordering::SeqCst);
    }

    pub fn now(&self) -> Timestamp {
        begin() + jiff::SignedDuration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

/// Yields that a test sets.
#[derive(Default)]
pub struct Board(Mutex<Option<Edition>>);

impl Board {
    /// Shows an edition that was taken at this second. It is fresh for an hour and a half.
    pub fn show(&self, taken: i64, markets: Vec<Market>) {
        let snapshot = Snapshot {
            id: format!("yields-{taken}"),
            taken_at: begin() + jiff::SignedDuration::from_secs(taken),
            max_age_seconds: 5_400,
        };
        let markets = Arc::new(markets);
        *self.0.lock().unwrap() = Some(Edition { snapshot, markets });
    }
}

impl Yields for Board {
    fn latest(&self) -> EditionFuture<'_> {
        let edition = self.0.lock().unwrap().clone();
        Box::pin(std::future::ready(edition))
    }
}

/// A mover that a test directs. It survives the processes that ask it, as a wallet does.
#[derive(Default)]
pub struct Wallet(Mutex<Moves>);

#[derive(Default)]
struct Moves {
    position: Option<Position>,
    keys: BTreeMap<MoveKey, MoveState>,
    /// The moves that were signed.
    signed: Vec<Proposal>,
    /// Whether a proposal waits before it is signed.
    slow: bool,
    /// Whether the wallet does not answer.
    silent: bool,
    refuse: Option<String>,
}

impl Wallet {
    pub fn holds(&self, position: Position) {
        self.0.lock().unwrap().position = Some(position);
    }

    pub fn slow(&self) {
        self.0.lock().unwrap().slow = true;
    }

    pub fn silent(&self, silent: bool) {
        self.0.lock().unwrap().silent = silent;
    }

    pub fn refuse(&self, reason: &str) {
        self.0.lock().unwrap().refuse = Some(reason.to_owned());
    }

    pub fn signed(&self) -> Vec<Proposal> {
        self.0.lock().unwrap().signed.clone()
    }

    /// Signs this move. Its state does not change.
    pub fn sign(&self, proposal: Proposal) {
        let mut moves = self.0.lock().unwrap();
        moves.signed.push(proposal);
    }

    pub fn end(&self, key: &MoveKey, outcome: MoveOutcome) {
        let mut moves = self.0.lock().unwrap();
        moves.keys.insert(key.clone(), MoveState::Ended(outcome));
    }

    pub fn moved(usd: &str) -> MoveOutcome {
        MoveOutcome::Moved {
            intent_id: "cd".repeat(16),
            tx_hash: B256::repeat_byte(7),
            moved_usd: usd.parse().unwrap(),
        }
    }

    fn answer<'a, T: Send + 'a>(&'a self, ask: impl FnOnce(&mut Moves) -> T) -> MoverFuture<'a, T> {
        let mut moves = self.0.lock().unwrap();
        let answer = match moves.silent {
            true => Err(MoverError {
                reason: "no_node_answers".to_owned(),
            }),
            false => Ok(ask(&mut moves)),
        };
        Box::pin(std::future::ready(answer))
    }
}

impl Mover for Wallet {
    fn held<'a>(&'a self, _: &'a Mandate, markets: &'a [Market]) -> MoverFuture<'a, Holdings> {
        self.answer(|moves| Holdings {
            position: moves.position.clone().unwrap_or(Position::Idle {
                idle_usd: "0".parse().unwrap(),
            }),
            reachable: markets.iter().map(|market| market.pool.clone()).collect(),
            cost_usd: "0".parse().unwrap(),
        })
    }

    fn propose<'a>(&'a self, _: &'a Mandate, proposal: &'a Proposal) -> MoverFuture<'a, MoveState> {
        self.answer(|moves| {
            if let Some(known) = moves.keys.get(&proposal.key) {
                return known.clone();
            }
            let state = match (&moves.refuse, moves.slow) {
                (Some(reason), _) => MoveState::Ended(MoveOutcome::Refused {
                    reason: reason.clone(),
                }),
                (None, true) => MoveState::UnderWay,
                (None, false) => {
                    moves.signed.push(proposal.clone());
                    MoveState::Ended(Self::moved("900"))
                }
            };
            moves.keys.insert(proposal.key.clone(), state.clone());
            state
        })
    }

    fn state<'a>(&'a self, key: &'a MoveKey) -> MoverFuture<'a, Option<MoveState>> {
        self.answer(|moves| moves.keys.get(key).cloned())
    }

    fn cancel<'a>(&'a self, key: &'a MoveKey) -> MoverFuture<'a, Stop> {
        self.answer(|moves| {
            let is_signed = moves.signed.iter().any(|signed| signed.key == *key);
            if is_signed {
                return Stop::TooLate;
            }
            let stopped = MoveOutcome::Stopped {
                reason: "cancelled".to_owned(),
            };
            let state = MoveState::Ended(stopped);
            moves.keys.insert(key.clone(), state);
            Stop::Stopped
        })
    }
}

pub fn held(pool: &str, apy: &str) -> Position {
    Position::Held {
        pool: Pool {
            pool: pool.to_owned(),
            project: "aave-v3".to_owned(),
            chain: "Base".to_owned(),
            symbol: "USDC".to_owned(),
            apy_pct: apy.parse().unwrap(),
        },
        amount_usd: "900".parse().unwrap(),
    }
}

/// A file of mandates with its clock, yields and mover. Several processes may open it, one after
/// another or at the same time.
pub struct Stage {
    pub time: Arc<Time>,
    pub board: Arc<Board>,
    pub wallet: Arc<Wallet>,
    folder: TempDir,
}

/// A process that has the file open.
pub struct Process {
    pub mandates: Mandates,
    pub watcher: Watcher,
}

impl Stage {
    pub fn new() -> Self {
        Self {
            time: Arc::default(),
            board: Arc::default(),
            wallet: Arc::default(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("watch.db")
    }

    pub fn store(&self) -> SqliteStore {
        SqliteStore::open(self.path()).unwrap()
    }

    pub fn process(&self) -> Process {
        self.process_on(Arc::new(self.store()))
    }

    pub fn process_on(&self, store: Arc<dyn Store>) -> Process {
        let board: Arc<dyn Yields> = self.board.clone();
        self.process_of(store, board)
    }

    pub fn process_of(&self, store: Arc<dyn Store>, yields: Arc<dyn Yields>) -> Process {
        let time = Arc::clone(&self.time);
        let clock: Clock = Arc::new(move || time.now());
        let mandates = Mandates::new(store, clock);
        mandates.move_with(self.wallet.clone());
        let pace = Pace {
            rest: std::time::Duration::ZERO,
            ..Pace::default()
        };
        let watcher = Watcher::new(&mandates, yields, pace);
        Process { mandates, watcher }
    }
}

impl Process {
    /// Returns the mandate of payment 1. Creates it if it does not exist.
    pub async fn mandate(&self, mode: Mode) -> Kept {
        let created = self.mandates.create(payment(1), terms(mode), None).await;
        created.unwrap()
    }

    /// Returns the events of a mandate's audit, after verifying the audit as a caller does.
    pub async fn events(&self, kept: &Kept) -> Vec<Event> {
        let mandate = kept.watched.mandate();
        let records = self.mandates.audit(&mandate.owner, &mandate.id, 0, 9_999);
        events(&records.await.unwrap())
    }
}

/// Returns the events of records, after verifying the records.
pub fn events(records: &[AuditRecord]) -> Vec<Event> {
    let values: Vec<_> = records
        .iter()
        .map(|record| serde_json::to_value(record).unwrap())
        .collect();
    verify(&values).unwrap();
    records.iter().map(|record| record.decision).collect()
}

pub fn distinct<T: Ord>(of: impl IntoIterator<Item = T>) -> usize {
    of.into_iter().collect::<BTreeSet<_>>().len()
}
