//! The journal on PostgreSQL as the database of a history: its real statements, in the order that
//! the seed decides.
//!
//! Its connections live on a runtime of their own, and a caller blocks its thread, so nothing else
//! of the history happens meanwhile. The history decides when leases end.

use std::sync::{LazyLock, mpsc};
use std::time::Duration;

use alloy_primitives::Address;
use ledger::{
    Claim, EntryId, Journal, LedgerError, Missing, OpenCounts, PaymentRecord, PaymentStatus,
    PendingSettlement, PostgresLedger, Pruned, Recovery, Repeated, RequestBinding, Reservation,
    Resolution, Spent, StoredReceipt, Undecided,
};
use storage::postgres::Postgres;
use test_support::postgres::Schema;
use tokio::runtime::Runtime;
use x402_wire::AuthorizationKey;

use super::store::Database;
use super::world::options;

/// The lease in the database: longer than any history, because the history has its own clock for
/// leases.
const LEASE: Duration = Duration::from_secs(86_400);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// Runs a future outside of the history's runtime and blocks until it ends.
fn wait<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    RUNTIME.spawn(async move { done.send(work.await) });
    result.recv().unwrap()
}

async fn run(postgres: Postgres, sql: String) {
    postgres.query("test", &sql, &[]).await.unwrap();
}

/// An empty schema of the database.
pub(super) struct PostgresDatabase {
    postgres: Postgres,
    _schema: Schema,
}

impl PostgresDatabase {
    /// Makes an empty schema; `None` without a database.
    pub(super) fn create() -> Option<Self> {
        let schema = Schema::new()?;
        Some(Self {
            postgres: schema.connect(),
            _schema: schema,
        })
    }
}

impl Database for PostgresDatabase {
    type Journal = PostgresJournal;

    fn register(&self) -> (i64, PostgresJournal) {
        let postgres = self.postgres.clone();
        let ledger = wait(PostgresLedger::open(postgres, options(), LEASE)).unwrap();
        (ledger.instance().id(), PostgresJournal(ledger))
    }

    fn go_on(&self, instance: i64, journal: &PostgresJournal) -> i64 {
        let ledger = journal.0.clone();
        wait(async move {
            ledger.instance().look_after();
            while ledger.instance().id() == instance {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // The first write takes over the open entries of the instance.
            ledger.probe().await.unwrap();
            ledger.instance().id()
        })
    }

    fn expire(&self, instances: &[i64]) {
        let instances: Vec<String> = instances.iter().map(i64::to_string).collect();
        let sql = "UPDATE instance SET lease_until = '-infinity' WHERE id IN";
        wait(run(
            self.postgres.clone(),
            format!("{sql} ({})", instances.join(", ")),
        ));
    }
}

/// The journal of one instance.
pub(super) struct PostgresJournal(PostgresLedger);

impl PostgresJournal {
    fn wait<T, F>(&self, work: impl FnOnce(PostgresLedger) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        wait(work(self.0.clone()))
    }
}

impl Journal for PostgresJournal {
    async fn reserve(&self, claim: Claim) -> Result<Reservation, LedgerError> {
        self.wait(|ledger| async move { ledger.reserve(claim).await })
    }

    async fn occupant(&self, claim: Claim) -> Result<Option<PaymentStatus>, LedgerError> {
        self.wait(|ledger| async move { ledger.occupant(claim).await })
    }

    async fn prove(&self, entry: EntryId, claim: Claim) -> Result<Reservation, LedgerError> {
        self.wait(|ledger| async move { ledger.prove(entry, claim).await })
    }

    async fn repeat(&self, claim: Claim, first: EntryId) -> Result<Repeated, LedgerError> {
        self.wait(|ledger| async move { ledger.repeat(claim, first).await })
    }

    fn mark_delivered(&self, entry: EntryId) {
        self.wait(|ledger| async move { ledger.mark_delivered(entry) });
    }

    async fn find(
        &self,
        key: &AuthorizationKey,
        request: &RequestBinding,
        now: u64,
    ) -> Result<Option<PaymentStatus>, LedgerError> {
        let (key, request) = (*key, request.clone());
        self.wait(|ledger| async move { ledger.find(&key, &request, now).await })
    }

    async fn look_up(&self, key: &AuthorizationKey) -> Result<Option<PaymentRecord>, LedgerError> {
        let key = *key;
        self.wait(|ledger| async move { ledger.look_up(&key).await })
    }

    fn start_work(&self, entry: EntryId) {
        self.0.start_work(entry);
    }

    async fn begin_settlement(
        &self,
        entry: EntryId,
        settlement: PendingSettlement,
        now: u64,
    ) -> Result<(), LedgerError> {
        self.wait(|ledger| async move { ledger.begin_settlement(entry, settlement, now).await })
    }

    async fn settle(
        &self,
        entry: EntryId,
        key: AuthorizationKey,
        receipt: StoredReceipt,
        now: u64,
    ) -> Result<(), LedgerError> {
        self.wait(|ledger| async move { ledger.settle(entry, key, receipt, now).await })
    }

    async fn release(
        &self,
        entry: EntryId,
        reason: &str,
        spent: Spent,
        now: u64,
    ) -> Result<(), LedgerError> {
        let reason = reason.to_owned();
        self.wait(|ledger| async move { ledger.release(entry, &reason, spent, now).await })
    }

    async fn mark_unknown(
        &self,
        entry: EntryId,
        transaction: Option<String>,
        cause: &str,
        now: u64,
    ) -> Result<(), LedgerError> {
        let cause = cause.to_owned();
        self.wait(|ledger| async move {
            let marked = ledger.mark_unknown(entry, transaction, &cause, now);
            marked.await
        })
    }

    async fn mark_undecidable(
        &self,
        entry: EntryId,
        cause: &str,
        now: u64,
    ) -> Result<(), LedgerError> {
        let cause = cause.to_owned();
        self.wait(|ledger| async move { ledger.mark_undecidable(entry, &cause, now).await })
    }

    async fn resolve(
        &self,
        entry: EntryId,
        resolution: Resolution,
        now: u64,
    ) -> Result<(), LedgerError> {
        self.wait(|ledger| async move { ledger.resolve(entry, resolution, now).await })
    }

    async fn undecided(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        self.wait(|ledger| async move { ledger.undecided(after, limit).await })
    }

    async fn undecidable(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        self.wait(|ledger| async move { ledger.undecidable(after, limit).await })
    }

    async fn open_counts(&self) -> Result<OpenCounts, LedgerError> {
        self.wait(|ledger| async move { ledger.open_counts().await })
    }

    async fn credit(&self, payer: Address) -> Result<u64, LedgerError> {
        self.wait(|ledger| async move { ledger.credit(payer).await })
    }

    async fn paid(&self, payer: Address) -> Result<u64, LedgerError> {
        self.wait(|ledger| async move { ledger.paid(payer).await })
    }

    async fn debit(&self, payer: Address, spent: Spent, now: u64) -> Result<(), LedgerError> {
        self.wait(|ledger| async move { ledger.debit(payer, spent, now).await })
    }

    async fn missing(&self, now: u64) -> Result<Missing, LedgerError> {
        self.wait(|ledger| async move { ledger.missing(now).await })
    }

    async fn recover(&self, now: u64) -> Result<Recovery, LedgerError> {
        self.wait(|ledger| async move { ledger.recover(now).await })
    }

    async fn abandon(
        &self,
        owned: Vec<EntryId>,
        untouched_since: u64,
        now: u64,
    ) -> Result<Recovery, LedgerError> {
        self.wait(|ledger| async move { ledger.abandon(owned, untouched_since, now).await })
    }

    async fn prune(&self, now: u64) -> Result<Pruned, LedgerError> {
        self.wait(|ledger| async move { ledger.prune(now).await })
    }

    fn owner(&self) -> i64 {
        self.0.instance().id()
    }

    async fn retire(&self, entry: EntryId, is_refused: bool) -> Result<bool, LedgerError> {
        self.wait(|ledger| async move { ledger.retire(entry, is_refused).await })
    }

    async fn probe(&self) -> Result<(), LedgerError> {
        self.wait(|ledger| async move { ledger.probe().await })
    }

    fn size_bytes(&self) -> Result<u64, LedgerError> {
        self.0.size_bytes()
    }
}
