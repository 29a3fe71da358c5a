//! The number under which this instance writes.

use std::sync::atomic::Ordering;

use storage::postgres::PostgresError;

use super::{Inner, Params, claims::random};

/// The number before the first write. No instance has it.
pub(super) const NONE: i64 = 0;

/// The fewest numbers of entries that an instance skips before its first reservation under a
/// number. Running calls may use these numbers although the database has lost their entries.
const PASSED_OVER: i64 = 1 << 20;

impl Inner {
    /// Returns the number of this instance.
    ///
    /// The number is new when this server has just started, when its lease was lost, or when the
    /// database has another history. The instance then first takes along the open entries that no
    /// other instance has taken over. It also skips numbers of entries. Otherwise a call whose
    /// entry the database has lost could mistake the entry of a later payment for its own.
    ///
    /// The sequence never goes back. Instances that skip numbers at the same time wait for each
    /// other, until the end of the statement.
    pub(super) async fn number(&self) -> Result<i64, PostgresError> {
        const SQL: &str = concat!(
            "WITH kept AS (
                 UPDATE ledger_entry SET owner = $1 WHERE open IN (1, 2) AND owner = $2 AND ",
            alive!(),
            "), held AS MATERIALIZED (
                 SELECT pg_advisory_xact_lock('ledger_entry_id'::regclass::oid::bigint) WHERE ",
            alive!(),
            ")
             SELECT setval('ledger_entry_id', nextval('ledger_entry_id') + $3) FROM held"
        );
        let number = self.instance.id();
        let before = self.number.load(Ordering::Acquire);
        if number != before {
            let [low, high, ..] = random()?;
            // The size of the gap is random, so that a second loss does not lead to the same
            // numbers.
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
