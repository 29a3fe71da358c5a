//! The errors of the journal.

use std::{io, ops::RangeInclusive, path::PathBuf};

use storage::{postgres::PostgresError, sqlite::DatabaseError};

use crate::state::{EntryId, State, Transition};

/// The error of an operation of the journal. A failed operation has written nothing, unless the
/// machine fails at that moment. The caller may repeat it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The state of the entry does not allow the move.
    #[error(
        "entry {entry} is {observed}, but {transition} needs {}",
        states(.expected)
    )]
    WrongState {
        /// The entry.
        entry: EntryId,
        /// The requested move.
        transition: Transition,
        /// The states from which the move is allowed.
        expected: RangeInclusive<State>,
        /// The state of the entry.
        observed: State,
    },
    /// The entry does not exist. It never did, or it was pruned, or its authorization has a new
    /// reservation.
    #[error("there is no entry {entry}")]
    NoSuchEntry {
        /// The requested entry.
        entry: EntryId,
    },
    /// The disk is full, or the journal has reached its size limit. The journal works again as soon
    /// as there is room.
    #[error("the ledger has no room left")]
    Full,
    /// Another server uses this ledger. A SQLite file has one server; several servers can share a
    /// PostgreSQL database instead.
    #[error("the ledger {} is in use by another server", .path.display())]
    InUse {
        /// The ledger's file.
        path: PathBuf,
    },
    /// Another program locks the file for longer than a write waits.
    #[error("another program holds the ledger's file locked")]
    Busy,
    /// The file is not a readable ledger.
    #[error("the ledger {} is damaged or is not a database", .path.display())]
    Damaged {
        /// The ledger's file.
        path: PathBuf,
    },
    /// The file is a database of another program.
    #[error("{} belongs to another program (application id {observed:#010x}, expected {expected:#010x})", .path.display())]
    ForeignFile {
        /// The file.
        path: PathBuf,
        /// The application id of a ledger.
        expected: i32,
        /// The application id of the file.
        observed: i32,
    },
    /// A later version of this program has written the ledger.
    #[error("the ledger has schema {observed}, this version knows schemas up to {expected}")]
    NewerSchema {
        /// The newest schema that this version knows.
        expected: u32,
        /// The schema of the file.
        observed: u32,
    },
    /// This build does not support addresses of this form.
    #[error("the ledger's address needs the form sqlite://FILE, not {observed}")]
    UnsupportedAddress {
        /// The scheme of the address. The rest could contain a password, so it is left out.
        observed: String,
    },
    /// The file or its folder cannot be created or opened.
    #[error("cannot open the ledger {}: {kind}", .path.display())]
    CannotOpen {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        kind: io::ErrorKind,
    },
    /// Any other failure of SQLite.
    #[error("the ledger's store failed in {operation} (SQLite code {})", .code.unwrap_or_default())]
    Storage {
        /// The operation that failed.
        operation: &'static str,
        /// SQLite's extended result code, if there is one.
        code: Option<i32>,
    },
    /// The database cannot be reached, or accepts no writes now. Nothing was written.
    #[error("the ledger's database is not available: {reason}")]
    Unavailable {
        /// The reason.
        reason: String,
    },
    /// The connection was lost during the operation and did not come back, so the operation may
    /// have been written. An entry that was reserved in this way has no call, and is released
    /// later.
    #[error("the connection to the ledger's database was lost in {operation}")]
    Interrupted {
        /// The operation.
        operation: &'static str,
    },
    /// This server's lease has expired, or a replica of the database has taken over. Other servers
    /// may take over the entries that this one held.
    #[error("this server's lease on the ledger has expired")]
    LeaseLost,
    /// Another server has taken the entry over, after this server's lease had expired.
    #[error("entry {entry} was taken over by another server")]
    TakenOver {
        /// The entry.
        entry: EntryId,
    },
    /// A setting of the database allows the loss of a commit that it has reported as done.
    #[error(
        "the ledger's database has {setting} = {observed}: a payment could be lost; set it to on"
    )]
    NotDurable {
        /// The setting.
        setting: &'static str,
        /// The value of the setting.
        observed: String,
    },
    /// The database refused a statement with an error that has no variant of its own.
    #[error("the ledger's database failed in {operation} ({})", .sqlstate.as_deref().unwrap_or("no SQLSTATE"))]
    Query {
        /// The operation.
        operation: &'static str,
        /// The SQLSTATE, if there is one.
        sqlstate: Option<String>,
    },
    /// A row of the database has another form than the one that this program writes.
    #[error("a row of the ledger's database is damaged, read in {operation}: {reason}")]
    DamagedRow {
        /// The operation that read the row.
        operation: &'static str,
        /// The fault.
        reason: String,
    },
    /// The target of a copy is not empty.
    #[error("the ledger is not empty: nothing can be copied into it")]
    NotEmpty,
    /// The rows that were read back differ from the copied ones. None of them was kept.
    #[error("the copy differs: {observed} instead of {expected}; nothing was kept")]
    NotCopied {
        /// The copied rows.
        expected: String,
        /// The rows that were read back.
        observed: String,
    },
    /// The journal is closed.
    #[error("the ledger is closed")]
    Closed,
}

impl LedgerError {
    /// The stable machine-readable name of the error.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::WrongState { .. } => "ledger_wrong_state",
            Self::NoSuchEntry { .. } => "ledger_no_such_entry",
            Self::Full => "ledger_full",
            Self::InUse { .. } => "ledger_in_use",
            Self::Busy => "ledger_busy",
            Self::Damaged { .. } => "ledger_damaged",
            Self::ForeignFile { .. } => "ledger_foreign_file",
            Self::NewerSchema { .. } => "ledger_newer_schema",
            Self::UnsupportedAddress { .. } => "ledger_unsupported_address",
            Self::CannotOpen { .. } => "ledger_cannot_open",
            Self::Storage { .. } => "ledger_storage",
            Self::Unavailable { .. } => "ledger_unavailable",
            Self::Interrupted { .. } => "ledger_interrupted",
            Self::LeaseLost => "ledger_lease_lost",
            Self::TakenOver { .. } => "ledger_taken_over",
            Self::NotDurable { .. } => "ledger_not_durable",
            Self::Query { .. } => "ledger_query",
            Self::DamagedRow { .. } => "ledger_damaged_row",
            Self::NotEmpty => "ledger_not_empty",
            Self::NotCopied { .. } => "ledger_not_copied",
            Self::Closed => "ledger_closed",
        }
    }
}

impl From<DatabaseError> for LedgerError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Full => Self::Full,
            DatabaseError::InUse { path } => Self::InUse { path },
            DatabaseError::Busy => Self::Busy,
            DatabaseError::Damaged { path } => Self::Damaged { path },
            DatabaseError::ForeignFile {
                path,
                expected,
                observed,
            } => Self::ForeignFile {
                path,
                expected,
                observed,
            },
            DatabaseError::NewerSchema {
                expected, observed, ..
            } => Self::NewerSchema { expected, observed },
            DatabaseError::UnsupportedAddress { observed } => Self::UnsupportedAddress { observed },
            DatabaseError::CannotOpen { path, kind } => Self::CannotOpen { path, kind },
            DatabaseError::Storage { operation, code } => Self::Storage { operation, code },
            DatabaseError::Closed => Self::Closed,
        }
    }
}

impl From<PostgresError> for LedgerError {
    fn from(error: PostgresError) -> Self {
        match error {
            PostgresError::Unavailable { reason } => Self::Unavailable { reason },
            PostgresError::Interrupted { operation } => Self::Interrupted { operation },
            PostgresError::Full => Self::Full,
            PostgresError::NewerSchema {
                expected, observed, ..
            } => Self::NewerSchema { expected, observed },
            PostgresError::UnsupportedAddress { reason } => {
                Self::UnsupportedAddress { observed: reason }
            }
            PostgresError::NotDurable { setting, observed } => {
                Self::NotDurable { setting, observed }
            }
            PostgresError::Damaged { operation, reason } => Self::DamagedRow { operation, reason },
            PostgresError::Query {
                operation,
                sqlstate,
            } => Self::Query {
                operation,
                sqlstate,
            },
            PostgresError::Constraint { operation, .. } => Self::Query {
                operation,
                sqlstate: Some("23505".to_owned()),
            },
            other => Self::Query {
                operation: other.code(),
                sqlstate: None,
            },
        }
    }
}

/// Writes a range of states in words.
fn states(range: &RangeInclusive<State>) -> String {
    let (first, last) = (range.start(), range.end());
    if first == last {
        first.to_string()
    } else {
        format!("{first} to {last}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_that_needs_one_state_names_it() {
        let error = LedgerError::WrongState {
            entry: EntryId::new(7),
            transition: Transition::ResolveSettled,
            expected: Transition::ResolveSettled.from(),
            observed: State::Unknown,
        };
        assert_eq!(
            error.to_string(),
            "entry 7 is unknown, but resolve_settled needs undecidable"
        );
    }

    #[test]
    fn every_error_has_its_own_code_and_a_plain_sentence() {
        let path = || PathBuf::from("data/service.db");
        let entry = EntryId::new(7);
        let errors = [
            LedgerError::WrongState {
                entry,
                transition: Transition::Settle,
                expected: Transition::Settle.from(),
                observed: State::Released,
            },
            LedgerError::NoSuchEntry { entry },
            LedgerError::Full,
            LedgerError::InUse { path: path() },
            LedgerError::Busy,
            LedgerError::Damaged { path: path() },
            LedgerError::ForeignFile {
                path: path(),
                expected: 1,
                observed: 2,
            },
            LedgerError::NewerSchema {
                expected: 1,
                observed: 2,
            },
            LedgerError::UnsupportedAddress {
                observed: "mysql://".to_owned(),
            },
            LedgerError::CannotOpen {
                path: path(),
                kind: io::ErrorKind::PermissionDenied,
            },
            LedgerError::Storage {
                operation: "settle",
                code: Some(19),
            },
            LedgerError::Unavailable {
                reason: "it is a standby and takes no writes".to_owned(),
            },
            LedgerError::Interrupted {
                operation: "reserve",
            },
            LedgerError::LeaseLost,
            LedgerError::TakenOver { entry },
            LedgerError::NotDurable {
                setting: "fsync",
                observed: "off".to_owned(),
            },
            LedgerError::Query {
                operation: "reserve",
                sqlstate: Some("42501".to_owned()),
            },
            LedgerError::Query {
                operation: "reserve",
                sqlstate: None,
            },
            LedgerError::DamagedRow {
                operation: "find",
                reason: "there is no such state".to_owned(),
            },
            LedgerError::NotEmpty,
            LedgerError::NotCopied {
                expected: "2 entries".to_owned(),
                observed: "1 entries".to_owned(),
            },
            LedgerError::Closed,
        ];
        let text: Vec<String> = errors
            .iter()
            .map(|error| format!("{}: {error}", error.code()))
            .collect();
        assert_eq!(
            text,
            [
                "ledger_wrong_state: entry 7 is released, but settle needs settling to unknown",
                "ledger_no_such_entry: there is no entry 7",
                "ledger_full: the ledger has no room left",
                "ledger_in_use: the ledger data/service.db is in use by another server",
                "ledger_busy: another program holds the ledger's file locked",
                "ledger_damaged: the ledger data/service.db is damaged or is not a database",
                "ledger_foreign_file: data/service.db belongs to another program (application id \
                 0x00000002, expected 0x00000001)",
                "ledger_newer_schema: the ledger has schema 2, this version knows schemas up to 1",
                "ledger_unsupported_address: the ledger's address needs the form sqlite://FILE, not \
                 mysql://",
                "ledger_cannot_open: cannot open the ledger data/service.db: permission denied",
                "ledger_storage: the ledger's store failed in settle (SQLite code 19)",
                "ledger_unavailable: the ledger's database is not available: it is a standby and takes no \
                 writes",
                "ledger_interrupted: the connection to the ledger's database was lost in reserve",
                "ledger_lease_lost: this server's lease on the ledger has expired",
                "ledger_taken_over: entry 7 was taken over by another server",
                "ledger_not_durable: the ledger's database has fsync = off: a payment could be lost; set \
                 it to on",
                "ledger_query: the ledger's database failed in reserve (42501)",
                "ledger_query: the ledger's database failed in reserve (no SQLSTATE)",
                "ledger_damaged_row: a row of the ledger's database is damaged, read in find: there is no \
                 such state",
                "ledger_not_empty: the ledger is not empty: nothing can be copied into it",
                "ledger_not_copied: the copy differs: 1 entries instead of 2 entries; nothing was kept",
                "ledger_closed: the ledger is closed",
            ]
        );
    }
}
