//! The status of an authorization.

use alloy_primitives::B256;
use bytes::Bytes;
use rusqlite::params;
use storage::sqlite::{damaged, unsigned};

use super::{NONE, Store, body_digest, state_in};
use crate::{
    answer::{Header, PaidAnswer, StoredAnswer, StoredReceipt},
    column::{Digest, kept},
    sqlite::Failure,
    state::{EntryId, State},
    status::{PaymentRecord, PaymentStatus},
};

/// The part of an entry that decides its status for a request.
pub(super) struct Found {
    pub(super) entry: EntryId,
    state: State,
    request: B256,
    changed_at: u64,
    answer: i64,
    receipt: i64,
    transaction: Option<String>,
    private: bool,
    /// Whether a settlement was attempted before the entry was released.
    attempted: bool,
    /// The purchase whose answer the authorization got, as its repetition.
    repeats: Option<EntryId>,
}

impl Store<'_> {
    pub(in crate::sqlite) fn find(
        &mut self,
        digest: B256,
        request: B256,
        now: u64,
    ) -> Result<Option<PaymentStatus>, Failure> {
        match self.entry_of(&kept(digest))? {
            Some(found) => self.status(&found, request, now),
            None => Ok(None),
        }
    }

    pub(in crate::sqlite) fn look_up(
        &mut self,
        digest: B256,
    ) -> Result<Option<PaymentRecord>, Failure> {
        let Some(found) = self.entry_of(&kept(digest))? else {
            return Ok(None);
        };
        let (entry, state) = (found.entry, found.state);
        let sql = "SELECT cause, attempted, retired FROM entry WHERE id = ?1";
        let (cause, attempted, is_retired): (Option<String>, bool, bool) = self
            .statements
            .get(sql)?
            .query_row([entry.number()], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })?;
        let transaction = match state {
            State::Settled => Some(self.settled_by(found.receipt, found.transaction)?),
            State::Unknown | State::Undecidable => found.transaction,
            _ => found.transaction.filter(|_| found.repeats.is_some()),
        };
        Ok(Some(PaymentRecord {
            entry,
            state,
            since: found.changed_at,
            is_repetition: found.repeats.is_some(),
            is_retired,
            transaction: transaction.filter(|transaction| !transaction.is_empty()),
            // A settled entry may still have the cause from the time when it was unknown.
            reason: cause.filter(|_| state != State::Settled),
            attempted: match state {
                State::Reserved | State::Working | State::Released => attempted,
                State::Settling | State::Unknown | State::Settled | State::Undecidable => true,
            },
        }))
    }

    pub(super) fn entry_of(&mut self, digest: &Digest) -> rusqlite::Result<Option<Found>> {
        let sql =
            "SELECT id, state, request, changed_at, answer, receipt, transaction_hash, private, attempted,
                   repeats FROM entry WHERE authorization = ?1";
        self.statements.find(sql, params![digest], |row| {
            Ok(Found {
                entry: EntryId::new(row.get(0)?),
                state: state_in(row, 1)?,
                request: row.get::<_, [u8; 32]>(2)?.into(),
                changed_at: unsigned(row, 3)?,
                answer: row.get(4)?,
                receipt: row.get(5)?,
                transaction: row.get(6)?,
                private: row.get(7)?,
                attempted: row.get(8)?,
                repeats: row.get::<_, Option<i64>>(9)?.map(EntryId::new),
            })
        })
    }

    /// Returns the status of a found entry for a request. `None` when it is released and this
    /// request may reserve it again.
    pub(super) fn status(
        &mut self,
        found: &Found,
        request: B256,
        now: u64,
    ) -> Result<Option<PaymentStatus>, Failure> {
        let is_of_request = found.request == request;
        if let Some(first) = found.repeats {
            return Ok(Some(match is_of_request {
                true => self.repetition(first, found, now)?,
                false => PaymentStatus::BoundElsewhere,
            }));
        }
        if found.state == State::Released && (is_of_request || !found.attempted) {
            return Ok(self.retired(found.entry)?);
        }
        if !is_of_request {
            return Ok(Some(PaymentStatus::BoundElsewhere));
        }
        let (entry, transaction) = (found.entry, || found.transaction.clone());
        Ok(Some(match found.state {
            State::Unknown => PaymentStatus::Unknown {
                entry,
                transaction: transaction(),
            },
            State::Undecidable => PaymentStatus::Undecidable {
                entry,
                transaction: transaction(),
            },
            State::Settled => self.settled(found, now)?,
            state => PaymentStatus::InFlight { entry, state },
        }))
    }

    /// Returns the status of a settled purchase, for its repetitions: [`PaymentStatus::Answered`]
    /// or [`PaymentStatus::AnswerExpired`]. `None` when the entry is not settled or does not exist.
    pub(super) fn purchase(
        &mut self,
        entry: EntryId,
        now: u64,
    ) -> Result<Option<PaymentStatus>, Failure> {
        let sql = "SELECT authorization FROM entry WHERE id = ?1 AND state = ?2";
        let settled = params![entry.number(), State::Settled.code()];
        let digest: Option<Digest> = self.statements.find(sql, settled, |row| row.get(0))?;
        let Some(digest) = digest else {
            return Ok(None);
        };
        let Some(found) = self.entry_of(&digest)? else {
            return Ok(None);
        };
        Ok(Some(match self.settled(&found, now)? {
            PaymentStatus::Answered(stored) => PaymentStatus::Answered(StoredAnswer {
                is_repetition: true,
                ..stored
            }),
            status => status,
        }))
    }

    /// Returns the status of an authorization that was answered as a repetition of a purchase.
    fn repetition(
        &mut self,
        first: EntryId,
        own: &Found,
        now: u64,
    ) -> Result<PaymentStatus, Failure> {
        let purchase = self.purchase(first, now)?;
        Ok(purchase.unwrap_or_else(|| PaymentStatus::AnswerExpired {
            transaction: own.transaction.clone().unwrap_or_default(),
        }))
    }

    /// Returns the status of a released entry whose authorization is retired.
    fn retired(&mut self, entry: EntryId) -> rusqlite::Result<Option<PaymentStatus>> {
        let sql = "SELECT cause FROM entry WHERE id = ?1 AND retired = 1";
        let cause = |row: &rusqlite::Row<'_>| row.get::<_, Option<String>>(0);
        let cause = self.statements.find(sql, [entry.number()], cause)?;
        Ok(cause.map(|cause| PaymentStatus::Retired {
            reason: cause.unwrap_or_default(),
        }))
    }

    fn settled(&mut self, found: &Found, now: u64) -> Result<PaymentStatus, Failure> {
        let retention = self.options.answer_retention(found.private);
        if found.changed_at.saturating_add(retention) <= now || found.answer == NONE {
            let transaction = self.settled_by(found.receipt, found.transaction.clone())?;
            return Ok(PaymentStatus::AnswerExpired { transaction });
        }
        Ok(PaymentStatus::Answered(StoredAnswer {
            answer: self.read_answer(found.answer)?,
            receipt: self.read_receipt(found.receipt)?,
            settled_at: found.changed_at,
            entry: found.entry,
            is_repetition: false,
        }))
    }

    /// Returns the transaction of a settled entry. It is in the receipt or, after the receipt was
    /// deleted, in the entry (`kept`).
    pub(super) fn settled_by(
        &mut self,
        receipt: i64,
        kept: Option<String>,
    ) -> rusqlite::Result<String> {
        match receipt {
            NONE => Ok(kept.unwrap_or_default()),
            _ => Ok(self.read_receipt(receipt)?.transaction),
        }
    }

    fn read_answer(&mut self, id: i64) -> rusqlite::Result<PaidAnswer> {
        self.statements
            .get(
                "SELECT status, headers, body_digest, body, digest_kind FROM answer WHERE id = ?1",
            )?
            .query_row([id], |row| {
                let headers: String = row.get(1)?;
                let headers: Vec<Header> = serde_json::from_str(&headers).map_err(damaged)?;
                let body: Bytes = row.get::<_, Vec<u8>>(3)?.into();
                let digest = body_digest(row.get(2)?, row.get(4)?, &body);
                Ok(PaidAnswer::restored(row.get(0)?, headers, body, digest))
            })
    }

    fn read_receipt(&mut self, id: i64) -> rusqlite::Result<StoredReceipt> {
        self.statements
            .get("SELECT header, transaction_hash FROM receipt WHERE id = ?1")?
            .query_row([id], |row| {
                Ok(StoredReceipt {
                    header: row.get(0)?,
                    transaction: row.get(1)?,
                })
            })
    }
}
