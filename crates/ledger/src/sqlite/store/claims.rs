//! Claims of authorizations in the file, and their retirement.

use alloy_primitives::B256;
use rusqlite::params;
use storage::sqlite::number;

use super::{Store, next_number, open::Mark};
use crate::{
    claim::Claim,
    column::{Digest, kept},
    sqlite::Failure,
    state::{EntryId, State},
    status::Reservation,
};

impl Store<'_> {
    pub(in crate::sqlite) fn reserve(
        &mut self,
        digest: B256,
        claim: &Claim,
    ) -> Result<Reservation, Failure> {
        let digest = kept(digest);
        let found = self.entry_of(&digest)?;
        if let Some(found) = &found
            && let Some(status) = self.status(found, claim.request.digest(), claim.now)?
        {
            return Ok(Reservation::Known(status));
        }
        self.reserve_beside_others(claim, |store| {
            let attempted = match found {
                Some(released) => store.forget_released(released.entry)?,
                None => false,
            };
            Ok(store.insert(digest, claim, attempted)?)
        })
    }

    /// Retires the authorization of an entry. Returns `false` unless it is released and no
    /// settlement of it was attempted, or only one that was refused for good.
    pub(in crate::sqlite) fn retire(
        &mut self,
        entry: EntryId,
        is_refused: bool,
    ) -> Result<bool, Failure> {
        let sql = "UPDATE entry SET retired = 1
                   WHERE id = ?1 AND state = ?2 AND (?3 OR attempted = 0)";
        let released = params![entry.number(), State::Released.code(), is_refused];
        Ok(self.statements.execute(sql, released)? > 0)
    }

    /// Deletes a released entry before a new reservation of its authorization. Returns whether a
    /// settlement of it was attempted.
    pub(super) fn forget_released(&mut self, entry: EntryId) -> rusqlite::Result<bool> {
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
    pub(super) fn insert(
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
