//! The store of a schedule's processes: a journal that one process uses at a time, or a database
//! that several share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use data_sources::Clock as _;
use ledger::Journal;

use super::world::VirtualClock;
use crate::payment::tests::model_journal::ModelJournal;

/// How long a lease lasts without a heartbeat, in seconds.
pub(super) const LEASE_SECONDS: u64 = 15;

/// The store that processes open at their start.
pub(super) trait Store: Send + Sync + 'static {
    /// The journal of one process.
    type Journal: Journal;
    /// The membership of a process in the store.
    type Member: Send + Sync + 'static;

    /// Adds a process.
    fn join(&self) -> Self::Member;

    /// Returns the journal that a process uses now.
    fn journal(&self, member: &Self::Member) -> Arc<Self::Journal>;

    /// Renews the lease of a process. Returns whether the lease had expired and the process
    /// continues as another instance.
    fn beat(&self, _member: &Self::Member) -> bool {
        false
    }

    /// Removes a process, which writes nothing from now on.
    fn leave(&self, _member: &Self::Member) {}

    /// Returns a journal for reading outside of every process.
    fn reader(&self) -> Arc<Self::Journal>;
}

/// A journal without leases, for one process at a time.
pub(super) struct Alone<J>(pub(super) Arc<J>);

impl<J: Journal> Store for Alone<J> {
    type Journal = J;
    type Member = ();

    fn join(&self) {}

    fn journal(&self, (): &()) -> Arc<J> {
        Arc::clone(&self.0)
    }

    fn reader(&self) -> Arc<J> {
        Arc::clone(&self.0)
    }
}

/// A database with a lease for each instance of a server.
pub(super) trait Database: Send + Sync + 'static {
    type Journal: Journal;

    /// Registers an instance.
    fn register(&self) -> (i64, Self::Journal);

    /// Gives an instance whose lease has expired a new number. It keeps the entries that no other
    /// instance has taken over.
    fn go_on(&self, instance: i64, journal: &Self::Journal) -> i64;

    /// Ends the leases of these instances.
    fn expire(&self, instances: &[i64]);
}

/// A database and its leases, which follow the time of the schedule: for any database, the seed
/// decides which write comes too late.
pub(super) struct Shared<D: Database> {
    database: D,
    clock: Arc<VirtualClock>,
    /// The end of each instance's lease, in milliseconds.
    leases: Mutex<BTreeMap<i64, i64>>,
    reader: Arc<D::Journal>,
}

/// The number of an instance, and its journal. The number changes after its lease has expired.
pub(super) struct Member<J>(Mutex<(i64, Arc<J>)>);

impl<J> Member<J> {
    fn now(&self) -> MutexGuard<'_, (i64, Arc<J>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Database> Shared<D> {
    pub(super) fn new(database: D, clock: Arc<VirtualClock>) -> Self {
        Self {
            reader: Arc::new(database.register().1),
            database,
            clock,
            leases: Mutex::default(),
        }
    }

    /// The leases that are valid now. Removes those that have ended.
    fn leases(&self) -> MutexGuard<'_, BTreeMap<i64, i64>> {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now_ms();
        let ended = leases.iter().filter(|(_, until)| **until <= now);
        let ended: Vec<i64> = ended.map(|(instance, _)| *instance).collect();
        if !ended.is_empty() {
            leases.retain(|instance, _| !ended.contains(instance));
            self.database.expire(&ended);
        }
        leases
    }

    fn now_ms(&self) -> i64 {
        self.clock.now().as_millisecond()
    }

    fn register(&self, leases: &mut BTreeMap<i64, i64>) -> (i64, Arc<D::Journal>) {
        let (instance, journal) = self.database.register();
        leases.insert(instance, self.lease_end());
        (instance, Arc::new(journal))
    }

    fn lease_end(&self) -> i64 {
        self.now_ms() + i64::try_from(LEASE_SECONDS * 1000).unwrap()
    }
}

impl<D: Database> Store for Shared<D> {
    type Journal = D::Journal;
    type Member = Member<D::Journal>;

    fn join(&self) -> Self::Member {
        Member(Mutex::new(self.register(&mut self.leases())))
    }

    fn journal(&self, member: &Self::Member) -> Arc<D::Journal> {
        drop(self.leases());
        Arc::clone(&member.now().1)
    }

    fn beat(&self, member: &Self::Member) -> bool {
        let (mut leases, mut member) = (self.leases(), member.now());
        if let Some(until) = leases.get_mut(&member.0) {
            *until = self.lease_end();
            return false;
        }
        member.0 = self.database.go_on(member.0, &member.1);
        leases.insert(member.0, self.lease_end());
        true
    }

    fn leave(&self, member: &Self::Member) {
        let (mut leases, member) = (self.leases(), member.now());
        leases.remove(&member.0);
        self.database.expire(&[member.0]);
    }

    fn reader(&self) -> Arc<D::Journal> {
        Arc::clone(&self.reader)
    }
}

/// The model of a database that several servers share.
pub(super) struct ModelDatabase {
    journal: ModelJournal,
    instances: Mutex<i64>,
}

impl ModelDatabase {
    pub(super) fn new(journal: ModelJournal) -> Self {
        Self {
            journal,
            instances: Mutex::new(0),
        }
    }

    fn next_number(&self) -> i64 {
        let mut instances = self.instances.lock().unwrap();
        *instances += 1;
        *instances
    }
}

impl Database for ModelDatabase {
    type Journal = ModelJournal;

    fn register(&self) -> (i64, ModelJournal) {
        let number = self.next_number();
        (number, self.journal.of_instance(number))
    }

    fn go_on(&self, _instance: i64, journal: &ModelJournal) -> i64 {
        let number = self.next_number();
        journal.go_on_as(number);
        number
    }

    fn expire(&self, instances: &[i64]) {
        self.journal.expire(instances);
    }
}
