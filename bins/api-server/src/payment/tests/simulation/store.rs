//! Where the processes of a schedule keep their payments: a journal that one process uses at a
//! time, or a database that several share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use data_sources::Clock as _;
use ledger::Journal;

use super::world::VirtualClock;
use crate::payment::tests::model_journal::ModelJournal;

/// How long a lease lasts without a heartbeat, in seconds.
pub(super) const LEASE_SECONDS: u64 = 15;

/// What processes open at their start.
pub(super) trait Store: Send + Sync + 'static {
    /// The journal of one process.
    type Journal: Journal;
    /// What the store knows a process by.
    type Member: Send + Sync + 'static;

    /// A process starts.
    fn join(&self) -> Self::Member;

    /// The journal that a process uses at this time.
    fn journal(&self, member: &Self::Member) -> Arc<Self::Journal>;

    /// A process renews its lease. Returns whether it had expired, and the process goes on as
    /// another instance.
    fn beat(&self, _member: &Self::Member) -> bool {
        false
    }

    /// A process has written its last.
    fn leave(&self, _member: &Self::Member) {}

    /// A journal to read from, outside of every process.
    fn reader(&self) -> Arc<Self::Journal>;
}

/// A journal without leases: whoever opens it is alone.
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

    /// An instance whose lease has expired goes on under a new number. It takes along what nobody
    /// has taken over.
    fn go_on(&self, instance: i64, journal: &Self::Journal) -> i64;

    /// The leases of these instances have expired.
    fn expire(&self, instances: &[i64]);
}

/// A database and its leases, which last by the time of the schedule: whatever the database is, a
/// seed decides which write comes too late.
pub(super) struct Shared<D: Database> {
    database: D,
    clock: Arc<VirtualClock>,
    /// Until when each instance has its lease, in milliseconds.
    leases: Mutex<BTreeMap<i64, i64>>,
    reader: Arc<D::Journal>,
}

/// The number of an instance, and its journal. It has another number after its lease has expired.
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

    /// The leases that last at this time. Those that have ended are taken away first.
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
