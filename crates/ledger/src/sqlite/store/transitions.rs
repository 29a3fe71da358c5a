//! The moves of an entry in the file. Each is one conditional `UPDATE`, and the other writes of the
//! move.

use rusqlite::{Params, params};
use storage::sqlite::{number, unwritable};

use super::{
    NONE, SHA_256, Store, next_number,
    open::{Mark, amount_in, payer_in},
    state_in,
};
use crate::{
    answer::{PendingSettlement, StoredReceipt},
    error::LedgerError,
    journal::Resolution,
    spending::Spent,
    sqlite::{Failure, credit::Earning},
    state::{EntryId, State, Transition},
};

impl Store<'_> {
    /// Marks the start of the work, if the entry is still reserved.
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
        settlement: &PendingSettlement,
        now: u64,
    ) -> Result<(), Failure> {
        let id = next_number(&mut self.next_answer);
        let (first, last) = allowed(Transition::BeginSettlement);
        self.advance(
            entry,
            Transition::BeginSettlement,
            "UPDATE entry SET state = ?2, changed_at = max(changed_at, ?5), answer = ?6, private = ?7
             WHERE id = ?1 AND state BETWEEN ?3 AND ?4",
            params![
                entry.number(),
                State::Settling.code(),
                first,
                last,
                number(now),
                id,
                settlement.private,
            ],
        )?;
        let answer = &settlement.answer;
        let headers = serde_json::to_string(answer.headers()).map_err(unwritable)?;
        self.statements.execute(
            "INSERT INTO answer
             (id, entry, payload, requirements, status, headers, body_digest, body, digest_kind)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                id,
                entry.number(),
                settlement.payment.payload().raw(),
                settlement.payment.requirements_json(),
                answer.status(),
                headers,
                answer.body_digest().as_slice(),
                &answer.body()[..],
                SHA_256,
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
        self.end_charged(entry, Transition::Settle, receipt, now)
    }

    pub(in crate::sqlite) fn release(
        &mut self,
        entry: EntryId,
        reason: &str,
        spent: Spent,
        now: u64,
    ) -> Result<(), Failure> {
        self.end_uncharged(entry, Transition::Release, reason, now)?;
        if spent == Spent::NOTHING {
            return Ok(());
        }
        let payer = self.earning_of(entry)?.payer();
        self.debit(payer, spent, now)
    }

    pub(in crate::sqlite) fn resolve(
        &mut self,
        entry: EntryId,
        resolution: &Resolution,
        now: u64,
    ) -> Result<(), Failure> {
        match resolution {
            Resolution::Settled(receipt) => {
                self.end_charged(entry, Transition::ResolveSettled, receipt, now)
            }
            Resolution::Released { reason } => {
                self.end_uncharged(entry, Transition::ResolveReleased, reason, now)
            }
        }
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
            "UPDATE entry SET state = ?2,
             changed_at = iif(state = ?2, changed_at, max(changed_at, ?5)),
             transaction_hash = coalesce(?6, transaction_hash), cause = ?7, open = ?8
             WHERE id = ?1 AND state BETWEEN ?3 AND ?4",
            params![
                entry.number(),
                State::Unknown.code(),
                first,
                last,
                number(now),
                transaction,
                cause,
                Mark::Unknown.code(),
            ],
        )
    }

    pub(in crate::sqlite) fn mark_undecidable(
        &mut self,
        entry: EntryId,
        cause: &str,
        now: u64,
    ) -> Result<(), Failure> {
        let (first, last) = allowed(Transition::MarkUndecidable);
        self.advance(
            entry,
            Transition::MarkUndecidable,
            "UPDATE entry SET state = ?2, changed_at = max(changed_at, ?5), cause = ?6, open = ?7
             WHERE id = ?1 AND state BETWEEN ?3 AND ?4",
            params![
                entry.number(),
                State::Undecidable.code(),
                first,
                last,
                number(now),
                cause,
                Mark::Undecidable.code(),
            ],
        )
    }

    /// Records that the payer was charged. The payer earns the amount as credit.
    fn end_charged(
        &mut self,
        entry: EntryId,
        transition: Transition,
        receipt: &StoredReceipt,
        now: u64,
    ) -> Result<(), Failure> {
        let id = next_number(&mut self.next_receipt);
        let (first, last) = allowed(transition);
        self.advance(
            entry,
            transition,
            "UPDATE entry SET state = ?2, changed_at = max(changed_at, ?5), receipt = ?6, open = 0
             WHERE id = ?1 AND state BETWEEN ?3 AND ?4",
            params![
                entry.number(),
                State::Settled.code(),
                first,
                last,
                number(now),
                id
            ],
        )?;
        let earning = self.earning_of(entry)?;
        self.credit.earn(earning);
        self.statements.execute(
            "INSERT INTO receipt (id, entry, transaction_hash, header) VALUES (?1, ?2, ?3, ?4)",
            params![id, entry.number(), receipt.transaction, receipt.header],
        )?;
        Ok(())
    }

    /// Records that the payer was not charged, and deletes the answer.
    fn end_uncharged(
        &mut self,
        entry: EntryId,
        transition: Transition,
        reason: &str,
        now: u64,
    ) -> Result<(), Failure> {
        let (first, last) = allowed(transition);
        // Only an entry in settlement has an answer, and this one is not paid for.
        self.statements.execute(
            "DELETE FROM answer WHERE id =
             (SELECT answer FROM entry WHERE id = ?1 AND state BETWEEN ?2 AND ?3)",
            params![entry.number(), first, last],
        )?;
        self.advance(
            entry,
            transition,
            "UPDATE entry SET state = ?2, changed_at = max(changed_at, ?5),
             attempted = (attempted OR answer <> ?6), answer = ?6, cause = ?7, open = 0, payment_id = NULL,
             retired = (?8 AND (attempted OR answer <> ?6))
             WHERE id = ?1 AND state BETWEEN ?3 AND ?4",
            params![
                entry.number(),
                State::Released.code(),
                first,
                last,
                number(now),
                NONE,
                reason,
                transition == Transition::ResolveReleased
            ],
        )?;
        Ok(self.free_place(entry)?)
    }

    /// Reads the payer and the amount of an entry.
    fn earning_of(&mut self, entry: EntryId) -> rusqlite::Result<Earning> {
        self.statements
            .get("SELECT payer, amount FROM entry WHERE id = ?1")?
            .query_row([entry.number()], |row| {
                Ok(Earning::new(payer_in(row, 0)?, amount_in(row, 1)?))
            })
    }

    /// Runs a conditional update. When it matches no row, returns an error with the state of the
    /// entry.
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

/// The first and the last state from which a move is allowed, in their stored form.
fn allowed(transition: Transition) -> (i64, i64) {
    let states = transition.from();
    (states.start().code(), states.end().code())
}
