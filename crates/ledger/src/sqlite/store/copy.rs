//! Reads rows that are copied to another store.

use rusqlite::{Row, params};
use storage::sqlite::damaged;

use super::{NONE, Store, body_digest, state_in};
use crate::{
    copied::{AnswerRow, EntryRow, NumbersRow, PlaceRow},
    sqlite::Failure,
};

impl Store<'_> {
    /// Reads at most `limit` entries after `after`, with their answers and receipts.
    pub(in crate::sqlite) fn rows(
        &mut self,
        after: i64,
        limit: u32,
    ) -> Result<Vec<EntryRow>, Failure> {
        let statement = self.statements.get(
            "SELECT e.id, e.state, e.open, e.authorization, e.request, e.content, e.network, e.asset,
             e.payer, e.nonce, e.valid_before, e.reserved_at, e.changed_at, e.amount, e.method, e.path,
             e.payment_id, e.attempted, e.private, coalesce(r.transaction_hash, e.transaction_hash),
             r.header, e.cause, e.answer, a.payload, a.requirements, a.status, a.headers,
             a.body_digest, a.body, a.digest_kind, e.retired, e.repeats, e.repeated,
             p.digest, p.is_action, p.is_delivered
             FROM entry AS e LEFT JOIN receipt AS r ON r.id = e.receipt
             LEFT JOIN answer AS a ON a.id = e.answer
             LEFT JOIN place AS p ON p.entry = e.id
             WHERE e.id > ?1 ORDER BY e.id LIMIT ?2",
        )?;
        let rows = statement.query_map(params![after, limit], entry)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Reads the credit and the sum of every payer.
    pub(in crate::sqlite) fn payers(&mut self) -> Result<Vec<NumbersRow>, Failure> {
        let sql = "SELECT payer, micro_usd, paid FROM credit ORDER BY payer";
        let rows = self.statements.get(sql)?.query_map([], |row| {
            Ok(NumbersRow {
                name: row.get(0)?,
                numbers: [row.get(1)?, row.get(2)?],
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Reads the deficits of newcomers.
    pub(in crate::sqlite) fn newcomers(&mut self) -> Result<Vec<NumbersRow>, Failure> {
        let sql = "SELECT name, missing, at FROM newcomer ORDER BY name";
        let rows = self.statements.get(sql)?.query_map([], |row| {
            let name: String = row.get(0)?;
            Ok(NumbersRow {
                name: name.into_bytes(),
                numbers: [row.get(1)?, row.get(2)?],
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<EntryRow> {
    let answer = match row.get::<_, i64>(22)? {
        NONE => None,
        _ => Some(answer(row)?),
    };
    let digest: Option<Vec<u8>> = row.get(33)?;
    let place = match digest {
        None => None,
        Some(digest) => Some(PlaceRow {
            digest,
            is_action: row.get(34)?,
            is_delivered: row.get(35)?,
        }),
    };
    Ok(EntryRow {
        id: row.get(0)?,
        state: state_in(row, 1)?,
        open: row.get(2)?,
        authorization: row.get(3)?,
        request: row.get(4)?,
        content: row.get(5)?,
        network: row.get(6)?,
        asset: row.get(7)?,
        payer: row.get(8)?,
        nonce: row.get(9)?,
        valid_before: row.get(10)?,
        reserved_at: row.get(11)?,
        changed_at: row.get(12)?,
        amount: row.get(13)?,
        method: row.get(14)?,
        path: row.get(15)?,
        payment_id: row.get(16)?,
        attempted: row.get(17)?,
        private: row.get(18)?,
        transaction: row.get(19)?,
        receipt: row.get(20)?,
        cause: row.get(21)?,
        retired: row.get(30)?,
        repeats: row.get(31)?,
        repeated: row.get(32)?,
        place,
        answer,
    })
}

/// Reads the answer of an entry that has one. A missing row means that the file is damaged.
fn answer(row: &Row<'_>) -> rusqlite::Result<AnswerRow> {
    let body: Vec<u8> = row.get(28)?;
    let digest = body_digest(row.get(27)?, row.get(29)?, &body);
    Ok(AnswerRow {
        payload: row.get(23)?,
        requirements: row.get(24)?,
        status: i16::try_from(row.get::<_, u16>(25)?).map_err(damaged)?,
        headers: row.get(26)?,
        body_digest: digest.to_vec(),
        body,
    })
}
