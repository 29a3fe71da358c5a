//! Claims of authorizations on PostgreSQL, and their retirement.

use std::time::Duration;

use storage::postgres::{Condition, PostgresError, get, number};

use super::{
    Inner, Params, code,
    purchases::{IDENTIFIER, PLACE, reservation_of},
};
use crate::{
    claim::Claim,
    column::kept,
    error::LedgerError,
    purchase::Purchase,
    state::{EntryId, State},
    status::Reservation,
};

/// How often a claim is tried again when another claim has released the row that blocked it.
const LOOKS: u32 = 5;

/// Pauses between the looks for an own reservation, while the database cannot be reached.
const LOOK_AGAIN_AFTER: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1_500),
];

impl Inner {
    pub(super) async fn reserve(&self, claim: &Claim) -> Result<Reservation, LedgerError> {
        let attempt = random()?;
        let digest = kept(claim.key.digest());
        let mut is_beside = false;
        for _ in 0..LOOKS {
            let instance = self.number().await?;
            match self.insert(instance, &digest, claim, &attempt).await {
                Ok(Some(entry)) => return Ok(reservation_of(entry, is_beside)),
                Ok(None) => {
                    if !self.is_alive(instance).await? {
                        self.instance.look_after();
                        return Err(LedgerError::LeaseLost);
                    }
                    let status = self
                        .find(&digest, claim.request.digest(), claim.now)
                        .await?;
                    if let Some(status) = status {
                        return Ok(Reservation::Known(status));
                    }
                }
                Err(PostgresError::Constraint { constraint, .. })
                    if constraint == IDENTIFIER || constraint == PLACE =>
                {
                    if let Some(status) = self.make_room(claim, &mut is_beside).await? {
                        return Ok(Reservation::Known(status));
                    }
                }
                Err(interrupted @ PostgresError::Interrupted { .. }) => {
                    // The database may write the row only after this look. Then the row has no
                    // call, and is released like any other entry without one.
                    return match self.look_for(&digest, &attempt).await {
                        Ok(Some(entry)) => Ok(reservation_of(entry, is_beside)),
                        _ => Err(interrupted.into()),
                    };
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(LedgerError::Busy)
    }

    /// Reserves the authorization if it has no entry, or a released one that is free for the claim,
    /// and takes the claim's place. Before that, it frees the place if a delivery that is not
    /// written yet has had it. It frees no other: two servers would wait for each other.
    async fn insert(
        &self,
        instance: i64,
        digest: &[u8],
        claim: &Claim,
        attempt: &[u8],
    ) -> Result<Option<EntryId>, PostgresError> {
        const SQL: &str = concat!(
            "WITH delivered AS (
                 DELETE FROM ledger_place WHERE entry IN (
                     SELECT entry FROM ledger_place WHERE entry = ANY ($18::bigint[]) AND digest = $19::bytea
                         AND NOT is_action
                     FOR UPDATE SKIP LOCKED)
                 RETURNING entry
             ), reserved AS (
             INSERT INTO ledger_entry AS e (id, attempt, owner, state, open, authorization_digest, request,
                 content, network, asset, payer, nonce, valid_before, reserved_at, changed_at, amount, method,
                 path, payment_id)
             SELECT nextval('ledger_entry_id'), $2, $1, $3, 1, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12,
                 $13::text::numeric, $14, $15, $16
             WHERE ",
            alive!(),
            " ON CONFLICT (authorization_digest) DO UPDATE SET id = excluded.id, attempt = excluded.attempt,
                 owner = excluded.owner, state = excluded.state, open = excluded.open,
                 request = excluded.request, content = excluded.content, network = excluded.network,
                 asset = excluded.asset, payer = excluded.payer, nonce = excluded.nonce,
                 valid_before = excluded.valid_before, reserved_at = excluded.reserved_at,
                 changed_at = excluded.changed_at, amount = excluded.amount, method = excluded.method,
                 path = excluded.path, payment_id = excluded.payment_id, private = false, answered = false,
                 transaction_hash = NULL, receipt = NULL, cause = NULL
             WHERE e.state = $17 AND NOT e.retired AND (NOT e.attempted OR e.request = excluded.request)
             RETURNING id
             ), placed AS (
                 INSERT INTO ledger_place (entry, digest, is_action)
                 SELECT id, $19::bytea, $20::boolean FROM reserved
                 WHERE $19::bytea IS NOT NULL AND (SELECT count(*) FROM delivered) >= 0
             )
             SELECT id FROM reserved",
        );
        let place = claim.place();
        let place = place.as_ref().map(|place| place.as_slice());
        let delivered = self.deliveries();
        let content = claim.request.content_digest();
        let content = claim.payment_id.is_some().then_some(content.as_slice());
        let row = self
            .postgres
            .query_opt(
                "reserve",
                SQL,
                &[
                    &instance,
                    &attempt,
                    &code(State::Reserved),
                    &digest,
                    &claim.request.digest().as_slice(),
                    &content,
                    &claim.key.network.to_string(),
                    &claim.key.asset.as_slice(),
                    &claim.key.payer.as_slice(),
                    &claim.key.nonce.as_slice(),
                    &number(claim.valid_before),
                    &number(claim.now),
                    &claim.amount.to_string(),
                    &claim.request.method(),
                    &claim.request.path(),
                    &claim.payment_id,
                    &code(State::Released),
                    &delivered,
                    &place,
                    &(claim.purchase == Purchase::Action),
                ],
            )
            .await;
        let row = row?;
        row.map(|row| get(&row, 0, "reserve").map(EntryId::new))
            .transpose()
    }

    /// Retires the authorization of an entry. Returns `false` unless it is released and no
    /// settlement of it was attempted, or only one that was refused for good.
    pub(super) async fn retire(
        &self,
        entry: EntryId,
        is_refused: bool,
    ) -> Result<bool, LedgerError> {
        let sql = "UPDATE ledger_entry SET retired = true
                   WHERE id = $1 AND state = $2 AND ($3 OR NOT attempted) RETURNING id";
        let params: Params<'_> = &[&entry.number(), &code(State::Released), &is_refused];
        let row = self.postgres.query_opt("retire", sql, params).await?;
        Ok(row.is_some())
    }

    /// Finds the entry as [`Self::reserved_by`] does, and tries again for a while. The database may
    /// be away for a moment, and an entry that is not found would keep its payer waiting.
    async fn look_for(
        &self,
        digest: &[u8],
        attempt: &[u8],
    ) -> Result<Option<EntryId>, PostgresError> {
        for wait in LOOK_AGAIN_AFTER {
            match self.reserved_by(digest, attempt).await {
                Err(_) => tokio::time::sleep(wait).await,
                found => return found,
            }
        }
        self.reserved_by(digest, attempt).await
    }

    /// Finds the entry that this attempt has reserved, if any.
    async fn reserved_by(
        &self,
        digest: &[u8],
        attempt: &[u8],
    ) -> Result<Option<EntryId>, PostgresError> {
        let sql = "SELECT id FROM ledger_entry
                   WHERE authorization_digest = $1 AND attempt = $2 AND state = $3";
        let params: Params<'_> = &[&digest, &attempt, &code(State::Reserved)];
        let row = self.postgres.query_opt("reserve", sql, params).await?;
        row.map(|row| get(&row, 0, "reserve").map(EntryId::new))
            .transpose()
    }
}

/// Returns the condition that an instance has reserved an entry and still has its lease. While a
/// transaction relies on the condition, a release of the entry waits for the end of the
/// transaction.
pub(super) fn reservation(entry: EntryId, instance: i64) -> Condition {
    const SQL: &str = concat!(
        "SELECT id FROM ledger_entry
         WHERE id = $2 AND state = $3::bigint AND owner = $1 AND ",
        alive!(),
        " FOR SHARE"
    );
    let reserved = i64::from(code(State::Reserved));
    Condition::new(SQL, vec![instance, entry.number(), reserved])
}

/// Makes the name of one attempt to reserve.
pub(super) fn random() -> Result<[u8; 16], PostgresError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| PostgresError::Unavailable {
        reason: format!("the system gives no random bytes: {error}"),
    })?;
    Ok(bytes)
}
