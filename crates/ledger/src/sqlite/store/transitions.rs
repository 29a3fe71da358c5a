//! The moves of an entry: each one conditional `UPDATE`, and what is written along with it.

use rusqlite::{Params, params};

use super::{NONE, Store, next_number, state_in, stored};
use crate::{
    answer::{Settlement, StoredReceipt},
    error::LedgerError,
    sqlite::failure::Failure,
    state::{EntryId, State, Transition},
};

impl Store<'_> {
    /// Notes the start of the work, if the entry still waits for it.
    pub(in crate::sqlite) fn start_work(&mut self, entry: EntryId) -> rusqlite::Result<()> {
        let (first, last) = allowed(Transition::StartWork);
        let state = Transition::StartWork.to().code();
        self.statements
            .execute(
                "UPDATE entry SET state = ?2 WHERE id = ?1 AND state BETWEEN ?3 AND ?4",
                params![entry.number(), state, first, last],
            )
            .map(drop)
    }

    pub(in crate::sqlite) fn begin_settlement(
        &mut self,
        entry: EntryId,
        settlement: &Settlement,
        now: u64,
    ) -> Result<(), Failure> {
        let id = next_number(&mut self.next_answer);
        let (first, last) = allowed(Transition::BeginSettlement);
        self.advance(
            entry,
            Transition::BeginSettlement,
            "UPDATE entry SET state = ?2, changed_at = ?5, answer = ?6
             WHERE id = ?1 AND state BETWEEN ?3 AND ?4",
            params![
                entry.number(),
                State::Settling.code(),
                first,
                last,
                stored(now),
                id
            ],
        )?;
        let answer = &settlement.answer;
        let headers = serde_json::to_string(answer.headers())
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        self.statements.execute(
            "INSERT INTO answer
             (id, entry, payload, requirements, status, headers, body_digest, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                id,
                entry.number(),
                settlement.payment.payload().raw(),
                settlement.payment.requirements_json(),
                answer.status(),
                headers,
                answer.body_digest().as_slice(),
                &answer.body()[..],
            ],
        )?;
        Ok(())
    }

    pub(in crate::sqlite) fn settle(
        &mut self,
        entry: EntryId,
        receipt: &StoredReceipt,
        now: u64,
    ) -> Result<(), Failure> {
        let id = next_number(&mut self.next_receipt);
        let (first, last) = allowed(Transition::Settle);
        self.advance(
            entry,
            Transition::Settle,
            "UPDATE entry SET state = ?2, changed_at = ?5, receipt = ?6, open = 0
             WHERE id = ?1 AND state BETWEEN ?3 AND ?4",
            params![
                entry.number(),
                State::Settled.code(),
                first,
                last,
                stored(now),
                id
            ],
        )?;
        self.seen()?.0.landed(entry.number());
        self.statements.execute(
            "INSERT INTO receipt (id, entry, transaction_hash, header) VALUES (?1, ?2, ?3, ?4)",
            params![id, entry.number(), receipt.transaction, receipt.header],
        )?;
        Ok(())
    }

    pub(in crate::sqlite) fn release(
        &mut self,
        entry: EntryId,
        reason: &str,
        now: u64,
    ) -> Result<(), Failure> {
        // Only what came to settlement has an answer; nobody has paid for it.
        self.statements.execute(
            "DELETE FROM answer WHERE id =
             (SELECT answer FROM entry WHERE id = ?1 AND state BETWEEN ?2 AND ?3)",
            params![
                entry.number(),
                State::Settling.code(),
                State::Unknown.code()
            ],
        )?;
        let (first, last) = allowed(Transition::Release);
        self.advance(
            entry,
            Transition::Release,
            "UPDATE entry SET state = ?2, changed_at = ?5, answer = ?6, cause = ?7, open = 0,
             payment_id = NULL
             WHERE id = ?1 AND state BETWEEN ?3 AND ?4",
            params![
                entry.number(),
                State::Released.code(),
                first,
                last,
                stored(now),
                NONE,
                reason
            ],
        )?;
        self.seen()?.0.landed(entry.number());
        Ok(())
    }

    pub(in crate::sqlite) fn mark_unknown(
        &mut self,
        entry: EntryId,
        transaction: Option<&str>,
        cause: &str,
        now: u64,
    ) -> Result<(), Failure> {
        let (first, last) = allowed(Transition::MarkUnknown);
        self.advance(
            entry,
            Transition::MarkUnknown,
            "UPDATE entry SET state = ?2, changed_at = iif(state = ?2, changed_at, ?5),
             transaction_hash = coalesce(?6, transaction_hash), cause = ?7, open = 1
             WHERE id = ?1 AND state BETWEEN ?3 AND ?4",
            params![
                entry.number(),
                State::Unknown.code(),
                first,
                last,
                stored(now),
                transaction,
                cause
            ],
        )?;
        self.seen()?.0.landed(entry.number());
        Ok(())
    }

    /// Runs a conditional update and says what stood in its way if it found nothing.
    fn advance(
        &mut self,
        entry: EntryId,
        transition: Transition,
        sql: &'static str,
        params: impl Params,
    ) -> Result<(), Failure> {
        if self.statements.execute(sql, params)? == 1 {
            return Ok(());
        }
        let observed = "SELECT state FROM entry WHERE id = ?1";
        let observed = self
            .statements
            .find(observed, [entry.number()], |row| state_in(row, 0))?;
        Err(Failure::Refused(match observed {
            Some(observed) => LedgerError::WrongState {
                entry,
                transition,
                expected: transition.from(),
                observed,
            },
            None => LedgerError::NoSuchEntry { entry },
        }))
    }
}

/// The first and the last state from which a move is allowed, as they are stored.
fn allowed(transition: Transition) -> (i64, i64) {
    let states = transition.from();
    (states.start().code(), states.end().code())
}
