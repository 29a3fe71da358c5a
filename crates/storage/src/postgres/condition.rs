//! Conditions on rows of another component.

use super::{PostgresError, ToSql, Transaction};

/// A condition on rows of another component of the same database, for a transaction that must take
/// effect only while it holds.
///
/// The component that owns the rows writes the statement. It returns a row while the condition
/// holds, and locks that row (`FOR SHARE`). So whoever ends the condition comes before the
/// transaction, which then finds it ended, or waits for the transaction's commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    sql: &'static str,
    numbers: Vec<i64>,
}

impl Condition {
    /// Makes a condition of a statement whose parameters are these numbers.
    #[must_use]
    pub fn new(sql: &'static str, numbers: Vec<i64>) -> Self {
        Self { sql, numbers }
    }

    /// Returns whether the condition holds, and then sees to it that it holds until the end of the
    /// transaction.
    ///
    /// # Errors
    ///
    /// As [`Transaction::query`].
    pub async fn holds(&self, transaction: &Transaction<'_>) -> Result<bool, PostgresError> {
        let mut params: Vec<&(dyn ToSql + Sync)> = Vec::with_capacity(self.numbers.len());
        for number in &self.numbers {
            params.push(number);
        }
        let row = transaction.query_opt(self.sql, &params).await?;
        Ok(row.is_some())
    }
}
