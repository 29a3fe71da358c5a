//! The pool of connections, and statements on them.

use std::{fmt, sync::Arc, time::Duration};

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use tokio::time::timeout;
use tokio_postgres::{Row, error::SqlState, types::ToSql};

use super::{Address, PostgresError, column, hosts::Hosts, tls};

/// How often a statement is sent again after the database has undone it in favour of another one.
const UNDONE_MOST: u32 = 3;

/// The options of a [`Postgres`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    /// The most connections. Of several, one is only for the heartbeat of an
    /// [`Instance`](super::Instance), so calls that use all others cannot end its lease.
    pub connections: usize,
    /// How long a statement waits for a connection of the pool. When the pool makes a new
    /// connection, each host has this limit, unless the address sets `connect_timeout`.
    pub wait: Duration,
    /// How long a statement may take. After that time the connection is closed. The statement may
    /// have taken effect.
    pub statement: Duration,
}

impl Default for PostgresOptions {
    /// 16 connections, two seconds for a connection of the pool and for each host, and five seconds
    /// for a statement.
    fn default() -> Self {
        Self {
            connections: 16,
            wait: Duration::from_secs(2),
            statement: Duration::from_secs(5),
        }
    }
}

/// A database with the pool of connections to it. Cheap to clone; clones share the pool.
#[derive(Clone)]
pub struct Postgres {
    pool: Pool,
    /// The connection for the heartbeat of an instance.
    heartbeat: Pool,
    address: Arc<Address>,
    statement: Duration,
}

impl Postgres {
    /// Makes a pool for the database at `address`. Does not connect yet.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](PostgresError::Unavailable) when the system's certificates cannot be read.
    pub fn new(address: Address, options: PostgresOptions) -> Result<Self, PostgresError> {
        let mut config = address.config().clone();
        if config.get_application_name().is_none() {
            config.application_name("svc");
        }
        let limit = *config.get_connect_timeout().unwrap_or(&options.wait);
        config.connect_timeout(limit);
        // Of several hosts, the pool uses one that accepts writes.
        config.target_session_attrs(tokio_postgres::config::TargetSessionAttrs::ReadWrite);
        config.tcp_user_timeout(options.statement);
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let tls = tls::connector()?;
        let pool_of = |connections| {
            let hosts = Hosts::new(&config, tls.clone(), limit);
            let all_hosts = hosts.all_limits();
            let manager = Manager::from_connect(config.clone(), hosts, recycling.clone());
            Pool::builder(manager)
                .max_size(connections)
                .timeouts(Timeouts {
                    wait: Some(options.wait),
                    create: Some(all_hosts),
                    recycle: Some(options.wait),
                })
                .runtime(Runtime::Tokio1)
                .build()
                .map_err(|error| PostgresError::Unavailable {
                    reason: error.to_string(),
                })
        };
        let pool = pool_of(options.connections.saturating_sub(1).max(1))?;
        let heartbeat = match options.connections {
            0 | 1 => pool.clone(),
            _ => pool_of(1)?,
        };
        Ok(Self {
            pool,
            heartbeat,
            address: Arc::new(address),
            statement: options.statement,
        })
    }

    /// Returns the address. Its printed form has no user and no password.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Refuses a database whose settings allow it to lose a commit that it reported as done. If
    /// `synchronous_standby_names` is set, `synchronous_commit` must not be `local` either: the
    /// primary would not wait for the replica that must lose nothing.
    ///
    /// # Errors
    ///
    /// [`NotDurable`](PostgresError::NotDurable), and the errors of any statement.
    pub async fn check_durability(&self) -> Result<(), PostgresError> {
        const OPERATION: &str = "check_durability";
        let sql = "SELECT current_setting('fsync'), current_setting('full_page_writes'),
                       current_setting('synchronous_commit'), current_setting('synchronous_standby_names')";
        let row = self.query_one(OPERATION, sql, &[]).await?;
        let standbys: String = column::get(&row, 3, OPERATION)?;
        let settings = ["fsync", "full_page_writes", "synchronous_commit"];
        for (index, setting) in settings.into_iter().enumerate() {
            let observed: String = column::get(&row, index, OPERATION)?;
            if observed == "off" || (observed == "local" && !standbys.is_empty()) {
                return Err(PostgresError::NotDurable { setting, observed });
            }
        }
        Ok(())
    }

    /// Reads the history of the database: its timeline. A replica that is promoted begins a new
    /// timeline, and may lack the last commits of the old one. `None` when the database does not
    /// show its timeline.
    ///
    /// # Errors
    ///
    /// The errors of any statement.
    pub async fn history(&self) -> Result<Option<String>, PostgresError> {
        const OPERATION: &str = "history";
        let sql = "SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)";
        match self.query_one(OPERATION, sql, &[]).await {
            Ok(row) => column::get(&row, 0, OPERATION).map(Some),
            Err(PostgresError::Query { sqlstate, .. }) if hides_history(sqlstate.as_deref()) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Runs one statement and returns its rows.
    ///
    /// # Errors
    ///
    /// The errors that [`PostgresError`] describes for statements.
    pub async fn query(
        &self,
        operation: &'static str,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, PostgresError> {
        let mut undone = 0;
        loop {
            let client = self.client().await?;
            let statement = async {
                let prepared = client.prepare_cached(sql).await?;
                client.query(&prepared, params).await
            };
            match timeout(self.statement, statement).await {
                Ok(Ok(rows)) => return Ok(rows),
                Ok(Err(error)) if PostgresError::is_undone(&error) && undone < UNDONE_MOST => {
                    undone += 1;
                }
                Ok(Err(error)) => return Err(PostgresError::of_statement(&error, operation)),
                Err(_elapsed) => {
                    // Nobody waits for further messages of this connection.
                    drop(Object::take(client));
                    return Err(PostgresError::Interrupted { operation });
                }
            }
        }
    }

    /// Runs one statement that returns at most one row.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query).
    pub async fn query_opt(
        &self,
        operation: &'static str,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, PostgresError> {
        Ok(self.query(operation, sql, params).await?.into_iter().next())
    }

    /// Runs one statement that must return a row, and returns that row.
    ///
    /// # Errors
    ///
    /// The same as [`query`](Self::query), and [`Damaged`](PostgresError::Damaged) when there is no
    /// row.
    pub async fn query_one(
        &self,
        operation: &'static str,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, PostgresError> {
        let row = self.query_opt(operation, sql, params).await?;
        row.ok_or_else(|| PostgresError::Damaged {
            operation,
            reason: "a row was expected".to_owned(),
        })
    }

    /// Returns the same database over the connection that is only for a heartbeat.
    pub(super) fn for_heartbeat(&self) -> Self {
        Self {
            pool: self.heartbeat.clone(),
            ..self.clone()
        }
    }

    pub(super) fn statement_time(&self) -> Duration {
        self.statement
    }

    pub(super) async fn client(&self) -> Result<Object, PostgresError> {
        let client = self.pool.get().await;
        client.map_err(|error| PostgresError::of_connection(&error))
    }
}

/// Whether an error means that the database does not show its timeline: it forbids the statement,
/// or does not know it.
fn hides_history(sqlstate: Option<&str>) -> bool {
    [
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::FEATURE_NOT_SUPPORTED,
        SqlState::UNDEFINED_FUNCTION,
    ]
    .iter()
    .any(|state| sqlstate == Some(state.code()))
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres")
            .field("address", &self.address)
            .field("pool", &self.pool.status())
            .finish_non_exhaustive()
    }
}
