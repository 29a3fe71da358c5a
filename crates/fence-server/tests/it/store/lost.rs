//! Commits that the database has lost: a replica that takes over may lack the last ones.

use std::sync::Arc;

use calldata_checks::StepKind;
use delegation_fence::{Event, Transaction};
use fence_server::{Change, PostgresStore, Store, StoreError};
use test_support::postgres::Schema;

use super::{ended, granted};
use crate::sample::{ACCOUNT, NOW};
use crate::stage::{GRANT_ID, acceptance, at, instance, limit, look, now, owner, write};

/// Two processes on a database in which the account has its grant; without a database there is
/// nothing to run on.
async fn two_processes() -> Option<(Schema, Arc<dyn Store>, Arc<dyn Store>)> {
    let schema = Schema::new()?;
    let one: Arc<dyn Store> = Arc::new(PostgresStore::open(schema.connect()).await.unwrap());
    let two: Arc<dyn Store> = Arc::new(PostgresStore::open(schema.connect()).await.unwrap());
    let grant = write(&look(&*one).await, granted(GRANT_ID));
    one.write(grant).await.unwrap();
    Some((schema, one, two))
}

/// Otherwise a plan could be accepted after a revocation, by a process that has judged it before.
#[tokio::test]
async fn a_write_with_a_lost_version_conflicts() {
    let Some((schema, one, two)) = two_processes().await else {
        return;
    };
    schema.keep().await;
    let tight = instance().receive_limit(limit(2_000_000_000), owner().address(), now());
    let tight = Change::Limit(Box::new(tight.unwrap()));
    one.write(write(&look(&*one).await, tight)).await.unwrap();
    let judged = look(&*one).await;
    let accepted = acceptance(&judged, 1_000_000_007).unwrap();
    schema.lose().await;

    let revoked = write(&look(&*two).await, ended(GRANT_ID, NOW));
    two.write(revoked).await.unwrap();
    let accept = write(&judged, Change::Accept(Box::new(accepted)));
    let conflict = Err(StoreError::Conflict { account: ACCOUNT });
    assert_eq!(one.write(accept).await, conflict);
}

#[tokio::test]
async fn a_write_with_a_lost_lease_is_fenced() {
    let Some((schema, one, two)) = two_processes().await else {
        return;
    };
    let view = look(&*one).await;
    let accepted = acceptance(&view, 1_000_000_007).unwrap();
    let plan = accepted.admitted.payload_digest;
    let accept = write(&view, Change::Accept(Box::new(accepted)));
    one.write(accept).await.unwrap();
    schema.keep().await;
    let lost = one.acquire(ACCOUNT, "one", at(NOW), 60).await.unwrap();
    schema.lose().await;

    let taken = two.acquire(ACCOUNT, "two", at(NOW), 60).await.unwrap();
    let kept = two.submission(plan).await.unwrap().unwrap();
    let step = Event::Ordered(Transaction::Step(StepKind::ApproveReset));
    let late = kept.append(step, lost.unwrap(), at(NOW)).unwrap();
    let fenced = Err(StoreError::Fenced { account: ACCOUNT });
    assert_eq!(one.write(late).await, fenced);
    let next = kept.append(step, taken.unwrap(), at(NOW)).unwrap();
    assert!(two.write(next).await.is_ok());
}
