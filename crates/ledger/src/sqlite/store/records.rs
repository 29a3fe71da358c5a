//! Lists entries for operators.

use alloy_primitives::{Address, B256};
use rusqlite::{Row, params};
use storage::sqlite::{number, unsigned};

use super::{
    Store,
    open::{amount_in, payer_in},
    state_in,
};
use crate::{
    record::{EntryRecord, Filter},
    sqlite::Failure,
    state::EntryId,
};

impl Store<'_> {
    /// Lists the entries of a selection after `after`. It also reads the entries between those that
    /// it lists, so payments wait while it runs.
    pub(in crate::sqlite) fn entries(
        &mut self,
        filter: &Filter,
        after: Option<EntryId>,
        limit: u32,
    ) -> Result<Vec<EntryRecord>, Failure> {
        let statement = self.statements.get(
            "SELECT e.id, e.state, e.network, e.asset, e.payer, e.nonce, e.amount, e.method, e.path,
             e.payment_id, coalesce(r.transaction_hash, e.transaction_hash), e.valid_before,
             e.reserved_at, e.changed_at, e.cause, e.retired
             FROM entry AS e LEFT JOIN receipt AS r ON r.id = e.receipt
             WHERE e.id > ?1 AND (?2 & (1 << e.state)) <> 0 AND e.reserved_at >= ?3
             AND (?4 IS NULL OR e.reserved_at < ?4) AND (?5 IS NULL OR e.payer = ?5)
             AND (?6 IS NULL OR e.id = ?6) AND (?7 IS NULL OR e.payment_id = ?7)
             ORDER BY e.id LIMIT ?8",
        )?;
        let values = params![
            after.map_or(i64::MIN, EntryId::number),
            filter.state_bits(),
            number(filter.since.unwrap_or(0)),
            filter.until.map(number),
            filter.payer.as_ref().map(|payer| payer.as_slice()),
            filter.entry.map(EntryId::number),
            filter.payment_id,
            limit,
        ];
        Ok(statement
            .query_map(values, read)?
            .collect::<Result<_, _>>()?)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<EntryRecord> {
    let asset: Option<[u8; 20]> = row.get(3)?;
    let nonce: Option<[u8; 32]> = row.get(5)?;
    let transaction: Option<String> = row.get(10)?;
    Ok(EntryRecord {
        entry: EntryId::new(row.get(0)?),
        state: state_in(row, 1)?,
        network: row.get(2)?,
        asset: asset.map(Address::from),
        payer: payer_in(row, 4)?,
        nonce: nonce.map(B256::from),
        amount: amount_in(row, 6)?,
        method: row.get(7)?,
        path: row.get(8)?,
        payment_id: row.get(9)?,
        transaction: transaction.filter(|transaction| !transaction.is_empty()),
        valid_before: unsigned(row, 11)?,
        reserved_at: unsigned(row, 12)?,
        changed_at: unsigned(row, 13)?,
        cause: row.get(14)?,
        retired: row.get(15)?,
    })
}
