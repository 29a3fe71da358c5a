//! PostgreSQL: one pool of connections to a database that several servers share.
//!
//! [`Postgres`] gives its users four things: an address that never shows its password, a bounded
//! pool, migrations of each user's own tables, and errors that say whether a statement may have
//! taken effect. A statement that never reached the database is
//! [`Unavailable`](PostgresError::Unavailable): nothing happened. A statement whose answer was lost
//! is [`Interrupted`](PostgresError::Interrupted): it may have happened, and its user looks before
//! it repeats anything.
//!
//! Users write each change as one statement where they can: such a statement is a transaction of
//! its own, costs one round trip, and has no `COMMIT` whose outcome could be mistaken. Nothing here
//! relies on the session of a connection (no session locks, no `SET`, no temporary tables), so a
//! pooler in transaction mode may stand between.

mod acknowledged;
mod address;
mod column;
mod error;
mod instance;
mod migrate;
mod pool;
mod tls;
mod transaction;

pub use acknowledged::Acknowledged;
pub use address::Address;
pub use column::{bytes, damaged, get, number, unsigned};
pub use error::PostgresError;
pub use instance::Instance;
pub use migrate::{Component, Migration};
pub use pool::{Postgres, PostgresOptions};
pub use tokio_postgres::{Row, types::ToSql};
pub use transaction::{Transaction, Work};
