//! The journal on PostgreSQL, for any number of servers.
//!
//! Every move of an entry is one statement, and so one transaction: the entry, its answer and the
//! payer's credit change together or not at all. That an authorization and a payment identifier
//! have one entry at most are constraints of the tables.
//!
//! An entry belongs to the [`Instance`] that reserved it. Its moves need that instance's lease, in
//! the same statement. When the lease has expired, others close what was in flight and look after
//! what is unknown; whatever the instance still tries is refused
//! ([`TakenOver`](LedgerError::TakenOver)).
//!
//! A replica that takes over may lack the last commits, and gives numbers of entries again that
//! running calls still hold. No instance has a lease there. Each registers anew, keeps what nobody
//! has taken over, and reserves entries with numbers far beyond those that it can remember.
//!
//! A connection that is lost during a statement leaves its outcome open. A reservation then looks
//! for its own attempt; every other move is sent again, and finds its own result if it had
//! happened.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64},
    },
    time::Duration,
};

use storage::postgres::{
    Component, Instance, Migration, Postgres, PostgresError, Row, ToSql, damaged, get,
};

use crate::{
    error::LedgerError,
    options::Options,
    record::{EntryRecord, Filter},
    state::{EntryId, State},
};

/// Whether an instance has its lease, in the history of the database in which it was registered: a
/// condition of every move, with the instance `$1`.
macro_rules! alive {
    () => {
        alive!("$1")
    };
    ($instance:literal) => {
        concat!(
            "EXISTS (SELECT FROM instance WHERE instance.id = ",
            $instance,
            " AND lease_until > clock_timestamp() AND history = instance_history())"
        )
    };
}

mod claims;
mod credit;
mod import;
mod moves;
mod number;
mod open;
mod port;
mod prune;
mod records;
mod status;

pub(crate) use credit::paid;

/// The ledger's tables.
pub(crate) const COMPONENT: Component = Component {
    name: "ledger",
    migrations: &[include_str!("postgres/schema/0001.sql")],
};

/// What a statement is run with.
type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A journal in a PostgreSQL database, which several servers may share.
///
/// Cheap to clone; clones are one instance. Needs a Tokio runtime.
#[derive(Clone, Debug)]
pub struct PostgresLedger(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    postgres: Postgres,
    instance: Instance,
    /// The number of the instance under which this ledger writes.
    number: AtomicI64,
    options: Options,
    /// Reserved entries whose work has begun. Known to this instance only, and not written: it
    /// changes nothing about what becomes of an entry.
    working: Mutex<HashSet<i64>>,
    /// The entry after which the next look for abandoned ones begins, and the next pruning.
    abandon_after: AtomicI64,
    prune_after: AtomicI64,
    /// Batches of the current run of pruning.
    prune_batches: AtomicI64,
    /// As of the last count of open entries.
    size_bytes: AtomicU64,
}

impl PostgresLedger {
    /// Opens the ledger in a database: checks that the database keeps what it has committed, brings
    /// the tables up, and registers a new instance whose lease lasts for `lease` without a
    /// heartbeat.
    ///
    /// `options.max_bytes` means nothing here: the database's disk is the limit.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](LedgerError::Unavailable), [`NotDurable`](LedgerError::NotDurable),
    /// [`NewerSchema`](LedgerError::NewerSchema), [`Query`](LedgerError::Query).
    pub async fn open(
        postgres: Postgres,
        options: Options,
        lease: Duration,
    ) -> Result<Self, LedgerError> {
        postgres.check_durability().await?;
        postgres.migrate(&COMPONENT).await?;
        let instance = Instance::register(postgres.clone(), lease).await?;
        Ok(Self(Arc::new(Inner {
            postgres,
            number: AtomicI64::new(instance.id()),
            instance,
            options,
            working: Mutex::default(),
            abandon_after: AtomicI64::new(0),
            prune_after: AtomicI64::new(0),
            prune_batches: AtomicI64::new(0),
            size_bytes: AtomicU64::new(0),
        })))
    }

    /// What opening the ledger in a database would do to its tables. Writes nothing.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub async fn pending(postgres: &Postgres) -> Result<Migration, LedgerError> {
        Ok(postgres.pending(&COMPONENT).await?)
    }

    /// As [`AnyLedger::entries`](crate::AnyLedger::entries). Writes nothing, and needs no server's
    /// lease.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](LedgerError::Unavailable), [`DamagedRow`](LedgerError::DamagedRow),
    /// [`Query`](LedgerError::Query).
    pub async fn entries(
        &self,
        filter: &Filter,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<EntryRecord>, LedgerError> {
        records::entries(&self.0.postgres, filter, after, limit).await
    }

    /// The database.
    #[must_use]
    pub fn postgres(&self) -> &Postgres {
        &self.0.postgres
    }

    /// This server's instance.
    #[must_use]
    pub fn instance(&self) -> &Instance {
        &self.0.instance
    }
}

impl Inner {
    fn working(&self) -> MutexGuard<'_, HashSet<i64>> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of an entry, with what this instance knows of its work.
    fn with_note(&self, entry: EntryId, state: State) -> State {
        match state {
            State::Reserved if self.working().contains(&entry.number()) => State::Working,
            state => state,
        }
    }
}

/// A state as the tables keep it.
fn code(state: State) -> i16 {
    i16::try_from(state.code()).unwrap_or_default()
}

fn state(row: &Row, column: usize, operation: &'static str) -> Result<State, PostgresError> {
    let code: i16 = get(row, column, operation)?;
    State::from_code(code.into()).ok_or_else(|| damaged(operation, "there is no such state"))
}
