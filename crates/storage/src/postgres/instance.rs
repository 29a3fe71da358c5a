//! An instance of a server, and the lease that says whether it lives.
//!
//! What an instance holds carries its number. Only an instance whose lease has expired loses what
//! it holds to others, and it never writes again under that number: each of its writes asks for the
//! lease in the same statement. The clock of leases is the database's, so that clocks of instances
//! need not agree.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use tokio::{task::AbortHandle, time::MissedTickBehavior};

use super::{Component, Postgres, PostgresError, get};

const COMPONENT: Component = Component {
    name: "instance",
    migrations: &[include_str!("instance/0001.sql")],
};

/// Parts of a lease between two heartbeats: two may fail before it expires.
const BEATS_OF_A_LEASE: u32 = 3;

/// For how long an expired instance is remembered: longer than anything waits for a look at it.
const REMEMBERED: &str = "30 days";

/// This instance, registered. Its heartbeat runs as long as a handle exists.
///
/// An instance that finds its lease expired registers anew, under another number: what it held
/// before belongs to whoever has taken it over.
#[derive(Debug, Clone)]
pub struct Instance(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    postgres: Postgres,
    id: Arc<AtomicI64>,
    heartbeat: AbortHandle,
}

impl Instance {
    /// Brings the table of instances up, registers a new instance, and starts its heartbeat.
    ///
    /// # Errors
    ///
    /// A [`PostgresError`].
    pub async fn register(postgres: Postgres, lease: Duration) -> Result<Self, PostgresError> {
        postgres.migrate(&COMPONENT).await?;
        let id = Arc::new(AtomicI64::new(new_number(&postgres, lease).await?));
        let heartbeat = {
            let (postgres, id) = (postgres.clone(), Arc::clone(&id));
            tokio::spawn(async move { heartbeat(&postgres, &id, lease).await }).abort_handle()
        };
        Ok(Self(Arc::new(Inner {
            postgres,
            id,
            heartbeat,
        })))
    }

    /// The number under which this instance holds things at this time.
    #[must_use]
    pub fn id(&self) -> i64 {
        self.0.id.load(Ordering::Acquire)
    }

    /// Gives the lease up, so that others need not wait for its end. For a server that shuts down,
    /// after its last write.
    ///
    /// # Errors
    ///
    /// A [`PostgresError`]; the lease then expires by itself.
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

async fn heartbeat(postgres: &Postgres, id: &AtomicI64, lease: Duration) {
    let every = lease.checked_div(BEATS_OF_A_LEASE).unwrap_or(lease);
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        ticks.tick().await;
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
                Err(error) => tracing::warn!(%error, "this instance cannot register anew"),
            },
            Err(error) => tracing::warn!(%error, "this instance cannot renew its lease"),
        }
    }
}

/// Renews a lease that has not expired; whether it was renewed.
async fn renew(postgres: &Postgres, id: i64, lease: Duration) -> Result<bool, PostgresError> {
    let sql = "UPDATE instance SET lease_until = clock_timestamp() + $2::bigint * interval '1 millisecond'
               WHERE id = $1 AND lease_until > clock_timestamp() RETURNING id";
    let renewed = postgres
        .query_opt("renew_lease", sql, &[&id, &milliseconds(lease)])
        .await?;
    Ok(renewed.is_some())
}

async fn new_number(postgres: &Postgres, lease: Duration) -> Result<i64, PostgresError> {
    let sql = format!(
        "WITH forgotten AS (
             DELETE FROM instance WHERE lease_until < clock_timestamp() - interval '{REMEMBERED}'
         )
         INSERT INTO instance (lease_until)
         VALUES (clock_timestamp() + $1::bigint * interval '1 millisecond') RETURNING id"
    );
    let row = postgres
        .query_one("register", &sql, &[&milliseconds(lease)])
        .await?;
    get(&row, 0, "register")
}

fn milliseconds(lease: Duration) -> i64 {
    i64::try_from(lease.as_millis()).unwrap_or(i64::MAX)
}
