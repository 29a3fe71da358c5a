//! Transactions: changes that need several statements.

use std::{
    hash::{BuildHasher as _, RandomState},
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use deadpool_postgres::Object;
use tokio::time::{sleep, timeout};
use tokio_postgres::{IsolationLevel, Row, types::ToSql};

use super::{Postgres, PostgresError};

/// How often a transaction runs again after the database has undone it in favour of another one.
const UNDONE_MOST: u32 = 20;

/// The pending result of the work in a transaction.
pub type Work<'t, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 't>>;

/// A running transaction.
///
/// A transaction with a failed statement is never committed. The database would answer the `COMMIT`
/// with a rollback, and the driver would report success.
#[derive(Debug)]
pub struct Transaction<'c> {
    inner: deadpool_postgres::Transaction<'c>,
    operation: &'static str,
    failed: AtomicBool,
    undone: AtomicBool,
}

impl Transaction<'_> {
    /// Runs a statement and returns its rows.
    ///
    /// # Errors
    ///
    /// The errors that [`PostgresError`] describes for statements.
    pub async fn query(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, PostgresError> {
        let statement = async {
            let prepared = self.inner.prepare_cached(sql).await?;
            self.inner.query(&prepared, params).await
        };
        statement.await.map_err(|error| {
            self.failed.store(true, Ordering::Relaxed);
            if PostgresError::is_undone(&error) {
                self.undone.store(true, Ordering::Relaxed);
            }
            PostgresError::of_statement(&error, self.operation)
        })
    }

    /// Runs a statement that returns at most one row.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    pub async fn query_opt(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, PostgresError> {
        Ok(self.query(sql, params).await?.into_iter().next())
    }
}

/// How one run of a transaction ended.
enum Ended<T, E> {
    Done(T),
    Refused(E),
    Undone,
}

impl Postgres {
    /// Runs `work` in a serializable transaction, as if no other transaction ran at the same time.
    /// Commits when `work` returns `Ok`; otherwise undoes everything. When the database undoes it
    /// in favour of another transaction, `work` runs again. So `work` must change nothing except
    /// the database.
    ///
    /// # Errors
    ///
    /// The error of `work`, and every [`PostgresError`] of a statement.
    /// [`Interrupted`](PostgresError::Interrupted) when the connection is lost during the commit.
    pub async fn transaction<T, E, W>(&self, operation: &'static str, work: W) -> Result<T, E>
    where
        E: From<PostgresError>,
        W: for<'t> Fn(&'t Transaction<'_>) -> Work<'t, T, E>,
    {
        let mut undone = 0;
        loop {
            let mut client = self.client().await?;
            let once = run_once(&mut client, operation, self.statement_time(), &work);
            match timeout(self.statement_time(), once).await {
                Ok(Ok(Ended::Done(value))) => return Ok(value),
                Ok(Ok(Ended::Refused(error))) => return Err(error),
                Ok(Ok(Ended::Undone)) if undone < UNDONE_MOST => undone += 1,
                Ok(Ok(Ended::Undone)) => {
                    return Err(PostgresError::Query {
                        operation,
                        sqlstate: Some("40001".to_owned()),
                    }
                    .into());
                }
                Ok(Err(error)) => return Err(error.into()),
                Err(_elapsed) => {
                    // Nobody waits for further messages of this connection.
                    drop(Object::take(client));
                    return Err(PostgresError::Interrupted { operation }.into());
                }
            }
            drop(client);
            // The other transaction may still be on its way to the disk. It undoes every run until
            // it is there.
            sleep(pause_after(undone)).await;
        }
    }
}

/// Returns the pause before the next run. It is at most one millisecond at first, twice as much
/// each time, and at most 64. It is random, so that transactions that have collided do not collide
/// again.
fn pause_after(undone: u32) -> Duration {
    let most = 1000_u64 << undone.saturating_sub(1).min(6);
    let random = RandomState::new().hash_one(undone);
    Duration::from_micros(most / 2 + random % (most / 2))
}

async fn run_once<T, E, W>(
    client: &mut Object,
    operation: &'static str,
    most: Duration,
    work: &W,
) -> Result<Ended<T, E>, PostgresError>
where
    W: for<'t> Fn(&'t Transaction<'_>) -> Work<'t, T, E>,
{
    let begun = client
        .build_transaction()
        .isolation_level(IsolationLevel::Serializable)
        .start()
        .await;
    let transaction = Transaction {
        inner: begun.map_err(|error| PostgresError::of_statement(&error, operation))?,
        operation,
        failed: AtomicBool::new(false),
        undone: AtomicBool::new(false),
    };
    // A suspended process would otherwise keep its locks, and other servers would wait for them,
    // for as long as its connection exists.
    let idle = format!(
        "SET LOCAL idle_in_transaction_session_timeout = {}",
        most.as_millis()
    );
    let limited = transaction.inner.batch_execute(&idle).await;
    limited.map_err(|error| PostgresError::of_statement(&error, operation))?;
    let outcome = work(&transaction).await;
    if transaction.undone.load(Ordering::Relaxed) {
        return Ok(Ended::Undone);
    }
    let failed = transaction.failed.load(Ordering::Relaxed);
    match outcome {
        Err(error) => Ok(Ended::Refused(error)),
        Ok(_) if failed => Err(PostgresError::Query {
            operation,
            sqlstate: None,
        }),
        Ok(value) => match transaction.inner.commit().await {
            Ok(()) => Ok(Ended::Done(value)),
            Err(error) if PostgresError::is_undone(&error) => Ok(Ended::Undone),
            Err(error) => Err(PostgresError::of_statement(&error, operation)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_bound_and_differ() {
        for (undone, least, most) in [(1, 500, 1_000), (4, 4_000, 8_000), (20, 32_000, 64_000)] {
            let pause = pause_after(undone);
            assert!(pause >= Duration::from_micros(least), "{pause:?}");
            assert!(pause < Duration::from_micros(most), "{pause:?}");
        }
        let pauses: std::collections::HashSet<Duration> = (0..8).map(|_| pause_after(9)).collect();
        assert!(pauses.len() > 1);
    }
}
