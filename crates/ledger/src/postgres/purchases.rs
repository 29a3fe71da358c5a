//! Purchases on PostgreSQL: places, identifiers, marks of deliveries, and authorizations that
//! repeat a purchase.

use std::{
    mem,
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};

use alloy_primitives::{Address, B256};
use storage::postgres::{PostgresError, Row, bytes, damaged, get, number, unsigned};
use x402_wire::{AuthorizationKey, Network};

use super::{Inner, Params, claims::random, code, state};
use crate::{
    answer::StoredAnswer,
    claim::Claim,
    column::kept,
    error::LedgerError,
    purchase::{Holder, MAX_REPETITIONS, Occupant, Purchase, REPETITION, Repeated, Standing},
    state::{EntryId, State, Transition},
    status::{PaymentStatus, Reservation},
};

/// The constraint by which a payer can use a payment identifier for only one authorization.
pub(super) const IDENTIFIER: &str = "ledger_entry_payment_id";

/// The constraint by which a purchase without an identifier has only one open authorization.
pub(super) const PLACE: &str = "ledger_place_digest";

/// How often an entry is proven again when another purchase has given up its place meanwhile.
const LOOKS: u32 = 5;

/// How long deliveries wait, so that one statement writes many.
const WRITTEN_AFTER: Duration = Duration::from_millis(500);

const OPERATION: &str = "purchase";

/// The entries whose answers were written whole to a connection.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    /// Those that are not written yet. A reservation frees the place that it needs if one of them
    /// has it.
    unmarked: Vec<i64>,
    /// Whether a task will write them.
    is_scheduled: bool,
}

impl Inner {
    fn delivered(&self) -> MutexGuard<'_, Delivered> {
        self.delivered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a delivery, and tries to write it within a second.
    pub(super) fn mark_delivered(self: &Arc<Self>, entry: EntryId) {
        let mut delivered = self.delivered();
        delivered.unmarked.push(entry.number());
        if mem::replace(&mut delivered.is_scheduled, true) {
            return;
        }
        drop(delivered);
        let inner = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(WRITTEN_AFTER).await;
            inner.write_deliveries().await;
        });
    }

    /// Returns the deliveries that are not written yet.
    pub(super) fn deliveries(&self) -> Vec<i64> {
        self.delivered().unmarked.clone()
    }

    /// Writes all deliveries. After a failed write they wait for the next one.
    pub(super) async fn write_deliveries(&self) {
        const SQL: &str = "WITH freed AS (
                 DELETE FROM ledger_place WHERE entry IN (
                     SELECT entry FROM ledger_place WHERE entry = ANY ($1::bigint[]) AND NOT is_action
                     FOR UPDATE SKIP LOCKED)
             )
             UPDATE ledger_place SET is_delivered = true WHERE entry IN (
                 SELECT entry FROM ledger_place WHERE entry = ANY ($1::bigint[]) AND is_action
                 FOR UPDATE SKIP LOCKED)";
        let entries = {
            let mut delivered = self.delivered();
            delivered.is_scheduled = false;
            mem::take(&mut delivered.unmarked)
        };
        if entries.is_empty() {
            return;
        }
        let params: Params<'_> = &[&entries];
        if let Err(error) = self.postgres.query("mark_delivered", SQL, params).await {
            let error = LedgerError::from(error);
            tracing::warn!(code = error.code(), %error, "deliveries cannot be marked");
            self.delivered().unmarked.extend(entries);
        }
    }

    /// Returns the status that another purchase of the payer gives to a claim.
    pub(super) async fn occupant(
        &self,
        claim: &Claim,
    ) -> Result<Option<PaymentStatus>, LedgerError> {
        match self.others(claim).await? {
            Others::Status(status) => Ok(Some(status)),
            Others::None | Others::Over { .. } => Ok(None),
        }
    }

    /// Frees the place that a claim needs if its holder counts no longer. Returns the status of the
    /// claim otherwise. Sets `is_beside` when the holder may have been charged.
    pub(super) async fn make_room(
        &self,
        claim: &Claim,
        is_beside: &mut bool,
    ) -> Result<Option<PaymentStatus>, LedgerError> {
        match self.others(claim).await? {
            Others::None => Ok(None),
            Others::Status(status) => Ok(Some(status)),
            Others::Over {
                entry,
                is_undecidable,
            } => {
                let sql = "DELETE FROM ledger_place WHERE entry = $1 RETURNING entry";
                let freed = self.postgres.query_opt(OPERATION, sql, &[&entry]).await?;
                *is_beside |= is_undecidable && freed.is_some();
                Ok(None)
            }
        }
    }

    async fn others(&self, claim: &Claim) -> Result<Others, LedgerError> {
        if claim.payment_id.is_some() {
            let status = self.taken(claim).await?;
            return Ok(status.map_or(Others::None, Others::Status));
        }
        let Some(place) = claim.place() else {
            return Ok(Others::None);
        };
        let sql = "SELECT p.entry, e.network, e.asset, e.nonce, e.state, e.transaction_hash,
                       p.is_action, p.is_delivered, e.changed_at, e.id IS NULL
                   FROM ledger_place AS p LEFT JOIN ledger_entry AS e ON e.id = p.entry
                   WHERE p.digest = $1";
        let params: Params<'_> = &[&place.as_slice()];
        let Some(row) = self.postgres.query_opt(OPERATION, sql, params).await? else {
            return Ok(Others::None);
        };
        let entry: i64 = get(&row, 0, OPERATION)?;
        if get(&row, 9, OPERATION)? {
            let is_undecidable = false;
            return Ok(Others::Over {
                entry,
                is_undecidable,
            });
        }
        let holder = Holder {
            state: state(&row, 4, OPERATION)?,
            is_action: get(&row, 6, OPERATION)?,
            is_delivered: get(&row, 7, OPERATION)?,
            changed_at: unsigned(&row, 8, OPERATION)?,
        };
        Ok(match holder.standing(&self.options, claim.now) {
            Standing::Stands => Others::Status(PaymentStatus::Occupied(Occupant {
                is_action: holder.is_action,
                is_delivered: holder.is_delivered,
                ..self.occupant_in(&row, claim.key.payer)?
            })),
            standing => Others::Over {
                entry,
                is_undecidable: standing == Standing::Undecidable,
            },
        })
    }

    /// Finds the other authorization for which the payer has used the claim's identifier, unless it
    /// was released. A copy of the claim's own payment is no other authorization: the next look of
    /// the claim finds it.
    async fn taken(&self, claim: &Claim) -> Result<Option<PaymentStatus>, LedgerError> {
        let sql = "SELECT id, network, asset, nonce, state, transaction_hash, content
                   FROM ledger_entry
                   WHERE payer = $1 AND payment_id = $2 AND authorization_digest <> $3";
        let digest = kept(claim.key.digest());
        let params: Params<'_> = &[
            &claim.key.payer.as_slice(),
            &claim.payment_id,
            &digest.as_slice(),
        ];
        let Some(row) = self.postgres.query_opt(OPERATION, sql, params).await? else {
            return Ok(None);
        };
        let occupant = Occupant {
            by_identifier: true,
            ..self.occupant_in(&row, claim.key.payer)?
        };
        let content: Option<Vec<u8>> = get(&row, 6, OPERATION)?;
        let is_of_request =
            content.is_some_and(|content| claim.request.content_digest().as_slice() == content);
        Ok(Some(match is_of_request {
            true => PaymentStatus::Occupied(occupant),
            false => PaymentStatus::IdentifierTaken {
                transaction: occupant.transaction,
                key: occupant.key,
            },
        }))
    }

    /// Reads an occupant from the first columns of a row.
    fn occupant_in(&self, row: &Row, payer: Address) -> Result<Occupant, PostgresError> {
        let network: Option<&str> = get(row, 1, OPERATION)?;
        let network: Option<Network> = network
            .map(str::parse)
            .transpose()
            .map_err(|_| damaged(OPERATION, "a network has another form"))?;
        let asset: Option<&[u8]> = get(row, 2, OPERATION)?;
        let nonce: Option<&[u8]> = get(row, 3, OPERATION)?;
        let key = match (network, asset, nonce) {
            (Some(network), Some(_), Some(_)) => Some(AuthorizationKey {
                network,
                asset: Address::from(bytes::<20>(row, 2, OPERATION)?),
                payer,
                nonce: B256::from(bytes::<32>(row, 3, OPERATION)?),
            }),
            _ => None,
        };
        let entry = EntryId::new(get(row, 0, OPERATION)?);
        let state = self.with_note(entry, state(row, 4, OPERATION)?);
        let transaction: Option<String> = get(row, 5, OPERATION)?;
        Ok(Occupant {
            entry,
            key,
            state,
            transaction: (state == State::Settled).then(|| transaction.unwrap_or_default()),
            by_identifier: false,
            is_action: false,
            is_delivered: false,
        })
    }

    /// Lets an entry count as the purchase of a claim.
    pub(super) async fn prove(
        &self,
        entry: EntryId,
        claim: &Claim,
    ) -> Result<Reservation, LedgerError> {
        const SQL: &str = concat!(
            "WITH proven AS (
                 UPDATE ledger_entry SET payment_id = $4, content = $5
                 WHERE id = $2 AND state = $3 AND owner = $1 AND ",
            alive!(),
            " RETURNING id
             ), placed AS (
                 INSERT INTO ledger_place (entry, digest, is_action)
                 SELECT id, $6::bytea, $7::boolean FROM proven WHERE $6::bytea IS NOT NULL
             )
             SELECT id FROM proven"
        );
        let content = claim.request.content_digest();
        let content = claim.payment_id.is_some().then_some(content.as_slice());
        let place = claim.place();
        let place = place.as_ref().map(|place| place.as_slice());
        let mut is_beside = false;
        for _ in 0..LOOKS {
            let instance = self.number().await?;
            let params: Params<'_> = &[
                &instance,
                &entry.number(),
                &code(State::Reserved),
                &claim.payment_id,
                &content,
                &place,
                &(claim.purchase == Purchase::Action),
            ];
            match self.postgres.query_opt("prove", SQL, params).await {
                Ok(Some(_)) => return Ok(reservation_of(entry, is_beside)),
                Ok(None) => {
                    let transition = Transition::BeginSettlement;
                    let refusal = self.refusal(entry, transition, claim.now, instance);
                    return Err(refusal.await?);
                }
                Err(PostgresError::Constraint { constraint, .. })
                    if constraint == IDENTIFIER || constraint == PLACE =>
                {
                    if let Some(status) = self.make_room(claim, &mut is_beside).await? {
                        return Ok(Reservation::Known(status));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(LedgerError::Busy)
    }

    /// Answers another authorization of a settled purchase, and remembers it as a repetition.
    pub(super) async fn repeat(
        &self,
        claim: &Claim,
        first: EntryId,
    ) -> Result<Repeated, LedgerError> {
        let digest = kept(claim.key.digest());
        let request = claim.request.digest();
        if let Some(status) = self.find(&digest, request, claim.now).await? {
            return Ok(Repeated::Known(status));
        }
        let stored = match self.purchase(first, claim.now).await? {
            Some(PaymentStatus::Answered(stored)) => stored,
            Some(PaymentStatus::AnswerExpired { transaction }) => {
                return Ok(Repeated::Expired { transaction });
            }
            _ => return Ok(Repeated::NotSettled),
        };
        if self.remember_repetition(&digest, claim, first).await? {
            return Ok(Repeated::Answered(stored));
        }
        if let Some(status) = self.find(&digest, request, claim.now).await? {
            return Ok(Repeated::Known(status));
        }
        let sql = "SELECT repeated FROM ledger_entry WHERE id = $1 AND payer = $2";
        let params: Params<'_> = &[&first.number(), &claim.key.payer.as_slice()];
        let row = self.postgres.query_opt(OPERATION, sql, params).await?;
        let repeated: Option<i16> = row.map(|row| get(&row, 0, OPERATION)).transpose()?;
        Ok(match repeated {
            Some(repeated) if i64::from(repeated) >= i64::from(MAX_REPETITIONS) => {
                Repeated::TooMany
            }
            _ => Repeated::NotSettled,
        })
    }

    /// Writes the entry of a repetition, unless the purchase has too many. Returns whether it was
    /// written.
    async fn remember_repetition(
        &self,
        digest: &[u8],
        claim: &Claim,
        first: EntryId,
    ) -> Result<bool, LedgerError> {
        const SQL: &str = concat!(
            "WITH first AS (
                 SELECT id, transaction_hash FROM ledger_entry
                 WHERE id = $2 AND state = $3 AND payer = $4 AND repeated < $5 AND ",
            alive!(),
            " FOR UPDATE
             ), written AS (
             INSERT INTO ledger_entry AS e (id, attempt, owner, state, open, authorization_digest, request,
                 network, asset, payer, nonce, valid_before, reserved_at, changed_at, amount, method, path,
                 retired, repeats, transaction_hash, cause)
             SELECT nextval('ledger_entry_id'), $6, $1, $7, 0, $8, $9, $10, $11, $4, $12, $13, $14, $14,
                 $15::text::numeric, $16, $17, true, first.id, first.transaction_hash, $18 FROM first
             ON CONFLICT (authorization_digest) DO UPDATE SET id = excluded.id, attempt = excluded.attempt,
                 owner = excluded.owner, request = excluded.request, content = NULL, payment_id = NULL,
                 valid_before = excluded.valid_before, reserved_at = excluded.reserved_at,
                 changed_at = excluded.changed_at, amount = excluded.amount, method = excluded.method,
                 path = excluded.path, retired = true, repeats = excluded.repeats,
                 transaction_hash = excluded.transaction_hash, receipt = NULL, cause = excluded.cause
             WHERE e.state = $7 AND NOT e.retired AND (NOT e.attempted OR e.request = excluded.request)
             RETURNING e.repeats
             )
             UPDATE ledger_entry AS paid SET repeated = paid.repeated + 1
             FROM written WHERE paid.id = written.repeats RETURNING paid.id"
        );
        let most = i16::try_from(MAX_REPETITIONS).unwrap_or(i16::MAX);
        let (attempt, now) = (random()?, number(claim.now));
        let request = claim.request.digest();
        let params: Params<'_> = &[
            &self.number().await?,
            &first.number(),
            &code(State::Settled),
            &claim.key.payer.as_slice(),
            &most,
            &attempt.as_slice(),
            &code(State::Released),
            &digest,
            &request.as_slice(),
            &claim.key.network.to_string(),
            &claim.key.asset.as_slice(),
            &claim.key.nonce.as_slice(),
            &number(claim.valid_before),
            &now,
            &claim.amount.to_string(),
            &claim.request.method(),
            &claim.request.path(),
            &REPETITION,
        ];
        let written = self.postgres.query_opt("repeat", SQL, params).await?;
        Ok(written.is_some())
    }

    /// Returns the status of a settled purchase, for its repetitions: [`PaymentStatus::Answered`]
    /// or [`PaymentStatus::AnswerExpired`]. `None` when the entry is not settled or does not exist.
    pub(super) async fn purchase(
        &self,
        entry: EntryId,
        now: u64,
    ) -> Result<Option<PaymentStatus>, LedgerError> {
        let sql =
            "SELECT authorization_digest, request FROM ledger_entry WHERE id = $1 AND state = $2";
        let params: Params<'_> = &[&entry.number(), &code(State::Settled)];
        let Some(row) = self.postgres.query_opt(OPERATION, sql, params).await? else {
            return Ok(None);
        };
        let digest: Vec<u8> = get(&row, 0, OPERATION)?;
        let request = B256::from(bytes::<32>(&row, 1, OPERATION)?);
        let found = Box::pin(self.find(&digest, request, now)).await?;
        Ok(found.map(|status| match status {
            PaymentStatus::Answered(stored) => PaymentStatus::Answered(StoredAnswer {
                is_repetition: true,
                ..stored
            }),
            status => status,
        }))
    }
}

/// What other purchases of the payer mean for a claim.
enum Others {
    None,
    /// An entry holds the place and counts no longer.
    Over {
        entry: i64,
        is_undecidable: bool,
    },
    Status(PaymentStatus),
}

pub(super) fn reservation_of(entry: EntryId, is_beside: bool) -> Reservation {
    match is_beside {
        true => Reservation::ReservedBeside(entry),
        false => Reservation::Reserved(entry),
    }
}
