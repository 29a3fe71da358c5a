//! The PostgreSQL database of a measurement: its schemas, and the processor time and log that its
//! server has used.
//!
//! The database runs on this machine, because its processes are read from the process table. The
//! measurement's own schemas are deleted at the end.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use postgres_cluster::Cluster;
use storage::postgres::{Postgres, PostgresOptions, get};

use crate::BenchError;
use crate::measure::Quantity;
use crate::process::{children, times};

/// The reason why there is no database.
pub const NONE: &str = "PostgreSQL is not installed here, and --database names none";

/// How long a statement that fills a table may take.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// A database on this machine, so that the processor time of its server can be read.
#[derive(Debug)]
pub struct Database {
    url: String,
    postgres: Postgres,
    /// The process that has started all processes of the server.
    postmaster: u32,
    schemas: Mutex<Vec<String>>,
    /// The throw-away cluster, which ends with the measurement.
    _cluster: Option<Cluster>,
}

/// The use by the server's processes up to some time.
#[derive(Debug)]
pub struct Reading {
    processes: BTreeMap<u32, Quantity>,
    /// The use of the first process, with its children that have ended.
    postmaster: Quantity,
    log_bytes: Quantity,
}

/// The use by the server's processes since a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// Processor time of the processes that run the statements of clients, in nanoseconds.
    pub statements: Quantity,
    /// Processor time of all other processes: writers, vacuum, and the first process.
    pub background: Quantity,
    /// Bytes of the write-ahead log.
    pub log_bytes: Quantity,
}

impl Database {
    /// The database at a URL, or one of a throw-away cluster; `None` when there is neither.
    ///
    /// # Errors
    /// When the cluster does not start, or the database cannot be reached or runs on another
    /// machine.
    pub async fn open(url: Option<&str>) -> Result<Option<Self>, BenchError> {
        let (url, cluster) = match url {
            Some(url) => (url.to_owned(), None),
            None if !Cluster::is_installed() => return Ok(None),
            None => {
                let cluster = Cluster::start()?;
                (cluster.url(), Some(cluster))
            }
        };
        let postgres = connect(&url)?;
        let row = postgres.query_one("backend", "SELECT pg_backend_pid()", &[]);
        let backend: i32 = get(&row.await?, 0, "backend")?;
        let backend = u32::try_from(backend).unwrap_or_default();
        let elsewhere = |_| BenchError::RemoteDatabase;
        let postmaster = times(backend).map_err(elsewhere)?.parent;
        Ok(Some(Self {
            url,
            postgres,
            postmaster,
            schemas: Mutex::default(),
            _cluster: cluster,
        }))
    }

    /// The URL of a new, empty schema.
    ///
    /// # Errors
    /// When it cannot be created.
    pub async fn schema(&self, name: &str) -> Result<String, BenchError> {
        let schema = format!("bench_{}_{name}", std::process::id());
        self.run(&format!("CREATE SCHEMA {schema}")).await?;
        let url = within(&self.url, &schema);
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        schemas.push(schema);
        Ok(url)
    }

    /// Runs statements within a schema that [`schema`](Self::schema) has created, one after the
    /// other.
    ///
    /// # Errors
    /// When one fails.
    pub async fn run_in(&self, schema: &str, statements: &[&str]) -> Result<(), BenchError> {
        let postgres = connect(schema)?;
        for statement in statements {
            postgres.query("fill", statement, &[]).await?;
        }
        Ok(())
    }

    /// Writes all changed pages, so that every load begins in the same state. Does nothing when the
    /// database's user has no right to do that.
    pub async fn checkpoint(&self) {
        let _ = self.run("CHECKPOINT").await;
    }

    /// Reads the use by the server's processes so far.
    ///
    /// # Errors
    /// When the server has ended.
    pub async fn reading(&self) -> Result<Reading, BenchError> {
        let sql = "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint";
        let row = self.postgres.query_one("log", sql, &[]).await?;
        let log_bytes = u64::try_from(get::<i64>(&row, 0, "log")?).unwrap_or_default();
        let processes = children(self.postmaster)?;
        let postmaster = times(self.postmaster)?;
        Ok(Reading {
            processes: processes
                .into_iter()
                .map(|(process, times)| (process, times.own))
                .collect(),
            postmaster: postmaster.own.saturating_add(postmaster.of_ended_children),
            log_bytes,
        })
    }

    /// Computes the use by the server's processes since a reading.
    ///
    /// # Errors
    /// When the server has ended.
    pub async fn used_since(&self, before: &Reading) -> Result<Used, BenchError> {
        let after = self.reading().await?;
        let sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'";
        let mut clients = Vec::new();
        for row in self.postgres.query("clients", sql, &[]).await? {
            clients.push(u32::try_from(get::<i32>(&row, 0, "clients")?).unwrap_or_default());
        }
        Ok(before.until(&after, &clients))
    }

    /// Deletes the schemas of the measurement.
    ///
    /// # Errors
    /// When that fails.
    pub async fn close(self) -> Result<(), BenchError> {
        let schemas =
            std::mem::take(&mut *self.schemas.lock().unwrap_or_else(PoisonError::into_inner));
        for schema in schemas {
            self.run(&format!("DROP SCHEMA {schema} CASCADE")).await?;
        }
        Ok(())
    }

    async fn run(&self, statement: &str) -> Result<(), BenchError> {
        self.postgres.query("statement", statement, &[]).await?;
        Ok(())
    }
}

impl Reading {
    fn until(&self, after: &Self, clients: &[u32]) -> Used {
        let (mut statements, mut background) =
            (0_u64, after.postmaster.saturating_sub(self.postmaster));
        for (process, used) in &after.processes {
            let before = self.processes.get(process).copied().unwrap_or_default();
            let sum = match clients.contains(process) {
                true => &mut statements,
                false => &mut background,
            };
            *sum = sum.saturating_add(used.saturating_sub(before));
        }
        Used {
            statements,
            background,
            log_bytes: after.log_bytes.saturating_sub(self.log_bytes),
        }
    }
}

impl Used {
    /// All processor time, in nanoseconds.
    pub fn cpu(&self) -> Quantity {
        self.statements.saturating_add(self.background)
    }
}

/// One connection, whose statements may take long.
fn connect(url: &str) -> Result<Postgres, BenchError> {
    let options = PostgresOptions {
        connections: 1,
        wait: Duration::from_secs(10),
        statement: PATIENCE,
    };
    Ok(Postgres::new(url.parse()?, options)?)
}

/// The URL with a schema in which tables are looked for and created.
fn within(url: &str, schema: &str) -> String {
    let joined = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joined}options=-csearch_path%3D{schema}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_named_beside_other_options() {
        let plain = within("postgres://svc@127.0.0.1:1/db", "one");
        assert_eq!(
            plain,
            "postgres://svc@127.0.0.1:1/db?options=-csearch_path%3Done"
        );
        let with_option = within("postgres://db/db?sslmode=require", "two");
        assert!(with_option.ends_with("?sslmode=require&options=-csearch_path%3Dtwo"));
    }

    #[test]
    fn use_is_split_by_process_and_includes_processes_that_begin_and_end() {
        let reading = |processes: &[(u32, u64)], postmaster, log_bytes| Reading {
            processes: processes.iter().copied().collect(),
            postmaster,
            log_bytes,
        };
        let before = reading(&[(7, 100), (8, 50), (9, 30)], 1_000, 40);
        // 9 has ended: its time is the postmaster's. 10 is a new client.
        let after = reading(&[(7, 160), (8, 55), (10, 20)], 1_032, 140);
        let used = before.until(&after, &[7, 10]);
        assert_eq!((used.statements, used.background), (80, 37));
        assert_eq!((used.cpu(), used.log_bytes), (117, 100));
    }
}
