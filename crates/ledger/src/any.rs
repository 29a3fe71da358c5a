//! [`AnyLedger`]: the journal in either store, a SQLite file or a PostgreSQL database.

use std::time::Duration;

use alloy_primitives::{Address, B256};
use storage::postgres::{Condition, Postgres};
use x402_wire::AuthorizationKey;

use crate::{
    answer::{PendingSettlement, StoredReceipt},
    claim::{Claim, RequestBinding},
    error::LedgerError,
    journal::{Journal, OpenCounts, Pruned, Recovery, Resolution, Undecided},
    options::Options,
    postgres::PostgresLedger,
    purchase::Repeated,
    record::{EntryRecord, Filter},
    spending::{Missing, Spent},
    sqlite::{self, SqliteLedger},
    state::EntryId,
    status::{PaymentRecord, PaymentStatus, Reservation},
};

/// A journal in a SQLite file for one server, or in a PostgreSQL database that several servers
/// share.
#[derive(Debug)]
pub enum AnyLedger {
    /// The journal is in a file.
    Sqlite(SqliteLedger),
    /// The journal is in a database.
    Postgres(PostgresLedger),
}

impl AnyLedger {
    /// Opens the ledger in the database `postgres`. Without a database, opens the file at `url`,
    /// which is a path, or `sqlite://` and a path. On a database the server has a lease, which
    /// lasts for `lease` without a heartbeat. A file has one server and no lease.
    ///
    /// # Errors
    ///
    /// As [`SqliteLedger::open`] and [`PostgresLedger::open`].
    pub async fn open(
        url: &str,
        postgres: Option<&Postgres>,
        options: Options,
        lease: Duration,
    ) -> Result<Self, LedgerError> {
        Ok(match postgres {
            Some(postgres) => {
                let ledger = PostgresLedger::open(postgres.clone(), options, lease);
                Self::Postgres(ledger.await?)
            }
            None => Self::Sqlite(SqliteLedger::open(url, options)?),
        })
    }

    /// Lists at most `limit` entries of a selection after `after` (from the beginning when `None`),
    /// in the order of their numbers. This is for operators: it reads every entry between the
    /// listed ones, and on SQLite payments wait meanwhile.
    ///
    /// # Errors
    ///
    /// The errors of reading the store.
    pub async fn entries(
        &self,
        filter: &Filter,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<EntryRecord>, LedgerError> {
        match self {
            Self::Sqlite(ledger) => ledger.entries(filter, after, limit).await,
            Self::Postgres(ledger) => ledger.entries(filter, after, limit).await,
        }
    }

    /// Returns a reader of payers' sums, for parts of a server that do not own the ledger.
    #[must_use]
    pub fn paid_sums(&self) -> PaidSums {
        PaidSums(match self {
            Self::Sqlite(ledger) => Sums::Sqlite(ledger.paid_sums()),
            Self::Postgres(ledger) => Sums::Postgres(ledger.postgres().clone()),
        })
    }
}

/// A reader of payers' sums. It does not keep the ledger open, and returns an error once the ledger
/// is closed. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PaidSums(Sums);

#[derive(Clone, Debug)]
enum Sums {
    Sqlite(sqlite::PaidSums),
    Postgres(Postgres),
}

impl PaidSums {
    /// Returns the sum of a payer, as [`Journal::paid`].
    ///
    /// # Errors
    ///
    /// [`LedgerError::Closed`], and the errors of reading the store.
    pub async fn paid(&self, payer: Address) -> Result<u64, LedgerError> {
        match &self.0 {
            Sums::Sqlite(sums) => sums.paid(payer).await,
            Sums::Postgres(postgres) => crate::postgres::paid(postgres, payer).await,
        }
    }

    /// Whether the authorization with this digest has an entry that is not settled. The amount of
    /// such an entry is not in the sum of its payer.
    ///
    /// # Errors
    ///
    /// The same as [`Self::paid`].
    pub async fn is_unsettled(&self, authorization: B256) -> Result<bool, LedgerError> {
        match &self.0 {
            Sums::Sqlite(sums) => sums.is_unsettled(authorization).await,
            Sums::Postgres(postgres) => {
                crate::postgres::is_unsettled(postgres, authorization).await
            }
        }
    }
}

/// Calls an operation on the store that is open.
macro_rules! either {
    ($self:ident, $ledger:ident => $call:expr) => {
        match $self {
            AnyLedger::Sqlite($ledger) => $call,
            AnyLedger::Postgres($ledger) => $call,
        }
    };
}

impl Journal for AnyLedger {
    async fn reserve(&self, claim: Claim) -> Result<Reservation, LedgerError> {
        either!(self, ledger => ledger.reserve(claim).await)
    }

    async fn occupant(&self, claim: Claim) -> Result<Option<PaymentStatus>, LedgerError> {
        either!(self, ledger => ledger.occupant(claim).await)
    }

    async fn prove(&self, entry: EntryId, claim: Claim) -> Result<Reservation, LedgerError> {
        either!(self, ledger => ledger.prove(entry, claim).await)
    }

    async fn repeat(&self, claim: Claim, first: EntryId) -> Result<Repeated, LedgerError> {
        either!(self, ledger => ledger.repeat(claim, first).await)
    }

    fn mark_delivered(&self, entry: EntryId) {
        either!(self, ledger => ledger.mark_delivered(entry));
    }

    async fn find(
        &self,
        key: &AuthorizationKey,
        request: &RequestBinding,
        now: u64,
    ) -> Result<Option<PaymentStatus>, LedgerError> {
        either!(self, ledger => ledger.find(key, request, now).await)
    }

    async fn look_up(&self, key: &AuthorizationKey) -> Result<Option<PaymentRecord>, LedgerError> {
        either!(self, ledger => ledger.look_up(key).await)
    }

    fn start_work(&self, entry: EntryId) {
        either!(self, ledger => ledger.start_work(entry));
    }

    async fn begin_settlement(
        &self,
        entry: EntryId,
        settlement: PendingSettlement,
        now: u64,
    ) -> Result<(), LedgerError> {
        either!(self, ledger => ledger.begin_settlement(entry, settlement, now).await)
    }

    async fn settle(
        &self,
        entry: EntryId,
        key: AuthorizationKey,
        receipt: StoredReceipt,
        now: u64,
    ) -> Result<(), LedgerError> {
        either!(self, ledger => ledger.settle(entry, key, receipt, now).await)
    }

    async fn release(
        &self,
        entry: EntryId,
        reason: &str,
        spent: Spent,
        now: u64,
    ) -> Result<(), LedgerError> {
        either!(self, ledger => ledger.release(entry, reason, spent, now).await)
    }

    async fn mark_unknown(
        &self,
        entry: EntryId,
        transaction: Option<String>,
        cause: &str,
        now: u64,
    ) -> Result<(), LedgerError> {
        either!(self, ledger => ledger.mark_unknown(entry, transaction, cause, now).await)
    }

    async fn mark_undecidable(
        &self,
        entry: EntryId,
        cause: &str,
        now: u64,
    ) -> Result<(), LedgerError> {
        either!(self, ledger => ledger.mark_undecidable(entry, cause, now).await)
    }

    async fn resolve(
        &self,
        entry: EntryId,
        resolution: Resolution,
        now: u64,
    ) -> Result<(), LedgerError> {
        either!(self, ledger => ledger.resolve(entry, resolution, now).await)
    }

    async fn undecided(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        either!(self, ledger => ledger.undecided(after, limit).await)
    }

    async fn undecidable(
        &self,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<Undecided>, LedgerError> {
        either!(self, ledger => ledger.undecidable(after, limit).await)
    }

    async fn open_counts(&self) -> Result<OpenCounts, LedgerError> {
        either!(self, ledger => ledger.open_counts().await)
    }

    async fn credit(&self, payer: Address) -> Result<u64, LedgerError> {
        either!(self, ledger => ledger.credit(payer).await)
    }

    async fn paid(&self, payer: Address) -> Result<u64, LedgerError> {
        either!(self, ledger => ledger.paid(payer).await)
    }

    async fn debit(&self, payer: Address, spent: Spent, now: u64) -> Result<(), LedgerError> {
        either!(self, ledger => ledger.debit(payer, spent, now).await)
    }

    async fn missing(&self, now: u64) -> Result<Missing, LedgerError> {
        either!(self, ledger => ledger.missing(now).await)
    }

    async fn recover(&self, now: u64) -> Result<Recovery, LedgerError> {
        either!(self, ledger => ledger.recover(now).await)
    }

    async fn abandon(
        &self,
        owned: Vec<EntryId>,
        untouched_since: u64,
        now: u64,
    ) -> Result<Recovery, LedgerError> {
        either!(self, ledger => ledger.abandon(owned, untouched_since, now).await)
    }

    async fn prune(&self, now: u64) -> Result<Pruned, LedgerError> {
        either!(self, ledger => ledger.prune(now).await)
    }

    async fn probe(&self) -> Result<(), LedgerError> {
        either!(self, ledger => ledger.probe().await)
    }

    fn size_bytes(&self) -> Result<u64, LedgerError> {
        either!(self, ledger => ledger.size_bytes())
    }

    fn owner(&self) -> i64 {
        either!(self, ledger => ledger.owner())
    }

    fn reservation(&self, entry: EntryId, owner: i64) -> Option<Condition> {
        either!(self, ledger => ledger.reservation(entry, owner))
    }

    async fn retire(&self, entry: EntryId, is_refused: bool) -> Result<bool, LedgerError> {
        either!(self, ledger => ledger.retire(entry, is_refused).await)
    }

    async fn close(&self) -> Result<(), LedgerError> {
        either!(self, ledger => ledger.close().await)
    }
}
