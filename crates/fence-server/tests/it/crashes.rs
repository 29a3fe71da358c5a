//! A server that ends at any write: its answers stay true, and repeated requests end in the same
//! state.

use std::sync::Arc;

use alloy_primitives::B256;
use fence_server::Delegations;

use crate::{
    dying::Dying,
    sample::{ACCOUNT, NOW},
    stage::{GRANT_ID, StoreLocation, grant, limit, owner, revocation, sign},
    world::{Clock, Custody, code, desk, log, ordered},
};

/// The number of a client's requests. The client sends them in order, and repeats each until it is
/// answered.
const STEPS: usize = 6;

async fn step(desk: &Delegations, number: usize) -> &'static str {
    match number {
        0 => code(desk.receive_grant(sign(grant(GRANT_ID), &owner())).await),
        1 => code(desk.receive_limit(limit(2_000_000_000)).await),
        // The request is refused, and the refusal is recorded.
        2 => code(desk.submit(&ordered(2_000_000_001, GRANT_ID)).await),
        3 => code(desk.submit(&ordered(1_000_000_007, GRANT_ID)).await),
        4 => code(desk.receive_revocation(revocation(GRANT_ID, NOW)).await),
        _ => code(desk.receive_revocation(revocation(B256::ZERO, NOW)).await),
    }
}

const ANSWERS: [&str; STEPS] = ["ok", "ok", "fence_approve_cap", "ok", "ok", "ok"];
const LOG: [&str; 5] = [
    "granted",
    "limited",
    "refused fence_approve_cap",
    "admitted",
    "revoked",
];

#[tokio::test]
async fn a_server_that_ends_at_any_write_goes_on_where_the_records_end() {
    for after in [false, true] {
        for left in 1..=STEPS + 1 {
            let location = StoreLocation::new();
            let (clock, custody) = (Clock::new(), Custody::new());
            let store = Arc::new(Dying::new(location.open(), left, after));
            let mut server = desk(Arc::<Dying>::clone(&store), 1, &clock, &custody).await;
            let mut ended_at = None;
            for (number, expected) in ANSWERS.into_iter().enumerate() {
                let at = format!("write {left}, after: {after}, step {number}");
                let mut answer = step(&server, number).await;
                if ended_at.is_none() && store.is_dead() {
                    ended_at = Some(number + 1);
                    // A refusal is answered even where its record is missing; every other answer
                    // has its record.
                    let told = if number == 2 {
                        expected
                    } else {
                        "fence_store_unavailable"
                    };
                    assert_eq!(answer, told, "{at}");
                    // The next process starts without the memory of the last one.
                    server = desk(location.open(), 1, &clock, &custody).await;
                    answer = step(&server, number).await;
                }
                assert_eq!(answer, expected, "{at}");
            }
            // Every step made one write, so the server ended in the step with that number.
            assert_eq!(ended_at, Some(left).filter(|left| *left <= STEPS));
            let store = location.open();
            assert_eq!(
                log(&*store, GRANT_ID).await,
                LOG,
                "write {left}, after: {after}"
            );
            assert_eq!(log(&*store, B256::ZERO).await, ["revoked"]);
            let view = store.view(ACCOUNT, GRANT_ID, None).await.unwrap();
            assert!(view.ended.is_some() && view.in_flight.is_some());
        }
    }
}
