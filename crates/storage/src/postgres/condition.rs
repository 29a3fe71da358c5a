//! Conditions on rows of another component of the same database.

use super::{PostgresError, ToSql, Transaction};

/// A condition on rows of another component of the same database. A transaction takes effect only
/// while the condition holds.
///
/// The component that owns the rows writes the statement. It returns a row while the condition
/// holds, and locks that row (`FOR SHARE`). So two orders are possible. Either the condition ends
/// before the transaction, and the transaction sees that. Or the end of the condition waits for the
/// transaction's commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    sql: &'static str,
    numbers: Vec<i64>,
}

impl Condition {
    /// Makes a condition from a statement whose parameters are these numbers.
    #[must_use]
    pub fn new(sql: &'static str, numbers: Vec<i64>) -> Self {
        Self { sql, numbers }
    }

    /// Returns whether the condition holds. If it does, it then holds until the end of the
    /// transaction.
    ///
    /// # Errors
    ///
    /// The same as [`Transaction::query`].
    pub async fn holds(&self, transaction: &Transaction<'_>) -> Result<bool, PostgresError> {
        let mut params: Vec<&(dyn ToSql + Sync)> = Vec::with_capacity(self.numbers.len());
        for number in &self.numbers {
            params.push(number);
        }
        let row = transaction.query_opt(self.sql, &params).await?;
        Ok(row.is_some())
    }
}
