//! Copies a ledger from a SQLite file into the database.

use std::sync::Arc;

use storage::postgres::{PostgresError, Row, Transaction, get};

use super::{PostgresLedger, code, state};
use crate::{
    copied::{AnswerRow, Copied, EntryRow, NumbersRow, PlaceRow, Tally},
    error::LedgerError,
    sqlite::SqliteLedger,
};

const IMPORT: &str = "import";

/// How many entries one read returns.
const PAGE: u32 = 256;

impl PostgresLedger {
    /// Copies a ledger from a file into this one, which must be empty, in one transaction. Before
    /// it commits, it reads all rows back, and compares their number in each state and a digest
    /// over all of them. Closes the file and does not change it.
    ///
    /// The transaction may take no longer than one statement of [`PostgresOptions`]. Afterwards the
    /// entries in flight and the unknown ones belong to this instance, until it is closed.
    ///
    /// [`PostgresOptions`]: storage::postgres::PostgresOptions
    ///
    /// # Errors
    ///
    /// [`NotEmpty`](LedgerError::NotEmpty), [`NotCopied`](LedgerError::NotCopied), and the errors
    /// of reading and writing. Then nothing was written, except after
    /// [`Interrupted`](LedgerError::Interrupted): the ledger is then empty or complete.
    pub async fn import(&self, from: SqliteLedger) -> Result<Copied, LedgerError> {
        let (from, owner) = (Arc::new(from), self.0.instance.id());
        self.0
            .postgres
            .transaction(IMPORT, move |transaction| {
                let from = Arc::clone(&from);
                Box::pin(async move { copy(transaction, &from, owner).await })
            })
            .await
    }
}

async fn copy(
    transaction: &Transaction<'_>,
    from: &SqliteLedger,
    owner: i64,
) -> Result<Copied, LedgerError> {
    // The lock makes other servers on this database wait, because the comparison would miss their
    // writes.
    let lock =
        "LOCK TABLE ledger_entry, ledger_answer, ledger_place, ledger_credit, ledger_newcomer
                IN EXCLUSIVE MODE";
    transaction.query(lock, &[]).await?;
    let sql = "SELECT 1 FROM ledger_entry UNION ALL SELECT 1 FROM ledger_answer
               UNION ALL SELECT 1 FROM ledger_place
               UNION ALL SELECT 1 FROM ledger_credit UNION ALL SELECT 1 FROM ledger_newcomer LIMIT 1";
    if transaction.query_opt(sql, &[]).await?.is_some() {
        return Err(LedgerError::NotEmpty);
    }
    let mut read = Tally::default();
    let mut after = i64::MIN;
    loop {
        let rows = from.rows(after, PAGE).await?;
        let Some(last) = rows.last() else { break };
        after = last.id;
        for row in rows {
            read.entry(&row);
            write_entry(transaction, row, owner).await?;
        }
    }
    if after != i64::MIN {
        let sql = "SELECT setval('ledger_entry_id', greatest($1::bigint, 1))";
        transaction.query(sql, &[&after]).await?;
    }
    let sql = "INSERT INTO ledger_credit (payer, micro_usd, paid) VALUES ($1, $2, $3)";
    for row in from.payers().await? {
        read.payer(&row);
        let [micro_usd, paid] = row.numbers;
        transaction
            .query(sql, &[&row.name, &micro_usd, &paid])
            .await?;
    }
    let sql = "INSERT INTO ledger_newcomer (name, missing, at)
               VALUES (convert_from($1, 'UTF8'), $2, $3)";
    for row in from.newcomers().await? {
        read.newcomer(&row);
        let [missing, at] = row.numbers;
        transaction.query(sql, &[&row.name, &missing, &at]).await?;
    }
    let (read, written) = (read.finish(), written(transaction).await?);
    match read == written {
        true => Ok(written),
        false => Err(LedgerError::NotCopied {
            expected: read.to_string(),
            observed: written.to_string(),
        }),
    }
}

async fn write_entry(
    transaction: &Transaction<'_>,
    row: EntryRow,
    owner: i64,
) -> Result<(), PostgresError> {
    let sql = "INSERT INTO ledger_entry (id, attempt, owner, state, open, authorization_digest, request,
                   content, network, asset, payer, nonce, valid_before, reserved_at, changed_at, amount,
                   method, path, payment_id, attempted, private, answered, transaction_hash, receipt, cause,
                   retired, repeats, repeated)
               VALUES ($1, '', $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15::text::numeric,
                   $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)";
    let open = i16::try_from(row.open).unwrap_or(i16::MAX);
    let repeated = i16::try_from(row.repeated).unwrap_or(i16::MAX);
    transaction
        .query(
            sql,
            &[
                &row.id,
                &owner,
                &code(row.state),
                &open,
                &row.authorization,
                &row.request,
                &row.content,
                &row.network,
                &row.asset,
                &row.payer,
                &row.nonce,
                &row.valid_before,
                &row.reserved_at,
                &row.changed_at,
                &row.amount,
                &row.method,
                &row.path,
                &row.payment_id,
                &row.attempted,
                &row.private,
                &row.answer.is_some(),
                &row.transaction,
                &row.receipt,
                &row.cause,
                &row.retired,
                &row.repeats,
                &repeated,
            ],
        )
        .await?;
    if let Some(place) = row.place {
        let sql = "INSERT INTO ledger_place (entry, digest, is_action, is_delivered)
                   VALUES ($1, $2, $3, $4)";
        transaction
            .query(
                sql,
                &[
                    &row.id,
                    &place.digest,
                    &place.is_action,
                    &place.is_delivered,
                ],
            )
            .await?;
    }
    let Some(answer) = row.answer else {
        return Ok(());
    };
    let sql = "INSERT INTO ledger_answer (entry, payload, requirements, status, headers, body_digest, body)
               VALUES ($1, $2, $3, $4, $5, $6, $7)";
    transaction
        .query(
            sql,
            &[
                &row.id,
                &answer.payload,
                &answer.requirements,
                &answer.status,
                &answer.headers,
                &answer.body_digest,
                &answer.body,
            ],
        )
        .await?;
    Ok(())
}

/// Reads the rows of the tables back, and counts and hashes them.
async fn written(transaction: &Transaction<'_>) -> Result<Copied, PostgresError> {
    let sql = "SELECT e.id, e.state, e.open, e.authorization_digest, e.request, e.content, e.network,
                   e.asset, e.payer, e.nonce, e.valid_before, e.reserved_at, e.changed_at, e.amount::text,
                   e.method, e.path, e.payment_id, e.attempted, e.private, e.transaction_hash, e.receipt,
                   e.cause, e.answered, a.payload, a.requirements, a.status, a.headers, a.body_digest,
                   a.body, e.retired, e.repeats, e.repeated, p.digest, p.is_action, p.is_delivered
               FROM ledger_entry AS e LEFT JOIN ledger_answer AS a ON a.entry = e.id
                   LEFT JOIN ledger_place AS p ON p.entry = e.id
               WHERE e.id > $1 ORDER BY e.id LIMIT $2";
    let mut tally = Tally::default();
    let mut after = i64::MIN;
    loop {
        let rows = transaction.query(sql, &[&after, &i64::from(PAGE)]).await?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            let row = entry(row)?;
            after = row.id;
            tally.entry(&row);
        }
    }
    let sql = "SELECT payer, micro_usd, paid FROM ledger_credit ORDER BY payer";
    for row in transaction.query(sql, &[]).await? {
        tally.payer(&numbers(&row)?);
    }
    let sql =
        "SELECT convert_to(name, 'UTF8') AS bytes, missing, at FROM ledger_newcomer ORDER BY bytes";
    for row in transaction.query(sql, &[]).await? {
        tally.newcomer(&numbers(&row)?);
    }
    Ok(tally.finish())
}

fn entry(row: &Row) -> Result<EntryRow, PostgresError> {
    let answer = match get(row, 22, IMPORT)? {
        false => None,
        true => Some(AnswerRow {
            payload: get(row, 23, IMPORT)?,
            requirements: get(row, 24, IMPORT)?,
            status: get(row, 25, IMPORT)?,
            headers: get(row, 26, IMPORT)?,
            body_digest: get(row, 27, IMPORT)?,
            body: get(row, 28, IMPORT)?,
        }),
    };
    let open: i16 = get(row, 2, IMPORT)?;
    let repeated: i16 = get(row, 31, IMPORT)?;
    let digest: Option<Vec<u8>> = get(row, 32, IMPORT)?;
    let place = match digest {
        None => None,
        Some(digest) => Some(PlaceRow {
            digest,
            is_action: get(row, 33, IMPORT)?,
            is_delivered: get(row, 34, IMPORT)?,
        }),
    };
    Ok(EntryRow {
        id: get(row, 0, IMPORT)?,
        state: state(row, 1, IMPORT)?,
        open: open.into(),
        authorization: get(row, 3, IMPORT)?,
        request: get(row, 4, IMPORT)?,
        content: get(row, 5, IMPORT)?,
        network: get(row, 6, IMPORT)?,
        asset: get(row, 7, IMPORT)?,
        payer: get(row, 8, IMPORT)?,
        nonce: get(row, 9, IMPORT)?,
        valid_before: get(row, 10, IMPORT)?,
        reserved_at: get(row, 11, IMPORT)?,
        changed_at: get(row, 12, IMPORT)?,
        amount: get(row, 13, IMPORT)?,
        method: get(row, 14, IMPORT)?,
        path: get(row, 15, IMPORT)?,
        payment_id: get(row, 16, IMPORT)?,
        attempted: get(row, 17, IMPORT)?,
        private: get(row, 18, IMPORT)?,
        transaction: get(row, 19, IMPORT)?,
        receipt: get(row, 20, IMPORT)?,
        cause: get(row, 21, IMPORT)?,
        retired: get(row, 29, IMPORT)?,
        repeats: get(row, 30, IMPORT)?,
        repeated: repeated.into(),
        place,
        answer,
    })
}

fn numbers(row: &Row) -> Result<NumbersRow, PostgresError> {
    Ok(NumbersRow {
        name: get(row, 0, IMPORT)?,
        numbers: [get(row, 1, IMPORT)?, get(row, 2, IMPORT)?],
    })
}
