//! A schema for each test, in the database whose address is in `TEST_POSTGRES_URL`.

use std::env;
use std::hash::{BuildHasher as _, RandomState};
use std::net::SocketAddr;

use storage::postgres::{Postgres, PostgresError, PostgresOptions};

use crate::wait;

pub use postgres_cluster::Cluster;

/// The variable with the address of the database.
const DATABASE: &str = "TEST_POSTGRES_URL";

/// The statement that copies every table of the schema.
const KEEP: &str = "DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
        EXECUTE format('CREATE TABLE %I AS TABLE %I', 'kept_' || name, name);
    END LOOP;
END $$";

/// The statement that resets every table to its copy. It disables triggers that would forbid it.
const LOSE: &str = "DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT substr(tablename, 6) FROM pg_tables
                WHERE schemaname = current_schema() AND starts_with(tablename::text, 'kept_') LOOP
        EXECUTE format('ALTER TABLE %I DISABLE TRIGGER USER', name);
        EXECUTE format('DELETE FROM %I', name);
        EXECUTE format('INSERT INTO %I OVERRIDING SYSTEM VALUE TABLE %I', name, 'kept_' || name);
        EXECUTE format('ALTER TABLE %I ENABLE TRIGGER USER', name);
    END LOOP;
END $$";

/// A schema of the database, empty at first. Dropping the value drops the schema with its content.
#[derive(Debug)]
pub struct Schema {
    name: String,
    database: String,
    url: String,
}

impl Schema {
    /// Creates a schema. `None` without a database; the test then has nothing to do.
    ///
    /// # Panics
    /// When the schema cannot be created.
    #[must_use]
    pub fn new() -> Option<Self> {
        env::var(DATABASE).ok().map(|database| Self::of(&database))
    }

    /// Creates a schema in the database at an address.
    ///
    /// # Panics
    /// When the schema cannot be created.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a test says what it needs by panicking")]
    pub fn of(database: &str) -> Self {
        let name = format!("test_{:016x}", RandomState::new().hash_one(0));
        let separator = if database.contains('?') { '&' } else { '?' };
        let schema = Self {
            url: format!("{database}{separator}options=-csearch_path%3D{name}"),
            database: database.to_owned(),
            name,
        };
        let made = schema.run(&format!("CREATE SCHEMA {}", schema.name));
        made.expect("a schema");
        schema
    }

    /// Returns the address of the schema.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the socket address of the database's server.
    ///
    /// # Panics
    /// When the address has no IP address and port.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a test says what it needs by panicking")]
    pub fn server(&self) -> SocketAddr {
        let rest = self.database.split_once('@').map_or("", |(_, rest)| rest);
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        host.parse().expect("an IP address and a port")
    }

    /// Returns the address of the schema through another server, such as a proxy.
    #[must_use]
    pub fn url_through(&self, server: SocketAddr) -> String {
        let direct = format!("@{}/", self.server());
        self.url.replacen(&direct, &format!("@{server}/"), 1)
    }

    /// Makes a handle with connections of its own, like each process has one.
    ///
    /// # Panics
    /// When the address cannot be used.
    #[must_use]
    pub fn connect(&self) -> Postgres {
        open(&self.url)
    }

    /// Copies every table, for [`Self::lose`].
    ///
    /// # Panics
    /// When the database does not copy them.
    #[expect(clippy::expect_used, reason = "a test says what it needs by panicking")]
    pub async fn keep(&self) {
        let kept = self.connect().query("keep", KEEP, &[]).await;
        kept.expect("copies of the tables");
    }

    /// Loses what was committed after [`Self::keep`], as a replica that takes over may. Sequences
    /// are not reset.
    ///
    /// # Panics
    /// When there are no copies.
    #[expect(clippy::expect_used, reason = "a test says what it needs by panicking")]
    pub async fn lose(&self) {
        let lost = self.connect().query("lose", LOSE, &[]).await;
        lost.expect("the tables as they were");
    }

    fn run(&self, sql: &str) -> Result<(), PostgresError> {
        wait(async {
            let database = open(&self.database);
            database.query("schema", sql, &[]).await.map(drop)
        })
    }
}

impl Drop for Schema {
    #[expect(
        clippy::print_stderr,
        reason = "a test that has passed does not fail by what it leaves"
    )]
    fn drop(&mut self) {
        if let Err(error) = self.run(&format!("DROP SCHEMA {} CASCADE", self.name)) {
            eprintln!("the schema {} was not removed: {error}", self.name);
        }
    }
}

#[expect(clippy::expect_used, reason = "a test says what it needs by panicking")]
fn open(url: &str) -> Postgres {
    let address = url.parse().expect("an address of a database");
    Postgres::new(address, PostgresOptions::default()).expect("a pool")
}
