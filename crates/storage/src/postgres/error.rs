//! The errors of a database. They say whether a failed statement may have taken effect.

use std::error::Error as _;

use deadpool_postgres::{PoolError, TimeoutType};
use tokio_postgres::error::{Severity, SqlState};

/// The class of the SQLSTATEs that are about connections.
const CONNECTION_CLASS: &str = "08";

/// Why an operation on a PostgreSQL database failed.
///
/// Nothing was written, except perhaps with [`Interrupted`](Self::Interrupted).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The database cannot be reached, or accepts no writes now. No statement was sent, or none
    /// took effect.
    #[error("the database is not available: {reason}")]
    Unavailable {
        /// The reason, in the words of the system or of the database.
        reason: String,
    },
    /// The connection was lost, or the time ran out, after a statement was sent. The statement may
    /// have taken effect.
    #[error("the connection was lost in {operation}, which may have taken effect")]
    Interrupted {
        /// The operation.
        operation: &'static str,
    },
    /// A constraint of the database refuses the row.
    #[error("{operation} contradicts the constraint {constraint}")]
    Constraint {
        /// The operation.
        operation: &'static str,
        /// The name of the constraint.
        constraint: String,
    },
    /// The disk of the database is full.
    #[error("the database has no room left")]
    Full,
    /// A later version of this program has written the tables.
    #[error("{component} has schema {observed}, this version knows schemas up to {expected}")]
    NewerSchema {
        /// The component that uses the tables.
        component: &'static str,
        /// The newest schema that this version knows.
        expected: u32,
        /// The schema of the tables.
        observed: u32,
    },
    /// The address is not one of a PostgreSQL database.
    #[error("the address of the database cannot be used: {reason}")]
    UnsupportedAddress {
        /// The problem with the address. The address may contain a password, so it is not repeated.
        reason: String,
    },
    /// A setting of the database allows it to lose a commit that it reported as done.
    #[error("the database has {setting} = {observed}: a commit could be lost; set it to on")]
    NotDurable {
        /// The setting.
        setting: &'static str,
        /// Its value.
        observed: String,
    },
    /// A row does not have the form that this program writes.
    #[error("a row that {operation} has read is damaged: {reason}")]
    Damaged {
        /// The operation that read it.
        operation: &'static str,
        /// The column, and what is wrong with it.
        reason: String,
    },
    /// The database refused a statement with an error that has no own variant here.
    #[error("the database failed in {operation} ({})", .sqlstate.as_deref().unwrap_or("no SQLSTATE"))]
    Query {
        /// The operation.
        operation: &'static str,
        /// The SQLSTATE, if there is one.
        sqlstate: Option<String>,
    },
}

impl PostgresError {
    /// Returns the stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unavailable { .. } => "postgres_unavailable",
            Self::Interrupted { .. } => "postgres_interrupted",
            Self::Constraint { .. } => "postgres_constraint",
            Self::Full => "postgres_full",
            Self::NewerSchema { .. } => "postgres_newer_schema",
            Self::UnsupportedAddress { .. } => "postgres_unsupported_address",
            Self::NotDurable { .. } => "postgres_not_durable",
            Self::Damaged { .. } => "postgres_damaged",
            Self::Query { .. } => "postgres_query",
        }
    }

    /// Whether the database has undone the statement in favour of another one. The statement may
    /// then be sent again.
    pub(super) fn is_undone(error: &tokio_postgres::Error) -> bool {
        matches!(
            error.code(),
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED)
        )
    }

    /// Converts the error that the driver returned for a sent statement.
    ///
    /// A database has certainly refused a statement only if it keeps the connection. An error that
    /// ends the connection, or a pooler's report of a lost connection, may come after the commit.
    pub(super) fn of_statement(error: &tokio_postgres::Error, operation: &'static str) -> Self {
        let Some(database) = error.as_db_error() else {
            return Self::Interrupted { operation };
        };
        let ends_connection = matches!(
            database.parsed_severity(),
            Some(Severity::Fatal | Severity::Panic)
        );
        if ends_connection || database.code().code().starts_with(CONNECTION_CLASS) {
            return Self::Interrupted { operation };
        }
        match database.code() {
            // The second code comes from a statement that reads the position in the log.
            &SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE => {
                Self::Unavailable {
                    reason: "it is a standby and takes no writes".to_owned(),
                }
            }
            &SqlState::UNIQUE_VIOLATION
            | &SqlState::CHECK_VIOLATION
            | &SqlState::FOREIGN_KEY_VIOLATION => Self::Constraint {
                operation,
                constraint: database.constraint().unwrap_or_default().to_owned(),
            },
            &SqlState::DISK_FULL => Self::Full,
            other => Self::Query {
                operation,
                sqlstate: Some(other.code().to_owned()),
            },
        }
    }

    /// Converts the error that the driver returned for a new connection.
    pub(super) fn of_connection(error: &PoolError) -> Self {
        let reason = match error {
            PoolError::Timeout(TimeoutType::Create) => {
                "no host of the address answered in time".to_owned()
            }
            PoolError::Timeout(_) => "no connection became free in time".to_owned(),
            PoolError::Backend(error) => match error.as_db_error() {
                Some(database) => database.message().to_owned(),
                None => error
                    .source()
                    .map_or_else(|| error.to_string(), ToString::to_string),
            },
            other => other.to_string(),
        };
        Self::Unavailable { reason }
    }
}
