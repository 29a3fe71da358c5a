//! Values of columns: what a store writes, it reads back in the same form.
//!
//! A value that this program cannot have written reads as a damaged file
//! ([`DatabaseError::Damaged`](super::DatabaseError::Damaged)).

use std::{error::Error, str::FromStr};

use rusqlite::{ErrorCode, Row, types::Type};

type BoxError = Box<dyn Error + Send + Sync>;

/// Converts a number to the form of SQLite. A number above the range of SQLite becomes the highest
/// number; no time, size, revision or amount of money here is so large.
#[must_use]
pub fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Reads a number that is never negative.
///
/// # Errors
///
/// When the column has another value.
pub fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

/// Reads a value that is stored as its text: an address, a digest, or a decimal number.
///
/// # Errors
///
/// When the column has another value.
pub fn parsed<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T: FromStr<Err: Into<BoxError>>,
{
    let text = row.get_ref(column)?.as_str();
    text.map_err(damaged)?.parse().map_err(damaged)
}

/// Makes the error of a row that does not have the form that this program writes.
pub fn damaged(error: impl Into<BoxError>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, error.into())
}

/// Makes the error of a value that has no stored form.
pub fn unwritable(error: impl Into<BoxError>) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(error.into())
}

/// Whether SQLite refused a row because of a constraint, such as a key that another row already
/// has.
#[must_use]
pub fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}
