//! Lists entries for operators.

use alloy_primitives::{Address, B256, U256};
use storage::postgres::{Postgres, PostgresError, Row, bytes, damaged, get, number, unsigned};

use super::{Params, state};
use crate::{
    error::LedgerError,
    record::{EntryRecord, Filter},
    state::EntryId,
};

const OPERATION: &str = "entries";

/// The statement that selects entries. The condition lets the database use an index.
macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT id, state, network, asset, payer, nonce, amount::text, method, path, payment_id,
                 transaction_hash, valid_before, reserved_at, changed_at, cause, retired
             FROM ledger_entry
             WHERE id > $1 AND ($2::bigint & (1::bigint << state)) <> 0 AND reserved_at >= $3
                 AND ($4::bigint IS NULL OR reserved_at < $4) AND ($5::bytea IS NULL OR payer = $5)
                 AND ($6::bigint IS NULL OR id = $6) AND ($7::text IS NULL OR payment_id = $7)
                 AND ",
            $condition,
            " ORDER BY id LIMIT $8"
        )
    };
}

/// Lists the entries of a selection after `after`. Writes nothing.
pub(super) async fn entries(
    postgres: &Postgres,
    filter: &Filter,
    after: Option<EntryId>,
    limit: u32,
) -> Result<Vec<EntryRecord>, LedgerError> {
    let sql = match filter.is_of_open_entries() {
        true => select!("open <> 0"),
        false => select!("true"),
    };
    let params: Params<'_> = &[
        &after.map_or(i64::MIN, EntryId::number),
        &filter.state_bits(),
        &number(filter.since.unwrap_or(0)),
        &filter.until.map(number),
        &filter.payer.as_ref().map(|payer| payer.as_slice()),
        &filter.entry.map(EntryId::number),
        &filter.payment_id,
        &i64::from(limit),
    ];
    let rows = postgres.query(OPERATION, sql, params).await?;
    rows.iter()
        .map(|row| read(row).map_err(LedgerError::from))
        .collect()
}

fn read(row: &Row) -> Result<EntryRecord, PostgresError> {
    let asset: Option<&[u8]> = get(row, 3, OPERATION)?;
    let nonce: Option<&[u8]> = get(row, 5, OPERATION)?;
    let asset = asset.map(Address::try_from).transpose();
    let nonce = nonce.map(B256::try_from).transpose();
    let amount: &str = get(row, 6, OPERATION)?;
    let transaction: Option<String> = get(row, 10, OPERATION)?;
    Ok(EntryRecord {
        entry: EntryId::new(get(row, 0, OPERATION)?),
        state: state(row, 1, OPERATION)?,
        network: get(row, 2, OPERATION)?,
        asset: asset.map_err(|_| damaged(OPERATION, "an asset has another length"))?,
        payer: Address::from(bytes::<20>(row, 4, OPERATION)?),
        nonce: nonce.map_err(|_| damaged(OPERATION, "a nonce has another length"))?,
        amount: U256::from_str_radix(amount, 10)
            .map_err(|_| damaged(OPERATION, "an amount is no number"))?,
        method: get(row, 7, OPERATION)?,
        path: get(row, 8, OPERATION)?,
        payment_id: get(row, 9, OPERATION)?,
        transaction: transaction.filter(|transaction| !transaction.is_empty()),
        valid_before: unsigned(row, 11, OPERATION)?,
        reserved_at: unsigned(row, 12, OPERATION)?,
        changed_at: unsigned(row, 13, OPERATION)?,
        cause: get(row, 14, OPERATION)?,
        retired: get(row, 15, OPERATION)?,
    })
}
