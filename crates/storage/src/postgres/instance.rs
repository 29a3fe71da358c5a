//! An instance of a server, and its lease.
//!
//! Everything that an instance holds carries the number of the instance. Others may take it over
//! only when the lease has expired. An instance never writes under an expired number again: each of
//! its writes checks the lease in the same statement. Only the clock of the database decides about
//! leases, so the clocks of instances need not agree.
//!
//! A replica that takes over may lack the last commits. It may lack rows that an instance
//! remembers, and its sequences may repeat numbers. So an instance belongs to one history of the
//! database: after a promotion no instance has a lease, and each registers anew. The number of an
//! instance is random, so that no other instance ever has the same one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, task::AbortHandle, time::MissedTickBehavior};

use super::{Component, Postgres, PostgresError};
use crate::Migration;

const COMPONENT: Component = Component {
    name: "instance",
    migrations: &[
        include_str!("instance/0001.sql"),
        include_str!("instance/0002.sql"),
    ],
};

/// How many heartbeats fall into the time of a lease. The last one comes when the lease expires. Of
/// the three before it, two may fail.
const BEATS_OF_A_LEASE: u32 = 4;

/// How long the database remembers an expired instance. This is longer than any of its entries
/// waits for a sweep.
const REMEMBERED: &str = "30 days";

/// This registered instance. Its heartbeat runs as long as a handle exists.
///
/// When an instance finds its lease expired, it registers anew under another number. Its earlier
/// entries belong to the instance that has taken them over.
#[derive(Debug, Clone)]
pub struct Instance(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    postgres: Postgres,
    id: Arc<AtomicI64>,
    look: Arc<Notify>,
    heartbeat: AbortHandle,
}

impl Instance {
    /// Returns the migration that [`register`](Self::register) would run. Writes nothing.
    ///
    /// # Errors
    ///
    /// The same as [`Postgres::pending`].
    pub async fn pending(postgres: &Postgres) -> Result<Migration, PostgresError> {
        postgres.pending(&COMPONENT).await
    }

    /// Migrates the table of instances, registers a new instance, and starts its heartbeat.
    ///
    /// # Errors
    ///
    /// [`NotDurable`](PostgresError::NotDurable) when the database could lose a commit, and every
    /// other [`PostgresError`].
    pub async fn register(postgres: Postgres, lease: Duration) -> Result<Self, PostgresError> {
        postgres.migrate(&COMPONENT).await?;
        let id = Arc::new(AtomicI64::new(new_number(&postgres, lease).await?));
        let look = Arc::new(Notify::new());
        let heartbeat = {
            let (id, look) = (Arc::clone(&id), Arc::clone(&look));
            let postgres = postgres.for_heartbeat();
            tokio::spawn(async move { heartbeat(&postgres, &id, &look, lease).await })
                .abort_handle()
        };
        Ok(Self(Arc::new(Inner {
            postgres,
            id,
            look,
            heartbeat,
        })))
    }

    /// Returns the number under which this instance holds entries now.
    #[must_use]
    pub fn id(&self) -> i64 {
        self.0.id.load(Ordering::Acquire)
    }

    /// Renews the lease at once. The caller asks for it after a write that was refused without a
    /// lease.
    pub fn look_after(&self) {
        self.0.look.notify_one();
    }

    /// Gives the lease up, so that other instances need not wait until it ends. A server calls this
    /// after its last write when it shuts down.
    ///
    /// # Errors
    ///
    /// A [`PostgresError`]. The lease then expires by itself.
    pub async fn give_up(&self) -> Result<(), PostgresError> {
        self.0.heartbeat.abort();
        let sql = "UPDATE instance SET lease_until = clock_timestamp() WHERE id = $1";
        let id = self.id();
        self.0
            .postgres
            .query("give_up", sql, &[&id])
            .await
            .map(drop)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.heartbeat.abort();
    }
}

async fn heartbeat(postgres: &Postgres, id: &AtomicI64, look: &Notify, lease: Duration) {
    let every = lease.checked_div(BEATS_OF_A_LEASE).unwrap_or(lease);
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = look.notified() => {}
        }
        let number = id.load(Ordering::Acquire);
        match renew(postgres, number, lease).await {
            Ok(true) => {}
            Ok(false) => match new_number(postgres, lease).await {
                Ok(new) => {
                    id.store(new, Ordering::Release);
                    tracing::warn!(
                        lost = number,
                        instance = new,
                        "this instance had lost its lease and goes on under a new number"
                    );
                }
                Err(error) => tracing::error!(
                    code = error.code(),
                    %error,
                    "this instance cannot register anew, and writes nothing meanwhile"
                ),
            },
            Err(error) => tracing::warn!(%error, "this instance cannot renew its lease"),
        }
    }
}

/// Renews a lease that has not expired, if the history of the database is still the lease's own.
/// Returns whether it was renewed.
async fn renew(postgres: &Postgres, id: i64, lease: Duration) -> Result<bool, PostgresError> {
    let sql = "UPDATE instance SET lease_until = clock_timestamp() + $2::bigint * interval '1 millisecond'
               WHERE id = $1 AND lease_until > clock_timestamp() AND history = instance_history()
               RETURNING id";
    let renewed = postgres
        .query_opt("renew_lease", sql, &[&id, &milliseconds(lease)])
        .await?;
    Ok(renewed.is_some())
}

/// Registers under a new number. Refuses a database that could lose a commit, because the database
/// may have the settings of another server after a failover.
async fn new_number(postgres: &Postgres, lease: Duration) -> Result<i64, PostgresError> {
    postgres.check_durability().await?;
    let sql = format!(
        "WITH forgotten AS (
             DELETE FROM instance WHERE lease_until < clock_timestamp() - interval '{REMEMBERED}'
         )
         INSERT INTO instance (id, lease_until)
         VALUES ($1, clock_timestamp() + $2::bigint * interval '1 millisecond')"
    );
    let id = random()?;
    postgres
        .query("register", &sql, &[&id, &milliseconds(lease)])
        .await?;
    Ok(id)
}

/// Draws a random number that is not negative.
fn random() -> Result<i64, PostgresError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| PostgresError::Unavailable {
        reason: format!("the system gives no random bytes: {error}"),
    })?;
    Ok(i64::from_le_bytes(bytes) & i64::MAX)
}

fn milliseconds(lease: Duration) -> i64 {
    i64::try_from(lease.as_millis()).unwrap_or(i64::MAX)
}
