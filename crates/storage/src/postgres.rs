//! PostgreSQL: one pool of connections to a database that several servers share.
//!
//! [`Postgres`] offers an address that never shows its password, a bounded pool, migrations of each
//! user's own tables, and errors that say whether a statement may have taken effect.
//! [`Unavailable`](PostgresError::Unavailable) means that the statement did not reach the database,
//! so nothing happened. [`Interrupted`](PostgresError::Interrupted) means that the answer to the
//! statement was lost. The statement may have taken effect, and its user checks that before
//! repeating anything.
//!
//! Users write each change as one statement where they can. Such a statement is a transaction of
//! its own, costs one round trip, and has no `COMMIT` whose outcome could be misread. Nothing here
//! relies on the session of a connection (no session locks, no `SET`, no temporary tables). So the
//! connections may go through a pooler in transaction mode.

mod acknowledged;
mod address;
mod column;
mod condition;
mod error;
mod hosts;
mod instance;
mod migrate;
mod pool;
mod tls;
mod transaction;

pub use acknowledged::{Acknowledged, Claim, Lost};
pub use address::Address;
pub use column::{bytes, damaged, get, number, unsigned};
pub use condition::Condition;
pub use error::PostgresError;
pub use instance::Instance;
pub use migrate::Component;
pub use pool::{Postgres, PostgresOptions};
pub use tokio_postgres::{Row, types::ToSql};
pub use transaction::{Transaction, Work};
