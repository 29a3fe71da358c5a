//! Who gets an authorization, and what everyone else is told.

use std::sync::Arc;

use alloy_primitives::Address;
use ledger::{
    Answer, Claim, Journal, LedgerError, Options, RequestBinding, Reservation, Settlement,
    SqliteLedger, Standing, State,
};
use x402_wire::{AuthorizationKey, Network};

use crate::support::{
    Bench, NOW, RETENTION, bring, claim, find, key, pay, receipt, refused, request, reserved,
    settlement, stored,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_fifty_at_once_one_gets_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("service.db");
    let ledger = Arc::new(SqliteLedger::open(path.to_str().unwrap(), Options::default()).unwrap());
    let claims: Vec<_> = (0..50)
        .map(|_| {
            let ledger = Arc::clone(&ledger);
            tokio::spawn(async move { ledger.reserve(claim(1)).await.unwrap() })
        })
        .collect();
    let mut winners = 0;
    for claim in claims {
        match claim.await.unwrap() {
            Reservation::Reserved(_) => winners += 1,
            Reservation::Standing(standing) => assert!(matches!(
                standing,
                Standing::InFlight {
                    state: State::Reserved,
                    ..
                }
            )),
        }
    }
    assert_eq!(winners, 1);
}

#[tokio::test]
async fn every_part_of_the_key_counts() {
    let ledger = Bench::new();
    let base = key(1);
    let keys = [
        base,
        AuthorizationKey {
            network: Network::evm(1),
            ..base
        },
        AuthorizationKey {
            asset: Address::repeat_byte(1),
            ..base
        },
        AuthorizationKey {
            payer: Address::repeat_byte(1),
            ..base
        },
        key(2),
    ];
    for key in keys {
        reserved(&ledger, Claim { key, ..claim(1) }).await;
    }
}

#[tokio::test]
async fn a_claim_is_told_where_the_authorization_stands() {
    let ledger = Bench::new();
    for (nonce, state) in (0..).zip(State::ALL) {
        let entry = bring(&ledger, nonce, state).await;
        let found = find(&ledger, nonce, NOW).await;
        let expected = match state {
            State::Unknown => Some(Standing::Unknown {
                entry,
                transaction: None,
            }),
            State::Settled => Some(Standing::Answered(stored(nonce, NOW))),
            State::Released => None,
            state => Some(Standing::InFlight { entry, state }),
        };
        assert_eq!(found, expected);
        match expected {
            Some(standing) => assert_eq!(refused(&ledger, claim(nonce)).await, standing),
            None => assert_ne!(reserved(&ledger, claim(nonce)).await, entry),
        }
    }
}

#[tokio::test]
async fn another_request_is_refused_in_every_state_but_released() {
    let ledger = Bench::new();
    for (nonce, state) in (0..).zip(State::ALL) {
        bring(&ledger, nonce, state).await;
        let other = Claim {
            request: request(9),
            ..claim(nonce)
        };
        let found = ledger.find(&other.key, &other.request, NOW).await.unwrap();
        if state == State::Released {
            assert_eq!(found, None);
            reserved(&ledger, other).await;
            // It is bound to the other request now.
            assert_eq!(
                refused(&ledger, claim(nonce)).await,
                Standing::BoundElsewhere
            );
        } else {
            assert_eq!(found, Some(Standing::BoundElsewhere));
            assert_eq!(refused(&ledger, other).await, Standing::BoundElsewhere);
        }
    }
}

#[tokio::test]
async fn method_path_query_and_body_bind() {
    let ledger = Bench::new();
    let bound = RequestBinding::new("POST", "/swap", Some("a=1"), b"{}");
    reserved(
        &ledger,
        Claim {
            request: bound,
            ..claim(1)
        },
    )
    .await;
    for other in [
        RequestBinding::new("GET", "/swap", Some("a=1"), b"{}"),
        RequestBinding::new("POST", "/swap2", Some("a=1"), b"{}"),
        RequestBinding::new("POST", "/swap", Some("a=2"), b"{}"),
        RequestBinding::new("POST", "/swap", Some("a=1"), b"{ }"),
    ] {
        let standing = refused(
            &ledger,
            Claim {
                request: other,
                ..claim(1)
            },
        )
        .await;
        assert_eq!(standing, Standing::BoundElsewhere);
    }
}

#[tokio::test]
async fn an_answer_comes_back_byte_for_byte() {
    let ledger = Bench::new();
    let answer = Answer::new(
        206,
        vec![
            ("content-type".into(), "image/png".to_owned()),
            ("x-odd".into(), "a: b, \"c\" ₮".to_owned()),
            ("x-odd".into(), String::new()),
        ],
        (0..200_000u32)
            .flat_map(u32::to_le_bytes)
            .collect::<Vec<u8>>()
            .into(),
    );
    let entry = reserved(&ledger, claim(1)).await;
    let settlement = Settlement {
        answer: answer.clone(),
        ..settlement(1)
    };
    ledger
        .begin_settlement(entry, settlement, NOW)
        .await
        .unwrap();
    ledger.settle(entry, receipt(1), NOW + 3).await.unwrap();
    let Standing::Answered(stored) = refused(&ledger, claim(1)).await else {
        panic!("not answered")
    };
    assert_eq!(stored.answer, answer);
    assert_eq!(stored.receipt, receipt(1));
    assert_eq!(stored.settled_at, NOW + 3);
}

#[tokio::test]
async fn an_answer_is_its_payers_until_its_retention_is_over() {
    let ledger = Bench::new();
    pay(&ledger, 1, NOW).await.unwrap();
    // Long after the authorization's own window.
    let last = NOW + RETENTION - 1;
    assert_eq!(
        find(&ledger, 1, last).await,
        Some(Standing::Answered(stored(1, NOW)))
    );
    assert_eq!(
        find(&ledger, 1, last + 1).await,
        Some(Standing::AnswerExpired)
    );
    let late = Claim {
        now: last + 1,
        ..claim(1)
    };
    assert_eq!(refused(&ledger, late).await, Standing::AnswerExpired);
}

fn with_id(nonce: u64, id: &str) -> Claim {
    Claim {
        payment_id: Some(id.to_owned()),
        ..claim(nonce)
    }
}

#[tokio::test]
async fn a_payment_identifier_belongs_to_one_authorization() {
    let ledger = Bench::new();
    let entry = reserved(&ledger, with_id(1, "order-0000000001")).await;
    assert_eq!(
        refused(&ledger, with_id(2, "order-0000000001")).await,
        Standing::BoundElsewhere
    );
    // The same payment again is the same payment; another identifier is free; so is none.
    let in_flight = Standing::InFlight {
        entry,
        state: State::Reserved,
    };
    assert_eq!(
        refused(&ledger, with_id(1, "order-0000000001")).await,
        in_flight
    );
    reserved(&ledger, with_id(3, "order-0000000002")).await;
    reserved(&ledger, claim(4)).await;
    // Identifiers are the payer's own.
    let mut other_payer = with_id(5, "order-0000000001");
    other_payer.key.payer = Address::repeat_byte(0xcc);
    reserved(&ledger, other_payer).await;
    // Neither asset nor network makes the payer another.
    let mut other_asset = with_id(6, "order-0000000001");
    other_asset.key.asset = Address::repeat_byte(0xcc);
    assert_eq!(
        refused(&ledger, other_asset).await,
        Standing::BoundElsewhere
    );
}

#[tokio::test]
async fn a_payment_identifier_is_free_again_after_a_release() {
    let ledger = Bench::new();
    let first = reserved(&ledger, with_id(1, "order-0000000001")).await;
    ledger.release(first, "refused", NOW).await.unwrap();
    let second = reserved(&ledger, with_id(2, "order-0000000001")).await;
    // The first authorization comes back, but its identifier has gone to the second.
    assert_eq!(
        refused(&ledger, with_id(1, "order-0000000001")).await,
        Standing::BoundElsewhere
    );
    ledger.release(second, "refused", NOW).await.unwrap();
    reserved(&ledger, with_id(1, "order-0000000001")).await;
}

#[tokio::test]
async fn values_at_the_edge_of_storage() {
    let ledger = Bench::new();
    let claim = Claim {
        valid_before: u64::MAX,
        now: u64::MAX,
        amount: alloy_primitives::U256::MAX,
        payment_id: Some("₮".repeat(64)),
        ..claim(1)
    };
    let entry = reserved(&ledger, claim.clone()).await;
    let in_flight = Standing::InFlight {
        entry,
        state: State::Reserved,
    };
    assert_eq!(refused(&ledger, claim).await, in_flight);
}

#[tokio::test]
async fn a_lost_caller_loses_no_reservation() {
    let ledger = Bench::new();
    {
        let reservation = ledger.reserve(claim(1));
        let mut reservation = std::pin::pin!(reservation);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        // Queued, and then nobody waits.
        let _ = reservation.as_mut().poll(&mut context);
    }
    let standing = refused(&ledger, claim(1)).await;
    let Standing::InFlight { entry, .. } = standing else {
        panic!("{standing:?}")
    };
    assert_eq!(
        ledger.release(entry, "abandoned", NOW).await,
        Ok::<(), LedgerError>(())
    );
}
