//! Migrations. They bring the tables of each component to the newest version.

use tokio_postgres::{Client, GenericClient};

use super::{Postgres, PostgresError};
use crate::{Migration, Tables};

/// The lock that every migration takes, so that instances that start at the same time wait for each
/// other.
const MIGRATION_LOCK: i64 = 0x7376_635f_6d69_6772;

const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS schema_version (
    component text PRIMARY KEY,
    version integer NOT NULL
)";

/// The tables of one component of this program.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// The name of the component, in the table of versions and in errors.
    pub name: &'static str,
    /// The SQL scripts, in their order. The first script starts from nothing. A published script
    /// never changes.
    pub migrations: &'static [&'static str],
}

impl Component {
    fn newest(&self) -> u32 {
        u32::try_from(self.migrations.len()).unwrap_or(u32::MAX)
    }

    fn checked(&self, observed: u32) -> Result<Migration, PostgresError> {
        let expected = self.newest();
        if observed > expected {
            return Err(PostgresError::NewerSchema {
                component: self.name,
                expected,
                observed,
            });
        }
        Ok(Migration {
            tables: Tables::Component(self.name),
            from: observed,
            to: expected,
        })
    }
}

impl Postgres {
    /// Brings a component's tables to the newest version, in one transaction and under a lock. When
    /// several instances start at the same time, one migrates and the others wait.
    ///
    /// # Errors
    ///
    /// [`NewerSchema`](PostgresError::NewerSchema), and the errors of any statement.
    pub async fn migrate(&self, component: &Component) -> Result<Migration, PostgresError> {
        let mut client = self.client().await?;
        let work = async {
            let transaction = client.transaction().await?;
            transaction
                .execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK])
                .await?;
            transaction.batch_execute(VERSIONS).await?;
            let migration = match component.checked(version(&*transaction, component).await?) {
                Ok(migration) => migration,
                Err(error) => return Ok(Err(error)),
            };
            let done = usize::try_from(migration.from).unwrap_or(usize::MAX);
            for script in component.migrations.iter().skip(done) {
                transaction.batch_execute(script).await?;
            }
            if migration.from < migration.to {
                let newest = i32::try_from(migration.to).unwrap_or(i32::MAX);
                transaction
                    .execute(
                        "INSERT INTO schema_version (component, version) VALUES ($1, $2)
                         ON CONFLICT (component) DO UPDATE SET version = excluded.version",
                        &[&component.name, &newest],
                    )
                    .await?;
            }
            transaction.commit().await?;
            Ok(Ok(migration))
        };
        work.await
            .unwrap_or_else(|error| Err(PostgresError::of_statement(&error, "migrate")))
    }

    /// Returns the migration that [`migrate`](Self::migrate) would run. Writes nothing.
    ///
    /// # Errors
    ///
    /// The same as [`migrate`](Self::migrate).
    pub async fn pending(&self, component: &Component) -> Result<Migration, PostgresError> {
        let client = self.client().await?;
        let work = async {
            let exists = client
                .query_one("SELECT to_regclass('schema_version') IS NOT NULL", &[])
                .await?
                .try_get::<_, bool>(0)?;
            let client: &Client = &client;
            match exists {
                true => version(client, component).await,
                false => Ok(0),
            }
        };
        let version = work
            .await
            .map_err(|error| PostgresError::of_statement(&error, "pending migrations"))?;
        component.checked(version)
    }
}

async fn version(
    client: &impl GenericClient,
    component: &Component,
) -> Result<u32, tokio_postgres::Error> {
    let row = client
        .query_opt(
            "SELECT version FROM schema_version WHERE component = $1",
            &[&component.name],
        )
        .await?;
    let version: i32 = match row {
        Some(row) => row.try_get(0)?,
        None => 0,
    };
    Ok(u32::try_from(version).unwrap_or_default())
}
