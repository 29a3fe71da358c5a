//! The credit of payers, and the deficits of the pool of newcomers and of the shares of addresses.

use std::net::IpAddr;

use alloy_primitives::Address;
use storage::postgres::{Postgres, get, number, unsigned};

use super::{Inner, Params};
use crate::{
    error::LedgerError,
    spending::{Allowance, LATE_SECONDS, Missing, Spent},
};

/// The highest cap or sum. Two of them can be added without overflow.
const HIGHEST: u64 = 1 << 62;

/// The name of the pool's row. No address has this name.
const POOL: &str = "";

/// The most shares that are stored. Above it, pruning deletes those whose last use is longest ago.
const MAX_SHARES: i64 = 8_192;

/// Adds costs to the deficits of newcomers, row by row in the order of the lists. A late write, or
/// one after a small correction of the clock, refills nothing for time that was counted already. A
/// stored time that is further ahead was wrong, and is replaced.
///
/// The parameters are the time, the names, the amounts, the capacities, the refill of the pool and
/// of a share for each second, and the greatest delay of a late write.
macro_rules! take_from_newcomers {
    ($from:literal, $now:literal, $names:literal, $amounts:literal, $capacities:literal,
     $pool:literal, $share:literal, $late:literal) => {
        concat!(
            "INSERT INTO ledger_newcomer AS n (name, missing, at)
             SELECT s.name, least(s.amount, s.capacity), ",
            $now,
            " FROM ",
            $from,
            "unnest(",
            $names,
            "::text[], ",
            $amounts,
            "::bigint[], ",
            $capacities,
            "::bigint[]) AS s (name, amount, capacity)
             WHERE s.amount > 0
             ON CONFLICT (name) DO UPDATE SET
                 at = CASE WHEN n.at - ",
            $now,
            " BETWEEN 0 AND ",
            $late,
            "::bigint THEN n.at ELSE ",
            $now,
            " END,
                 missing = least(
                     greatest(n.missing - greatest(",
            $now,
            " - n.at, 0)::numeric * CASE WHEN n.name = '' THEN ",
            $pool,
            "::bigint ELSE ",
            $share,
            "::bigint END, 0) + excluded.missing,
                     (SELECT c.capacity FROM unnest(",
            $names,
            "::text[], ",
            $capacities,
            "::bigint[]) AS c (name, capacity) WHERE c.name = n.name)
                 )::bigint"
        )
    };
}
pub(super) use take_from_newcomers;

/// The cost of an operation, as the parameters of a statement.
pub(super) struct Spending {
    pub(super) payer: i64,
    pub(super) cap: i64,
    pub(super) names: Vec<String>,
    pub(super) amounts: Vec<i64>,
    pub(super) capacities: Vec<i64>,
    pub(super) pool_rate: i64,
    pub(super) share_rate: i64,
    pub(super) late: i64,
}

impl Inner {
    /// Returns the most credit of a payer.
    pub(super) fn cap(&self) -> i64 {
        number(self.options.credit_cap_micro_usd.min(HIGHEST))
    }

    pub(super) fn spending(&self, spent: Spent) -> Spending {
        let (pool, share) = (self.options.pool, self.options.address_share);
        // The pool comes first, so that all statements that change both rows lock them in the same
        // order.
        let mut rows = vec![(POOL.to_owned(), spent.pool, pool)];
        if let Some((address, micro_usd)) = spent.address {
            rows.push((address.to_string(), micro_usd, share));
        }
        Spending {
            payer: number(spent.payer),
            cap: self.cap(),
            amounts: rows.iter().map(|(_, amount, _)| bounded(*amount)).collect(),
            capacities: rows.iter().map(|row| bounded(row.2.capacity)).collect(),
            names: rows.into_iter().map(|(name, ..)| name).collect(),
            pool_rate: rate(pool),
            share_rate: rate(share),
            late: number(LATE_SECONDS),
        }
    }

    pub(super) async fn credit(&self, payer: Address) -> Result<u64, LedgerError> {
        let sql = "SELECT micro_usd FROM ledger_credit WHERE payer = $1";
        let credit = number_of(&self.postgres, "credit", sql, payer).await?;
        // The stored credit may be above the present cap, because the cap was higher before.
        Ok(credit.min(self.options.credit_cap_micro_usd.min(HIGHEST)))
    }

    /// Subtracts costs from their sources.
    pub(super) async fn debit(
        &self,
        payer: Address,
        spent: Spent,
        now: u64,
    ) -> Result<(), LedgerError> {
        const SQL: &str = concat!(
            "WITH debited AS (
                 UPDATE ledger_credit SET micro_usd = greatest(least(micro_usd, $3) - $2::bigint, 0)
                 WHERE $2::bigint > 0 AND payer = $1
             )",
            take_from_newcomers!("", "$10::bigint", "$4", "$5", "$6", "$7", "$8", "$9"),
        );
        if spent == Spent::NOTHING {
            return Ok(());
        }
        let s = self.spending(spent);
        let params: Params<'_> = &[
            &payer.as_slice(),
            &s.payer,
            &s.cap,
            &s.names,
            &s.amounts,
            &s.capacities,
            &s.pool_rate,
            &s.share_rate,
            &s.late,
            &number(now),
        ];
        Ok(self.postgres.query("debit", SQL, params).await.map(drop)?)
    }

    pub(super) async fn missing(&self, now: u64) -> Result<Missing, LedgerError> {
        const OPERATION: &str = "missing";
        let sql = "SELECT name, missing, at FROM ledger_newcomer";
        let mut missing = Missing::default();
        for row in self.postgres.query(OPERATION, sql, &[]).await? {
            let name: &str = get(&row, 0, OPERATION)?;
            let was_missing = unsigned(&row, 1, OPERATION)?;
            let at = unsigned(&row, 2, OPERATION)?;
            let left =
                |allowance: Allowance| allowance.missing_after(now.saturating_sub(at), was_missing);
            if name == POOL {
                missing.pool = left(self.options.pool);
            } else if let Ok(address) = name.parse::<IpAddr>()
                && let micro_usd @ 1.. = left(self.options.address_share)
            {
                missing.addresses.push((address, micro_usd));
            }
        }
        Ok(missing)
    }

    /// Deletes the rows whose deficit has refilled, and the oldest rows above the limit.
    pub(super) async fn prune_newcomers(&self, now: u64) -> Result<(), LedgerError> {
        let sql = "WITH dropped AS (
                       DELETE FROM ledger_newcomer WHERE missing <= greatest($1 - at, 0)::numeric
                           * CASE WHEN name = '' THEN $2::bigint ELSE $3::bigint END
                   )
                   DELETE FROM ledger_newcomer WHERE name IN (
                       SELECT name FROM ledger_newcomer WHERE name <> '' ORDER BY at DESC OFFSET $4
                   )";
        let (pool, share) = (self.options.pool, self.options.address_share);
        let params: Params<'_> = &[&number(now), &rate(pool), &rate(share), &MAX_SHARES];
        Ok(self.postgres.query("prune", sql, params).await.map(drop)?)
    }
}

/// Returns the sum of a payer's settled payments, in micro-USD.
pub(crate) async fn paid(postgres: &Postgres, payer: Address) -> Result<u64, LedgerError> {
    let sql = "SELECT paid FROM ledger_credit WHERE payer = $1";
    number_of(postgres, "paid", sql, payer).await
}

async fn number_of(
    postgres: &Postgres,
    operation: &'static str,
    sql: &str,
    payer: Address,
) -> Result<u64, LedgerError> {
    let params: Params<'_> = &[&payer.as_slice()];
    let row = postgres.query_opt(operation, sql, params).await?;
    Ok(match row {
        Some(row) => unsigned(&row, 0, operation)?,
        None => 0,
    })
}

/// Limits an amount so that the database can add two such amounts.
fn bounded(micro_usd: u64) -> i64 {
    number(micro_usd).min(1 << 61)
}

/// Returns the refill for each second.
fn rate(allowance: Allowance) -> i64 {
    number(allowance.per_second).min(1 << 24)
}
