//! Purchases in the file: places, identifiers, and authorizations that repeat a purchase.

use alloy_primitives::{Address, B256};
use rusqlite::{Row, params};
use storage::sqlite::{damaged, unsigned};
use x402_wire::{AuthorizationKey, Network};

use super::{Store, state_in};
use crate::{
    claim::Claim,
    column::kept,
    error::LedgerError,
    purchase::{Holder, MAX_REPETITIONS, Occupant, Purchase, REPETITION, Repeated, Standing},
    sqlite::Failure,
    state::{EntryId, State, Transition},
    status::{PaymentStatus, Reservation},
};

/// Selects the entry of a payer's payment identifier. A released entry has no identifier any more,
/// so at most one row matches.
pub(in crate::sqlite) const TAKEN: &str =
    "SELECT id, network, asset, nonce, state, receipt, transaction_hash, content
     FROM entry WHERE payer = ?1 AND payment_id = ?2";

/// Selects the holder of a place.
const HOLDER: &str =
    "SELECT e.id, e.network, e.asset, e.nonce, e.state, e.receipt, e.transaction_hash,
     p.is_action, p.is_delivered, e.changed_at
     FROM place AS p JOIN entry AS e ON e.id = p.entry WHERE p.digest = ?1";

/// What other purchases of the payer mean for a claim.
enum Others {
    None,
    Undecidable,
    Status(PaymentStatus),
}

impl Store<'_> {
    /// Returns the status that another purchase of the payer gives to a claim.
    pub(in crate::sqlite) fn occupant(
        &mut self,
        claim: &Claim,
    ) -> Result<Option<PaymentStatus>, Failure> {
        Ok(match self.others(claim)? {
            Others::Status(status) => Some(status),
            Others::None | Others::Undecidable => None,
        })
    }

    /// Lets an entry count as the purchase of a claim.
    pub(in crate::sqlite) fn prove(
        &mut self,
        entry: EntryId,
        claim: &Claim,
    ) -> Result<Reservation, Failure> {
        let sql = "SELECT state FROM entry WHERE id = ?1";
        let state = self
            .statements
            .find(sql, [entry.number()], |row| state_in(row, 0))?;
        let transition = Transition::BeginSettlement;
        match state {
            Some(State::Reserved | State::Working) => {}
            Some(observed) => {
                return Err(Failure::Refused(LedgerError::WrongState {
                    entry,
                    transition,
                    expected: transition.from(),
                    observed,
                }));
            }
            None => return Err(Failure::Refused(LedgerError::NoSuchEntry { entry })),
        }
        let reservation = match self.others(claim)? {
            Others::None => Reservation::Reserved(entry),
            Others::Undecidable => Reservation::ReservedBeside(entry),
            Others::Status(status) => return Ok(Reservation::Known(status)),
        };
        if claim.payment_id.is_some() {
            let content = claim.request.content_digest();
            self.statements.execute(
                "UPDATE entry SET payment_id = ?2, content = ?3 WHERE id = ?1",
                params![entry.number(), claim.payment_id, content.as_slice()],
            )?;
        }
        self.take_place(entry, claim)?;
        Ok(reservation)
    }

    /// Reserves the claim's authorization, unless another purchase of the payer stands for it.
    pub(super) fn reserve_beside_others(
        &mut self,
        claim: &Claim,
        reserve: impl FnOnce(&mut Self) -> Result<EntryId, Failure>,
    ) -> Result<Reservation, Failure> {
        let is_beside = match self.others(claim)? {
            Others::None => false,
            Others::Undecidable => true,
            Others::Status(status) => return Ok(Reservation::Known(status)),
        };
        let entry = reserve(self)?;
        self.take_place(entry, claim)?;
        Ok(match is_beside {
            true => Reservation::ReservedBeside(entry),
            false => Reservation::Reserved(entry),
        })
    }

    fn others(&mut self, claim: &Claim) -> Result<Others, Failure> {
        if let Some(payment_id) = &claim.payment_id {
            let status = self.taken(claim, payment_id)?;
            return Ok(status.map_or(Others::None, Others::Status));
        }
        let Some(place) = claim.place() else {
            return Ok(Others::None);
        };
        let payer = claim.key.payer;
        let found = self.statements.find(HOLDER, [&place[..]], |row| {
            let holder = Holder {
                state: state_in(row, 4)?,
                is_action: row.get(7)?,
                is_delivered: row.get(8)?,
                changed_at: unsigned(row, 9)?,
            };
            Ok((Other::read(row, payer)?, holder))
        })?;
        let Some((other, holder)) = found else {
            return Ok(Others::None);
        };
        Ok(match holder.standing(&self.options, claim.now) {
            Standing::Over => Others::None,
            Standing::Undecidable => Others::Undecidable,
            Standing::Stands => {
                let occupant = Occupant {
                    is_action: holder.is_action,
                    is_delivered: holder.is_delivered,
                    ..self.occupant_of(other)?
                };
                Others::Status(PaymentStatus::Occupied(occupant))
            }
        })
    }

    /// Returns the other authorization that has the payer's identifier, unless it was released.
    fn taken(
        &mut self,
        claim: &Claim,
        payment_id: &str,
    ) -> rusqlite::Result<Option<PaymentStatus>> {
        let (payer, own) = (claim.key.payer, claim.key);
        let identifier = params![payer.as_slice(), payment_id];
        let found = self.statements.find(TAKEN, identifier, |row| {
            let content: Option<[u8; 32]> = row.get(7)?;
            Ok((Other::read(row, payer)?, content))
        })?;
        let Some((other, content)) = found.filter(|(other, _)| other.key != Some(own)) else {
            return Ok(None);
        };
        let occupant = Occupant {
            by_identifier: true,
            ..self.occupant_of(other)?
        };
        let is_of_request = content.is_some_and(|c| claim.request.content_digest() == c);
        Ok(Some(match is_of_request {
            true => PaymentStatus::Occupied(occupant),
            false => PaymentStatus::IdentifierTaken {
                transaction: occupant.transaction,
                key: occupant.key,
            },
        }))
    }

    fn occupant_of(&mut self, other: Other) -> rusqlite::Result<Occupant> {
        let transaction = match other.state {
            State::Settled => Some(self.settled_by(other.receipt, other.transaction)?),
            _ => None,
        };
        Ok(Occupant {
            entry: other.entry,
            key: other.key,
            state: other.state,
            transaction,
            by_identifier: false,
            is_action: false,
            is_delivered: false,
        })
    }

    /// Gives the place of the claim's purchase to an entry, if the claim needs one. A holder that
    /// counts no longer loses it.
    fn take_place(&mut self, entry: EntryId, claim: &Claim) -> rusqlite::Result<()> {
        let Some(place) = claim.place() else {
            return Ok(());
        };
        let is_action = claim.purchase == Purchase::Action;
        self.statements.execute(
            "INSERT OR REPLACE INTO place (entry, digest, is_action) VALUES (?1, ?2, ?3)",
            params![entry.number(), &place[..], is_action],
        )?;
        Ok(())
    }

    /// Deletes the place of an entry, if it has one.
    pub(super) fn free_place(&mut self, entry: EntryId) -> rusqlite::Result<()> {
        let sql = "DELETE FROM place WHERE entry = ?1";
        self.statements.execute(sql, [entry.number()]).map(drop)
    }

    /// Marks that the answer of an entry was delivered.
    pub(in crate::sqlite) fn mark_delivered(&mut self, entry: EntryId) -> rusqlite::Result<()> {
        let sql = "DELETE FROM place WHERE entry = ?1 AND is_action = 0";
        if self.statements.execute(sql, [entry.number()])? == 0 {
            let sql = "UPDATE place SET is_delivered = 1 WHERE entry = ?1";
            self.statements.execute(sql, [entry.number()])?;
        }
        Ok(())
    }

    /// Answers another authorization of a settled purchase, and remembers it as a repetition.
    pub(in crate::sqlite) fn repeat(
        &mut self,
        digest: B256,
        claim: &Claim,
        first: EntryId,
    ) -> Result<Repeated, Failure> {
        let digest = kept(digest);
        let own = self.entry_of(&digest)?;
        if let Some(own) = &own
            && let Some(status) = self.status(own, claim.request.digest(), claim.now)?
        {
            return Ok(Repeated::Known(status));
        }
        let Some(purchase) = self.purchase(first, claim.now)? else {
            return Ok(Repeated::NotSettled);
        };
        let sql = "SELECT repeated FROM entry WHERE id = ?1 AND payer = ?2";
        let named = params![first.number(), claim.key.payer.as_slice()];
        let repeated: Option<u32> = self.statements.find(sql, named, |row| row.get(0))?;
        let stored = match (purchase, repeated) {
            (_, None) => return Ok(Repeated::NotSettled),
            (_, Some(MAX_REPETITIONS..)) => return Ok(Repeated::TooMany),
            (PaymentStatus::Answered(stored), Some(_)) => stored,
            (PaymentStatus::AnswerExpired { transaction }, _) => {
                return Ok(Repeated::Expired { transaction });
            }
            (status, _) => return Ok(Repeated::Known(status)),
        };
        if let Some(released) = own {
            self.forget_released(released.entry)?;
        }
        // The identifier stays with the purchase.
        let repetition = Claim {
            payment_id: None,
            ..claim.clone()
        };
        let entry = self.insert(digest, &repetition, false)?;
        self.statements.execute(
            "UPDATE entry SET state = ?2, open = 0, retired = 1, cause = ?3,
             repeats = ?4, transaction_hash = ?5 WHERE id = ?1",
            params![
                entry.number(),
                State::Released.code(),
                REPETITION,
                first.number(),
                stored.receipt.transaction,
            ],
        )?;
        let sql = "UPDATE entry SET repeated = repeated + 1 WHERE id = ?1";
        self.statements.execute(sql, [first.number()])?;
        Ok(Repeated::Answered(stored))
    }
}

/// An entry that may stand for a purchase.
struct Other {
    entry: EntryId,
    key: Option<AuthorizationKey>,
    state: State,
    receipt: i64,
    transaction: Option<String>,
}

impl Other {
    fn read(row: &Row<'_>, payer: Address) -> rusqlite::Result<Self> {
        let network: Option<String> = row.get(1)?;
        let network: Option<Network> = network
            .map(|network| network.parse())
            .transpose()
            .map_err(damaged)?;
        let asset: Option<[u8; 20]> = row.get(2)?;
        let nonce: Option<[u8; 32]> = row.get(3)?;
        let key = match (network, asset, nonce) {
            (Some(network), Some(asset), Some(nonce)) => Some(AuthorizationKey {
                network,
                asset: asset.into(),
                payer,
                nonce: nonce.into(),
            }),
            _ => None,
        };
        Ok(Self {
            entry: EntryId::new(row.get(0)?),
            key,
            state: state_in(row, 4)?,
            receipt: row.get(5)?,
            transaction: row.get(6)?,
        })
    }
}
