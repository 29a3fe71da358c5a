//! The journal on PostgreSQL, for any number of servers.
//!
//! Every move of an entry is one statement, and so one transaction: the entry, its answer and the
//! payer's credit change together or not at all. Constraints of the tables ensure that an
//! authorization and a payment identifier have at most one entry each.
//!
//! An entry belongs to the [`Instance`] that reserved it. Each move requires, in the same
//! statement, that this instance still has its lease. When the lease has expired, other instances
//! close its entries in flight and take over its unknown entries. Any later move of the old
//! instance is refused ([`TakenOver`](LedgerError::TakenOver)).
//!
//! After a failover, a replica may lack the last commits, and may repeat numbers of entries that
//! running calls still use. No instance has a lease there. Each instance registers again, keeps the
//! entries that no other instance has taken over, and reserves entries with numbers far above the
//! repeated ones. An instance that has just started also skips numbers, because it may be the first
//! one on the replica.
//!
//! One move needs no ownership: [`settle`](crate::Journal::settle) needs a lease, but not the
//! entry. The server that has the receipt may be the only one that ever gets it.
//!
//! When a connection is lost, the outcome of its statement is unknown. A reservation then looks for
//! its own attempt. Every other move is sent again, and finds its own result if it had taken
//! effect.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64},
    },
    time::Duration,
};

use purchases::Delivered;
use storage::Migration;
use storage::postgres::{Component, Instance, Postgres, PostgresError, Row, ToSql, damaged, get};

use crate::{
    error::LedgerError,
    options::Options,
    record::{EntryRecord, Filter},
    state::{EntryId, State},
};

/// The condition, in SQL, that the instance `$1` has its lease, in the history of the database in
/// which it was registered. Every move includes it.
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
mod purchases;
mod records;
mod status;

pub(crate) use credit::paid;
pub(crate) use status::is_unsettled;

/// The ledger's tables.
pub(crate) const COMPONENT: Component = Component {
    name: "ledger",
    migrations: &[
        include_str!("postgres/schema/0001.sql"),
        include_str!("postgres/schema/0002.sql"),
    ],
};

/// The parameters of a statement.
type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A journal in a PostgreSQL database, which several servers may share.
///
/// Cheap to clone; all clones are one instance. It needs a Tokio runtime.
#[derive(Clone, Debug)]
pub struct PostgresLedger(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    postgres: Postgres,
    instance: Instance,
    /// The number of the instance under which this ledger writes. It is [`number::NONE`] before the
    /// first write.
    number: AtomicI64,
    options: Options,
    /// Reserved entries whose work has begun. Only this instance knows that, because no row has it.
    /// It does not affect the fate of an entry.
    working: Mutex<HashSet<i64>>,
    /// Deliveries that are not written yet.
    delivered: Mutex<Delivered>,
    /// The entry after which the next sweep for abandoned entries begins, and the one after which
    /// the next pruning begins.
    abandon_after: AtomicI64,
    prune_after: AtomicI64,
    /// How many batches the current run of pruning still examines.
    prune_batches: AtomicI64,
    /// How many entries so far in this round stay without end.
    prune_endless: AtomicU64,
    /// The size of the tables at the last count of open entries.
    size_bytes: AtomicU64,
}

impl PostgresLedger {
    /// Opens the ledger in a database. Checks that the database keeps its commits, migrates the
    /// tables, and registers a new instance, whose lease lasts for `lease` without a heartbeat.
    ///
    /// `options.max_bytes` has no effect, because the database's disk is the limit.
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
        // Check before the first table is created.
        postgres.check_durability().await?;
        postgres.migrate(&COMPONENT).await?;
        let instance = Instance::register(postgres.clone(), lease).await?;
        Ok(Self(Arc::new(Inner {
            postgres,
            instance,
            number: AtomicI64::new(number::NONE),
            options,
            working: Mutex::default(),
            delivered: Mutex::default(),
            abandon_after: AtomicI64::new(0),
            prune_after: AtomicI64::new(0),
            prune_batches: AtomicI64::new(0),
            prune_endless: AtomicU64::new(0),
            size_bytes: AtomicU64::new(0),
        })))
    }

    /// Returns the migrations that opening the ledger in a database would run: the one of its own
    /// tables, and the one of the table of instances. Writes nothing.
    ///
    /// # Errors
    ///
    /// The same as [`Postgres::pending`].
    pub async fn pending(postgres: &Postgres) -> Result<[Migration; 2], PostgresError> {
        let ledger = postgres.pending(&COMPONENT).await?;
        Ok([ledger, Instance::pending(postgres).await?])
    }

    /// Lists entries, as [`AnyLedger::entries`](crate::AnyLedger::entries). Writes nothing, and
    /// needs no lease.
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

    /// Replaces a stored state by [`State::Working`] when this instance knows that the work has
    /// begun.
    fn with_note(&self, entry: EntryId, state: State) -> State {
        match state {
            State::Reserved if self.working().contains(&entry.number()) => State::Working,
            state => state,
        }
    }
}

/// Returns the stored number of a state.
fn code(state: State) -> i16 {
    i16::try_from(state.code()).unwrap_or_default()
}

fn state(row: &Row, column: usize, operation: &'static str) -> Result<State, PostgresError> {
    let code: i16 = get(row, column, operation)?;
    State::from_code(code.into()).ok_or_else(|| damaged(operation, "there is no such state"))
}
