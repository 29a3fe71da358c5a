//! Claims of authorizations in the file, and their retirement.

use alloy_primitives::B256;
use rusqlite::params;
use storage::sqlite::number;
use x402_wire::Payment;

use super::{NONE, Store, next_number, open::Mark, state_in};
use crate::{
    claim::Claim,
    column::{Digest, kept},
    sqlite::Failure,
    state::{EntryId, State},
    status::PaymentStatus,
};

/// The result of a claim.
#[derive(Debug)]
pub(in crate::sqlite) enum Claimed {
    Reserved(EntryId),
    Known(PaymentStatus),
    IdentifierTaken(Taken),
}

/// The other authorization that uses a payer's payment identifier. The caller parses its payment,
/// because all calls share the time of the writer.
#[derive(Debug)]
pub(in crate::sqlite) struct Taken {
    transaction: Option<String>,
    /// The payload and the requirements, as long as they are stored.
    payment: Option<(String, String)>,
    same_request: bool,
}

impl Taken {
    pub(in crate::sqlite) fn into_status(self) -> PaymentStatus {
        let payment = self.payment.and_then(|(payload, requirements)| {
            Payment::restore(payload.as_bytes(), requirements.as_bytes()).ok()
        });
        PaymentStatus::IdentifierTaken {
            transaction: self.transaction,
            key: payment.map(|payment| payment.key()),
            same_request: self.same_request,
        }
    }
}

/// Selects the entry of a payer's payment identifier. A released entry has no identifier any more,
/// so at most one row matches.
pub(in crate::sqlite) const TAKEN: &str = "SELECT state, answer, receipt, transaction_hash, content
     FROM entry WHERE payer = ?1 AND payment_id = ?2";

impl Store<'_> {
    pub(in crate::sqlite) fn reserve(
        &mut self,
        digest: B256,
        claim: &Claim,
    ) -> Result<Claimed, Failure> {
        let digest = kept(digest);
        let found = self.entry_of(&digest)?;
        if let Some(found) = &found
            && let Some(status) = self.status(found, claim.request.digest(), claim.now)?
        {
            return Ok(Claimed::Known(status));
        }
        if let Some(payment_id) = &claim.payment_id
            && let Some(taken) = self.taken(claim, payment_id)?
        {
            return Ok(Claimed::IdentifierTaken(taken));
        }
        let attempted = match found {
            Some(released) => self.forget_released(released.entry)?,
            None => false,
        };
        Ok(Claimed::Reserved(self.insert(digest, claim, attempted)?))
    }

    /// Returns the other authorization that has the payer's identifier, unless it was released.
    fn taken(&mut self, claim: &Claim, payment_id: &str) -> rusqlite::Result<Option<Taken>> {
        let identifier = params![claim.key.payer.as_slice(), payment_id];
        let found = self.statements.find(TAKEN, identifier, |row| {
            let content: Option<[u8; 32]> = row.get(4)?;
            let (answer, receipt): (i64, i64) = (row.get(1)?, row.get(2)?);
            let same_request = content.is_some_and(|c| claim.request.content_digest() == c);
            Ok((
                state_in(row, 0)?,
                answer,
                receipt,
                row.get(3)?,
                same_request,
            ))
        })?;
        let Some((state, answer, receipt, kept, same_request)) = found else {
            return Ok(None);
        };
        let transaction = match state {
            State::Settled => Some(self.settled_by(receipt, kept)?),
            _ => None,
        };
        let sql = "SELECT payload, requirements FROM answer WHERE id = ?1";
        let payment = match answer {
            NONE => None,
            _ => self
                .statements
                .find(sql, [answer], |row| Ok((row.get(0)?, row.get(1)?)))?,
        };
        Ok(Some(Taken {
            transaction,
            payment,
            same_request,
        }))
    }

    /// Retires the authorization of an entry. Returns `false` unless it is released and no
    /// settlement of it was attempted.
    pub(in crate::sqlite) fn retire(&mut self, entry: EntryId) -> Result<bool, Failure> {
        let sql = "UPDATE entry SET retired = 1 WHERE id = ?1 AND state = ?2 AND attempted = 0";
        let released = params![entry.number(), State::Released.code()];
        Ok(self.statements.execute(sql, released)? > 0)
    }

    /// Deletes a released entry before a new reservation of its authorization. Returns whether a
    /// settlement of it was attempted.
    fn forget_released(&mut self, entry: EntryId) -> rusqlite::Result<bool> {
        let sql = "SELECT attempted FROM entry WHERE id = ?1";
        let attempted = self
            .statements
            .get(sql)?
            .query_row([entry.number()], |row| row.get(0))?;
        let sql = "DELETE FROM entry WHERE id = ?1 AND state = ?2";
        let released = params![entry.number(), State::Released.code()];
        self.statements.execute(sql, released)?;
        Ok(attempted)
    }

    /// Inserts a reserved entry of an authorization that has no entry.
    fn insert(
        &mut self,
        digest: Digest,
        claim: &Claim,
        attempted: bool,
    ) -> rusqlite::Result<EntryId> {
        let id = next_number(&mut self.next_entry);
        let now = number(claim.now);
        let content = claim.request.content_digest();
        self.statements.execute(
            "INSERT INTO entry (id, state, authorization, request, payer, valid_before,
             reserved_at, changed_at, amount, method, path, payment_id, content,
             attempted, open, network, asset, nonce)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
             ?15, ?16, ?17)",
            params![
                id,
                State::Reserved.code(),
                digest,
                claim.request.digest().as_slice(),
                claim.key.payer.as_slice(),
                number(claim.valid_before),
                now,
                claim.amount.to_string(),
                claim.request.method(),
                claim.request.path(),
                claim.payment_id,
                claim.payment_id.is_some().then_some(content.as_slice()),
                attempted,
                Mark::InFlight.code(),
                claim.key.network.to_string(),
                claim.key.asset.as_slice(),
                claim.key.nonce.as_slice(),
            ],
        )?;
        Ok(EntryId::new(id))
    }
}
