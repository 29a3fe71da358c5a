//! The status of an authorization.

use alloy_primitives::B256;
use storage::postgres::{Postgres, PostgresError, Row, bytes, damaged, get, unsigned};

use super::{Inner, Params, state};
use crate::{
    answer::{Header, PaidAnswer, StoredAnswer, StoredReceipt},
    column::kept,
    error::LedgerError,
    state::{EntryId, State},
    status::{PaymentRecord, PaymentStatus},
};

const FIND: &str = "find";

/// The part of an entry that decides its status for a request.
struct Found {
    entry: EntryId,
    state: State,
    request: B256,
    changed_at: u64,
    transaction: Option<String>,
    private: bool,
    receipt: Option<String>,
    attempted: bool,
    cause: Option<String>,
    retired: bool,
    /// The purchase whose answer the authorization got, as its repetition.
    repeats: Option<EntryId>,
}

impl Found {
    fn read(row: &Row) -> Result<Self, PostgresError> {
        Ok(Self {
            entry: EntryId::new(get(row, 0, FIND)?),
            state: state(row, 1, FIND)?,
            request: bytes(row, 2, FIND)?.into(),
            changed_at: unsigned(row, 3, FIND)?,
            transaction: get(row, 4, FIND)?,
            private: get(row, 5, FIND)?,
            receipt: get(row, 6, FIND)?,
            attempted: get(row, 7, FIND)?,
            cause: get(row, 8, FIND)?,
            retired: get(row, 9, FIND)?,
            repeats: get::<Option<i64>>(row, 10, FIND)?.map(EntryId::new),
        })
    }
}

/// Whether the authorization with this digest has an entry that is not settled.
pub(crate) async fn is_unsettled(
    postgres: &Postgres,
    authorization: B256,
) -> Result<bool, LedgerError> {
    let sql = "SELECT state FROM ledger_entry WHERE authorization_digest = $1";
    let digest: &[u8] = &kept(authorization);
    let row = postgres.query_opt(FIND, sql, &[&digest]).await?;
    let found = row.as_ref().map(|row| state(row, 0, FIND)).transpose()?;
    Ok(found.is_some_and(|state| state != State::Settled))
}

impl Inner {
    async fn entry_of(&self, digest: &[u8]) -> Result<Option<Found>, PostgresError> {
        let sql = "SELECT id, state, request, changed_at, transaction_hash, private, receipt, attempted, cause,
                       retired, repeats
                   FROM ledger_entry WHERE authorization_digest = $1";
        let row = self.postgres.query_opt(FIND, sql, &[&digest]).await?;
        row.as_ref().map(Found::read).transpose()
    }

    /// Returns the status of the authorization's entry for a request; `None` when this request may
    /// reserve the authorization.
    pub(super) async fn find(
        &self,
        digest: &[u8],
        request: B256,
        now: u64,
    ) -> Result<Option<PaymentStatus>, LedgerError> {
        let Some(found) = self.entry_of(digest).await? else {
            return Ok(None);
        };
        let is_of_request = found.request == request;
        if let Some(first) = found.repeats {
            if !is_of_request {
                return Ok(Some(PaymentStatus::BoundElsewhere));
            }
            let purchase = self.purchase(first, now).await?;
            let transaction = found.transaction.unwrap_or_default();
            return Ok(Some(
                purchase.unwrap_or(PaymentStatus::AnswerExpired { transaction }),
            ));
        }
        if found.state == State::Released && (is_of_request || !found.attempted) {
            let reason = found.cause.unwrap_or_default();
            return Ok(found.retired.then_some(PaymentStatus::Retired { reason }));
        }
        if !is_of_request {
            return Ok(Some(PaymentStatus::BoundElsewhere));
        }
        let (entry, transaction) = (found.entry, found.transaction);
        Ok(Some(match found.state {
            State::Unknown => PaymentStatus::Unknown { entry, transaction },
            State::Undecidable => PaymentStatus::Undecidable { entry, transaction },
            State::Settled => {
                let transaction = transaction.unwrap_or_default();
                let retention = self.options.answer_retention(found.private);
                let kept = found.changed_at.saturating_add(retention) > now;
                match (kept, found.receipt) {
                    (true, Some(header)) => match self.answer_of(entry).await? {
                        Some(answer) => PaymentStatus::Answered(StoredAnswer {
                            answer,
                            receipt: StoredReceipt {
                                header,
                                transaction,
                            },
                            settled_at: found.changed_at,
                            entry,
                            is_repetition: false,
                        }),
                        None => PaymentStatus::AnswerExpired { transaction },
                    },
                    _ => PaymentStatus::AnswerExpired { transaction },
                }
            }
            state => PaymentStatus::InFlight {
                entry,
                state: self.with_note(entry, state),
            },
        }))
    }

    pub(super) async fn look_up(
        &self,
        digest: &[u8],
    ) -> Result<Option<PaymentRecord>, LedgerError> {
        let Some(found) = self.entry_of(digest).await? else {
            return Ok(None);
        };
        let transaction = match found.state {
            State::Settled | State::Unknown | State::Undecidable => found.transaction,
            _ => found.transaction.filter(|_| found.repeats.is_some()),
        };
        Ok(Some(PaymentRecord {
            entry: found.entry,
            state: self.with_note(found.entry, found.state),
            since: found.changed_at,
            is_repetition: found.repeats.is_some(),
            is_retired: found.retired,
            transaction: transaction.filter(|transaction| !transaction.is_empty()),
            // A settled entry may still have the cause from the time when it was unknown.
            reason: found.cause.filter(|_| found.state != State::Settled),
            attempted: match found.state {
                State::Reserved | State::Working | State::Released => found.attempted,
                State::Settling | State::Unknown | State::Settled | State::Undecidable => true,
            },
        }))
    }

    async fn answer_of(&self, entry: EntryId) -> Result<Option<PaidAnswer>, LedgerError> {
        const READ: &str = "read_answer";
        let sql = "SELECT status, headers, body_digest, body FROM ledger_answer WHERE entry = $1";
        let params: Params<'_> = &[&entry.number()];
        let Some(row) = self.postgres.query_opt(READ, sql, params).await? else {
            return Ok(None);
        };
        let status: i16 = get(&row, 0, READ)?;
        let headers: &str = get(&row, 1, READ)?;
        let headers: Vec<Header> = serde_json::from_str(headers)
            .map_err(|_| damaged(READ, "the headers of an answer are no list"))?;
        let body: Vec<u8> = get(&row, 3, READ)?;
        let digest: [u8; 32] = bytes(&row, 2, READ)?;
        let status = u16::try_from(status).map_err(|_| damaged(READ, "a status is negative"))?;
        let answer = PaidAnswer::restored(status, headers, body.into(), digest.into());
        match answer.is_intact() {
            true => Ok(Some(answer)),
            false => Err(damaged(READ, "the body has another digest").into()),
        }
    }
}
