//! Reads and writes values of columns.

use tokio_postgres::{Row, types::FromSql};

use super::PostgresError;

/// Reads the value of a column.
///
/// # Errors
///
/// [`Damaged`](PostgresError::Damaged) when the value is missing or has another type.
pub fn get<'r, T: FromSql<'r>>(
    row: &'r Row,
    column: usize,
    operation: &'static str,
) -> Result<T, PostgresError> {
    row.try_get(column)
        .map_err(|error| damaged(operation, error))
}

/// Converts a number to a `bigint`. A number that is too large becomes the largest `bigint`.
#[must_use]
pub fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Reads a `bigint` column that has no negative values.
///
/// # Errors
///
/// The same as [`get`], and [`Damaged`](PostgresError::Damaged) for a negative number.
pub fn unsigned(row: &Row, column: usize, operation: &'static str) -> Result<u64, PostgresError> {
    let value: i64 = get(row, column, operation)?;
    u64::try_from(value).map_err(|_| damaged(operation, "a number is negative"))
}

/// Reads a `bytea` column of a fixed length.
///
/// # Errors
///
/// The same as [`get`], and [`Damaged`](PostgresError::Damaged) for another length.
pub fn bytes<const N: usize>(
    row: &Row,
    column: usize,
    operation: &'static str,
) -> Result<[u8; N], PostgresError> {
    let bytes: &[u8] = get(row, column, operation)?;
    <[u8; N]>::try_from(bytes).map_err(|_| damaged(operation, "bytes have another length"))
}

/// Makes the error of a row that this program cannot have written.
#[must_use]
pub fn damaged(operation: &'static str, reason: impl ToString) -> PostgresError {
    PostgresError::Damaged {
        operation,
        reason: reason.to_string(),
    }
}
