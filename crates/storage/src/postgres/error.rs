//! Why a database could not do what was asked, and whether it may have done it.

use std::error::Error as _;

use deadpool_postgres::PoolError;
use tokio_postgres::error::{Severity, SqlState};

/// The class of SQLSTATEs about connections.
const CONNECTION_CLASS: &str = "08";

/// What can go wrong with a PostgreSQL database.
///
/// Nothing was written, except with [`Interrupted`](Self::Interrupted).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The database could not be reached, or takes no writes at this time. Nothing was sent, or
    /// nothing of it was done.
    #[error("the database is not available: {reason}")]
    Unavailable {
        /// Why, in the words of the system or of the database.
        reason: String,
    },
    /// The connection was lost, or the time ran out, after a statement had been sent: it may have
    /// taken effect.
    #[error("the connection was lost in {operation}, which may have taken effect")]
    Interrupted {
        /// What was being done.
        operation: &'static str,
    },
    /// A constraint of the database refuses the row.
    #[error("{operation} contradicts the constraint {constraint}")]
    Constraint {
        /// What was being done.
        operation: &'static str,
        /// The name of the constraint.
        constraint: String,
    },
    /// The database's disk is full.
    #[error("the database has no room left")]
    Full,
    /// The tables were written by a later version of this program.
    #[error("{component} has schema {observed}, this version knows schemas up to {expected}")]
    NewerSchema {
        /// Whose tables.
        component: &'static str,
        /// The newest schema that this version knows.
        expected: u32,
        /// The schema of the tables.
        observed: u32,
    },
    /// The address is not one of a PostgreSQL database.
    #[error("the address of the database cannot be used: {reason}")]
    UnsupportedAddress {
        /// What is wrong with it; its text may hold a password.
        reason: String,
    },
    /// A setting of the database lets a commit be lost that was reported as done.
    #[error("the database has {setting} = {observed}: a commit could be lost; set it to on")]
    NotDurable {
        /// The setting.
        setting: &'static str,
        /// Its value.
        observed: String,
    },
    /// A row has another form than the one that this program writes.
    #[error("a row that {operation} has read is damaged: {reason}")]
    Damaged {
        /// What was being done.
        operation: &'static str,
        /// Which column, and why.
        reason: String,
    },
    /// The database refused a statement in a way that has no name of its own.
    #[error("the database failed in {operation} ({})", .sqlstate.as_deref().unwrap_or("no SQLSTATE"))]
    Query {
        /// What was being done.
        operation: &'static str,
        /// The SQLSTATE, if there is one.
        sqlstate: Option<String>,
    },
}

impl PostgresError {
    /// The stable machine-readable name of the error.
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

    /// Whether the statement was undone by the database in favour of another one, so that the same
    /// statement may be sent again.
    pub(super) fn is_undone(error: &tokio_postgres::Error) -> bool {
        matches!(
            error.code(),
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED)
        )
    }

    /// Names what came back for a statement that had been sent.
    ///
    /// Only a refusal by a database that goes on is one: what ends the connection, and what a
    /// pooler reports of a connection that it has lost, may come after the commit.
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
            // The second one comes where the position in the log is asked for.
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

    /// Names what came back when a connection was asked for.
    pub(super) fn of_connection(error: &PoolError) -> Self {
        let reason = match error {
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
