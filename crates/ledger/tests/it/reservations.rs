//! Tests of claims: one claim gets the authorization, and every other claim gets its status.

use std::sync::Arc;

use alloy_primitives::Address;
use ledger::{
    Claim, Journal, LedgerError, PaidAnswer, PaymentStatus, PendingSettlement, RequestBinding,
    Reservation, Spent, State,
};
use x402_wire::{AuthorizationKey, Network};

use crate::support::{
    Bench, NOW, RETENTION, bring, claim, find, key, look_up, pay, receipt, refused, request,
    reserved, settlement, stored,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_fifty_claims_at_once_gets_the_authorization() {
    let ledger = Arc::new(Bench::new());
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
            Reservation::Known(status) => assert!(matches!(
                status,
                PaymentStatus::InFlight {
                    state: State::Reserved,
                    ..
                }
            )),
            Reservation::ReservedBeside(entry) => panic!("{entry} is beside nothing"),
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
async fn a_claim_gets_the_status_of_the_authorization() {
    let ledger = Bench::new();
    for (nonce, state) in (0..).zip(State::ALL) {
        let entry = bring(&ledger, nonce, state).await;
        let found = find(&ledger, nonce, NOW).await;
        let expected = match state {
            State::Unknown => Some(PaymentStatus::Unknown {
                entry,
                transaction: None,
            }),
            State::Undecidable => Some(PaymentStatus::Undecidable {
                entry,
                transaction: None,
            }),
            State::Settled => Some(PaymentStatus::Answered(stored(nonce, NOW))),
            State::Released => None,
            state => Some(PaymentStatus::InFlight { entry, state }),
        };
        assert_eq!(found, expected);
        match expected {
            Some(status) => assert_eq!(refused(&ledger, claim(nonce)).await, status),
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
            // The authorization now belongs to the other request.
            assert_eq!(
                refused(&ledger, claim(nonce)).await,
                PaymentStatus::BoundElsewhere
            );
        } else {
            assert_eq!(found, Some(PaymentStatus::BoundElsewhere));
            assert_eq!(refused(&ledger, other).await, PaymentStatus::BoundElsewhere);
        }
    }
}

/// The request may have had an effect that the payment was meant to pay for.
#[tokio::test]
async fn after_a_settlement_attempt_a_released_payment_is_for_its_request_only() {
    let mut ledger = Bench::new();
    let other = || Claim {
        request: request(9),
        ..claim(1)
    };
    let elsewhere = PaymentStatus::BoundElsewhere;
    let mut entry = bring(&ledger, 1, State::Settling).await;
    for _ in 0..2 {
        let released = ledger.release(entry, "refused", Spent::NOTHING, NOW);
        assert_eq!(released.await, Ok(()));
        ledger.reopen();
        let found = ledger.find(&key(1), &request(9), NOW).await;
        assert_eq!(found, Ok(Some(elsewhere.clone())));
        assert_eq!(refused(&ledger, other()).await, elsewhere);
        assert_eq!(find(&ledger, 1, NOW).await, None);
        // The next call of the same request ends before its settlement.
        entry = reserved(&ledger, claim(1)).await;
    }
    assert_eq!(refused(&ledger, other()).await, elsewhere);
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
        let status = refused(
            &ledger,
            Claim {
                request: other,
                ..claim(1)
            },
        )
        .await;
        assert_eq!(status, PaymentStatus::BoundElsewhere);
    }
}

#[tokio::test]
async fn an_answer_comes_back_byte_for_byte() {
    let ledger = Bench::new();
    let answer = PaidAnswer::new(
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
    let settlement = PendingSettlement {
        answer: answer.clone(),
        ..settlement(1)
    };
    ledger
        .begin_settlement(entry, settlement, NOW)
        .await
        .unwrap();
    ledger
        .settle(entry, key(1), receipt(1), NOW + 3)
        .await
        .unwrap();
    let PaymentStatus::Answered(stored) = refused(&ledger, claim(1)).await else {
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
    let expired = || PaymentStatus::AnswerExpired {
        transaction: receipt(1).transaction,
    };
    // This is long after the authorization's own window.
    let last = NOW + RETENTION - 1;
    assert_eq!(
        find(&ledger, 1, last).await,
        Some(PaymentStatus::Answered(stored(1, NOW)))
    );
    assert_eq!(find(&ledger, 1, last + 1).await, Some(expired()));
    let late = Claim {
        now: last + 1,
        ..claim(1)
    };
    assert_eq!(refused(&ledger, late).await, expired());
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
    let in_flight = PaymentStatus::InFlight {
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
        // The claim begins, and then its caller stops waiting.
        let _ = reservation.as_mut().poll(&mut context);
    }
    while look_up(&ledger, 1).await.is_none() {
        tokio::task::yield_now().await;
    }
    let status = refused(&ledger, claim(1)).await;
    let PaymentStatus::InFlight { entry, .. } = status else {
        panic!("{status:?}")
    };
    assert_eq!(
        ledger
            .release(entry, "abandoned", Spent::NOTHING, NOW)
            .await,
        Ok::<(), LedgerError>(())
    );
}

/// The payer of this payment was asked to sign a new one. While the payment's window lasts, no
/// request and no signature can reserve it again.
#[tokio::test]
async fn a_retired_payment_is_never_reserved_again() {
    let mut ledger = Bench::new();
    let entry = reserved(&ledger, claim(1)).await;
    assert_eq!(ledger.retire(entry, false).await, Ok(false), "reserved");
    let released = ledger.release(entry, "refused", Spent::NOTHING, NOW);
    assert_eq!(released.await, Ok(()));
    // The next claim makes a new entry.
    let again = reserved(&ledger, claim(1)).await;
    let released = ledger.release(again, "refused", Spent::NOTHING, NOW);
    assert_eq!(released.await, Ok(()));
    assert_eq!(
        ledger.retire(entry, false).await,
        Ok(false),
        "reserved again"
    );
    assert_eq!(ledger.retire(again, false).await, Ok(true));
    let retired = PaymentStatus::Retired {
        reason: "refused".to_owned(),
    };
    let other = Claim {
        request: request(7),
        ..claim(1)
    };
    for reopened in [false, true] {
        if reopened {
            ledger.reopen();
        }
        assert_eq!(refused(&ledger, claim(1)).await, retired);
        assert_eq!(refused(&ledger, other.clone()).await, retired);
        assert_eq!(find(&ledger, 1, NOW).await, Some(retired.clone()));
        assert_eq!(look_up(&ledger, 1).await.unwrap().state, State::Released);
    }
    // Others may have seen this payment in a settlement.
    let attempted = bring(&ledger, 2, State::Settling).await;
    let released = ledger.release(attempted, "refused", Spent::NOTHING, NOW);
    assert_eq!(released.await, Ok(()));
    assert_eq!(
        ledger.retire(attempted, false).await,
        Ok(false),
        "attempted"
    );
    // The only party that could settle it has refused it for good.
    assert_eq!(ledger.retire(attempted, true).await, Ok(true));
    assert_eq!(refused(&ledger, claim(2)).await, retired);
}
