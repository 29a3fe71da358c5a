//! Turns on accounts in the database. The clock of the database decides about their leases.

use std::time::Duration;

use alloy_primitives::Address;
use storage::postgres::{number, unsigned};

use super::{Params, PostgresStore, READ};
use crate::store::{StoreFuture, TurnEnd, TurnFence, TurnStore};

impl TurnStore for PostgresStore {
    fn take_turn(
        &self,
        account: Address,
        work: &str,
        lease: Duration,
    ) -> StoreFuture<'_, Option<TurnFence>> {
        let work = work.to_owned();
        Box::pin(async move {
            // The update waits for a submission that has locked the row. So the record of the
            // submission is committed before the new holder reads anything. The steps are random,
            // like those of lanes.
            let sql = "INSERT INTO sender_turn AS t (account, work, token, until)
                       VALUES ($1, $2, 1 + (random() * 1000000)::bigint, clock_timestamp() + $3::bigint * interval '1 millisecond')
                       ON CONFLICT (account) DO UPDATE SET
                           work = excluded.work, token = t.token + excluded.token,
                           until = clock_timestamp() + $3::bigint * interval '1 millisecond'
                       WHERE t.until <= clock_timestamp() AND (
                           t.work IN ('', excluded.work)
                           OR t.until + $3::bigint * interval '1 millisecond' <= clock_timestamp()
                       )
                       RETURNING token";
            let params: Params<'_> = &[&account.to_string(), &work, &milliseconds(lease)];
            let rows = self.rows("take_turn", sql, params).await?;
            let token = rows.first().map(|row| unsigned(row, 0, READ)).transpose()?;
            Ok(token.map(|token| TurnFence { account, token }))
        })
    }

    fn renew_turn(&self, turn: TurnFence, lease: Duration) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let sql = "UPDATE sender_turn
                       SET until = clock_timestamp() + $3::bigint * interval '1 millisecond'
                       WHERE account = $1 AND token = $2 RETURNING token";
            let params: Params<'_> = &[
                &turn.account.to_string(),
                &number(turn.token),
                &milliseconds(lease),
            ];
            Ok(!self.rows("renew_turn", sql, params).await?.is_empty())
        })
    }

    fn end_turn(&self, turn: TurnFence, end: TurnEnd) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sql = "UPDATE sender_turn
                       SET until = clock_timestamp(), work = CASE WHEN $3 THEN '' ELSE work END
                       WHERE account = $1 AND token = $2";
            let finished = end == TurnEnd::Finished;
            let params: Params<'_> = &[&turn.account.to_string(), &number(turn.token), &finished];
            self.rows("end_turn", sql, params).await.map(drop)
        })
    }
}

fn milliseconds(lease: Duration) -> i64 {
    number(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX))
}
