//! The number under which this instance writes.

use std::sync::atomic::Ordering;

use storage::postgres::PostgresError;

use super::{Inner, Params, claims::random};

/// Numbers of entries that an instance passes over at least when it goes on under a new number.
/// Their owners may be running calls whose entries are lost.
const PASSED_OVER: i64 = 1 << 20;

impl Inner {
    /// The number of this instance. When it has a new one, its lease was lost or the database has
    /// another history. Then it first takes along the open entries that no other instance has taken
    /// over, and passes over numbers of entries: no call may take the entry of a later payment for
    /// its own, which the database has lost.
    pub(super) async fn number(&self) -> Result<i64, PostgresError> {
        const SQL: &str = concat!(
            "WITH kept AS (
                 UPDATE ledger_entry SET owner = $1 WHERE open IN (1, 2) AND owner = $2 AND ",
            alive!(),
            ")
             SELECT setval('ledger_entry_id', nextval('ledger_entry_id') + $3) WHERE ",
            alive!()
        );
        let number = self.instance.id();
        let before = self.number.load(Ordering::Acquire);
        if number != before {
            let [low, high, ..] = random()?;
            // Random, so that a second loss does not lead to the same numbers.
            let passed_over = PASSED_OVER * (1 + i64::from(u16::from_le_bytes([low, high])));
            let params: Params<'_> = &[&number, &before, &passed_over];
            let went_on = self.postgres.query_opt("go_on", SQL, params).await?;
            if went_on.is_some() {
                self.number.store(number, Ordering::Release);
            }
        }
        Ok(number)
    }
}
