//! Tests of purchases: which claims of a payer are the same one, and what becomes of the second.

use alloy_primitives::Address;
use ledger::{
    Claim, EntryId, Journal, LedgerError, MAX_REPETITIONS, Occupant, Options, PaymentStatus,
    PostgresLedger, Purchase, REPETITION, Repeated, Reservation, Resolution, Spent, State,
};
use test_support::eventually;

use crate::support::{
    AGAIN, Bench, NOW, OPTIONS, RETENTION, claim, find, key, look_up, prune_all, receipt, refused,
    request, reserved, settlement,
};

fn proven(nonce: u64, purchase: Purchase) -> Claim {
    Claim {
        purchase,
        ..claim(nonce)
    }
}

fn reading(nonce: u64) -> Claim {
    proven(nonce, Purchase::Reading)
}

fn action(nonce: u64) -> Claim {
    proven(nonce, Purchase::Action)
}

async fn settled(ledger: &Bench, claim: Claim) -> EntryId {
    let nonce = u64::try_from(alloy_primitives::U256::from_be_bytes(claim.key.nonce.0)).unwrap();
    let entry = reserved(ledger, claim).await;
    settle(ledger, entry, nonce).await;
    entry
}

async fn settle(ledger: &Bench, entry: EntryId, nonce: u64) {
    ledger
        .begin_settlement(entry, settlement(nonce), NOW)
        .await
        .unwrap();
    ledger
        .settle(entry, key(nonce), receipt(nonce), NOW)
        .await
        .unwrap();
}

async fn occupied(ledger: &Bench, claim: Claim) -> Occupant {
    match refused(ledger, claim).await {
        PaymentStatus::Occupied(occupant) => occupant,
        other => panic!("not occupied: {other:?}"),
    }
}

#[tokio::test]
async fn a_second_authorization_of_an_open_purchase_is_not_reserved() {
    let ledger = Bench::new();
    let first = reserved(&ledger, reading(1)).await;
    let occupant = occupied(&ledger, reading(2)).await;
    let expected = Occupant {
        entry: first,
        key: Some(key(1)),
        state: State::Reserved,
        transaction: None,
        by_identifier: false,
        is_action: false,
        is_delivered: false,
    };
    assert_eq!(occupant, expected);
    // A look says the same and writes nothing.
    let looked = ledger.occupant(reading(2)).await.unwrap();
    assert_eq!(looked, Some(PaymentStatus::Occupied(expected)));
    assert_eq!(look_up(&ledger, 2).await, None);
    // Another request, another payer and another identifier are other purchases.
    let other_request = Claim {
        request: request(1),
        ..reading(3)
    };
    reserved(&ledger, other_request).await;
    let mut other_payer = reading(4);
    other_payer.key.payer = Address::repeat_byte(0xcc);
    reserved(&ledger, other_payer).await;
    let identified = Claim {
        payment_id: Some("order-0000000001".to_owned()),
        ..reading(5)
    };
    reserved(&ledger, identified).await;
    // The place is free again after a release.
    ledger
        .release(first, "refused", Spent::NOTHING, NOW)
        .await
        .unwrap();
    reserved(&ledger, reading(2)).await;
}

#[tokio::test]
async fn an_unproven_claim_takes_no_place_until_it_is_proven() {
    let ledger = Bench::new();
    let forged = reserved(&ledger, claim(1)).await;
    let own = reserved(&ledger, reading(2)).await;
    let proven = ledger.prove(forged, reading(1)).await.unwrap();
    let Reservation::Known(PaymentStatus::Occupied(occupant)) = proven else {
        panic!("{proven:?}")
    };
    assert_eq!(occupant.entry, own);
    ledger
        .release(own, "refused", Spent::NOTHING, NOW)
        .await
        .unwrap();
    let proven = ledger.prove(forged, reading(1)).await.unwrap();
    assert_eq!(proven, Reservation::Reserved(forged));
    assert_eq!(occupied(&ledger, reading(2)).await.entry, forged);
}

#[tokio::test]
async fn a_proven_claim_takes_its_identifier() {
    let ledger = Bench::new();
    let with_id = |nonce, of| Claim {
        payment_id: Some("order-0000000001".to_owned()),
        request: request(of),
        ..reading(nonce)
    };
    let unproven = reserved(&ledger, claim(1)).await;
    let proven = ledger.prove(unproven, with_id(1, 0)).await.unwrap();
    assert_eq!(proven, Reservation::Reserved(unproven));
    let occupant = occupied(&ledger, with_id(2, 0)).await;
    assert_eq!((occupant.entry, occupant.by_identifier), (unproven, true));
    let elsewhere = PaymentStatus::IdentifierTaken {
        transaction: None,
        key: Some(key(1)),
    };
    assert_eq!(refused(&ledger, with_id(2, 1)).await, elsewhere);
    let other = reserved(&ledger, claim(3)).await;
    let proven = ledger.prove(other, with_id(3, 1)).await.unwrap();
    assert_eq!(proven, Reservation::Known(elsewhere));
}

#[tokio::test]
async fn only_an_entry_before_its_settlement_can_be_proven() {
    let ledger = Bench::new();
    let entry = settled(&ledger, claim(1)).await;
    let refused = ledger.prove(entry, reading(1)).await;
    assert!(
        matches!(refused, Err(LedgerError::WrongState { .. })),
        "{refused:?}"
    );
    let unknown = EntryId::new(i64::MAX);
    let refused = ledger.prove(unknown, reading(1)).await;
    assert_eq!(refused, Err(LedgerError::NoSuchEntry { entry: unknown }));
}

#[tokio::test]
async fn a_settled_purchase_counts_until_its_answer_was_delivered() {
    let mut ledger = Bench::new();
    let first = settled(&ledger, reading(1)).await;
    let occupant = occupied(&ledger, reading(2)).await;
    assert_eq!((occupant.entry, occupant.state), (first, State::Settled));
    assert_eq!(occupant.transaction, Some(receipt(1).transaction));
    // It is stored.
    ledger.reopen();
    assert_eq!(occupied(&ledger, reading(2)).await.entry, first);
    ledger.mark_delivered(first);
    let second = settled(&ledger, reading(2)).await;
    // An answer that is lost for ever counts for a limited time.
    let late = |now| Claim { now, ..reading(3) };
    let last = late(NOW + AGAIN - 1);
    assert_eq!(occupied(&ledger, last).await.entry, second);
    reserved(&ledger, late(NOW + AGAIN)).await;
}

#[tokio::test]
async fn a_delivery_is_stored_without_another_write() {
    let mut ledger = Bench::new();
    let first = settled(&ledger, reading(1)).await;
    ledger.mark_delivered(first);
    ledger.reopen();
    reserved(&ledger, reading(2)).await;
}

#[tokio::test]
async fn without_its_second_half_only_open_purchases_and_actions_count() {
    let ledger = Bench::with(Options {
        again_seconds: 0,
        ..OPTIONS
    });
    settled(&ledger, reading(1)).await;
    let second = reserved(&ledger, reading(2)).await;
    assert_eq!(occupied(&ledger, reading(3)).await.entry, second);
    let other = |nonce, now| Claim {
        request: request(1),
        now,
        ..action(nonce)
    };
    let begun = settled(&ledger, other(4, NOW)).await;
    let occupant = occupied(&ledger, other(5, NOW + 599)).await;
    assert_eq!(occupant.entry, begun);
    reserved(&ledger, other(5, NOW + 600)).await;
}

#[tokio::test]
async fn an_action_counts_after_its_delivery() {
    let mut ledger = Bench::new();
    let first = settled(&ledger, action(1)).await;
    let occupant = occupied(&ledger, action(2)).await;
    assert!(occupant.is_action && !occupant.is_delivered);
    ledger.mark_delivered(first);
    ledger.reopen();
    let late = |now| Claim { now, ..action(2) };
    let occupant = occupied(&ledger, late(NOW + AGAIN - 1)).await;
    assert!(occupant.is_action && occupant.is_delivered);
    reserved(&ledger, late(NOW + AGAIN)).await;
}

#[tokio::test]
async fn a_purchase_beside_an_undecidable_one_says_so_once() {
    let ledger = Bench::new();
    let first = reserved(&ledger, reading(1)).await;
    ledger
        .begin_settlement(first, settlement(1), NOW)
        .await
        .unwrap();
    ledger
        .mark_unknown(first, None, "timeout", NOW)
        .await
        .unwrap();
    assert!(occupied(&ledger, reading(2)).await.is_undecided());
    ledger.mark_undecidable(first, "no one", NOW).await.unwrap();
    let second = match ledger.reserve(reading(2)).await.unwrap() {
        Reservation::ReservedBeside(entry) => entry,
        other => panic!("{other:?}"),
    };
    ledger
        .release(second, "refused", Spent::NOTHING, NOW)
        .await
        .unwrap();
    let third = reserved(&ledger, reading(3)).await;
    // The operator's decision about the first one changes nothing for the third one.
    ledger
        .resolve(first, Resolution::Settled(receipt(1)), NOW)
        .await
        .unwrap();
    assert_eq!(occupied(&ledger, reading(4)).await.entry, third);
}

#[tokio::test]
async fn a_repetition_gets_the_answer_and_is_never_reserved() {
    let mut ledger = Bench::new();
    let first = settled(&ledger, reading(1)).await;
    let Repeated::Answered(stored) = ledger.repeat(reading(2), first).await.unwrap() else {
        panic!("not answered")
    };
    assert_eq!(stored.entry, first);
    assert!(stored.is_repetition);
    assert_eq!(stored.receipt, receipt(1));
    ledger.reopen();
    // Sent again, it gets the same answer, whatever became of the purchase's place.
    ledger.mark_delivered(first);
    let again = ledger.reserve(reading(2)).await.unwrap();
    let answered = PaymentStatus::Answered(stored.clone());
    assert_eq!(again, Reservation::Known(answered.clone()));
    let repeated = ledger.repeat(reading(2), first).await.unwrap();
    assert_eq!(repeated, Repeated::Known(answered));
    let elsewhere = Claim {
        request: request(1),
        ..reading(2)
    };
    assert_eq!(
        refused(&ledger, elsewhere).await,
        PaymentStatus::BoundElsewhere
    );
    let record = look_up(&ledger, 2).await.unwrap();
    assert_eq!(record.state, State::Released);
    assert_eq!(record.reason.as_deref(), Some(REPETITION));
    assert!(record.is_repetition);
    assert_eq!(record.transaction, Some(receipt(1).transaction));
    assert!(!record.attempted);
    // The answer of the purchase is deleted before the repetition is.
    prune_all(&ledger, NOW + RETENTION - 1).await;
    let later = NOW + RETENTION;
    let expired = PaymentStatus::AnswerExpired {
        transaction: receipt(1).transaction,
    };
    assert_eq!(find(&ledger, 2, later).await, Some(expired));
}

#[tokio::test]
async fn a_purchase_is_repeated_sixteen_times() {
    let ledger = Bench::new();
    let first = settled(&ledger, reading(1)).await;
    let most = u64::from(MAX_REPETITIONS);
    for nonce in 2..2 + most {
        let repeated = ledger.repeat(reading(nonce), first).await.unwrap();
        assert!(matches!(repeated, Repeated::Answered(_)), "{repeated:?}");
    }
    let next = reading(2 + most);
    assert_eq!(ledger.repeat(next, first).await, Ok(Repeated::TooMany));
    assert_eq!(look_up(&ledger, 2 + most).await, None);
}

/// Runs statements in the database of a ledger.
async fn run(ledger: &PostgresLedger, statements: &[&str]) {
    for sql in statements {
        let ran = ledger.postgres().query("spoil", sql, &[]).await;
        ran.unwrap();
    }
}

/// In a database another server may claim the authorization meanwhile. A file has one writer.
#[tokio::test]
async fn a_repetition_that_is_not_written_does_not_count() {
    let ledger = Bench::new();
    let first = settled(&ledger, reading(1)).await;
    let Some(database) = ledger.postgres() else {
        return;
    };
    let spoil = [
        "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
        "CREATE TRIGGER spoil BEFORE INSERT ON ledger_entry FOR EACH ROW EXECUTE FUNCTION spoil()",
    ];
    run(database, &spoil).await;
    let not_settled = Ok(Repeated::NotSettled);
    assert_eq!(ledger.repeat(reading(2), first).await, not_settled);
    run(database, &["DROP TRIGGER spoil ON ledger_entry"]).await;
    for nonce in 2..2 + u64::from(MAX_REPETITIONS) {
        let repeated = ledger.repeat(reading(nonce), first).await.unwrap();
        assert!(matches!(repeated, Repeated::Answered(_)), "{repeated:?}");
    }
}

/// A file's writer has the marks in its own transaction.
#[tokio::test]
async fn a_delivery_whose_write_failed_is_written_later() {
    let ledger = Bench::new();
    let first = settled(&ledger, reading(1)).await;
    let Some(database) = ledger.postgres() else {
        return;
    };
    let spoil = [
        "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql
         AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$",
        "CREATE TRIGGER spoil BEFORE DELETE ON ledger_place FOR EACH ROW EXECUTE FUNCTION spoil()",
    ];
    run(database, &spoil).await;
    ledger.mark_delivered(first);
    // The end of a ledger writes what is left.
    let _ = database.close().await;
    run(database, &["DROP TRIGGER spoil ON ledger_place"]).await;
    let _ = database.close().await;
    eventually("the delivery is written", async || {
        let sql = "SELECT entry FROM ledger_place";
        let places = database.postgres().query("look", sql, &[]).await.unwrap();
        places.is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn only_the_settled_purchase_of_the_payer_is_repeated() {
    let ledger = Bench::new();
    let open = reserved(&ledger, reading(1)).await;
    let not_settled = Ok(Repeated::NotSettled);
    assert_eq!(ledger.repeat(reading(2), open).await, not_settled);
    settle(&ledger, open, 1).await;
    let mut stranger = reading(3);
    stranger.key.payer = Address::repeat_byte(0xcc);
    assert_eq!(ledger.repeat(stranger, open).await, not_settled);
    let unknown = EntryId::new(i64::MAX);
    assert_eq!(ledger.repeat(reading(2), unknown).await, not_settled);
    let late = Claim {
        now: NOW + RETENTION,
        ..reading(2)
    };
    let expired = Repeated::Expired {
        transaction: receipt(1).transaction,
    };
    assert_eq!(ledger.repeat(late, open).await, Ok(expired));
}

#[tokio::test]
async fn an_authorization_that_gave_up_its_reservation_can_repeat() {
    let ledger = Bench::new();
    let first = settled(&ledger, reading(1)).await;
    let unproven = reserved(&ledger, claim(2)).await;
    ledger
        .release(unproven, REPETITION, Spent::NOTHING, NOW)
        .await
        .unwrap();
    let repeated = ledger.repeat(reading(2), first).await.unwrap();
    assert!(matches!(repeated, Repeated::Answered(_)), "{repeated:?}");
}

#[tokio::test]
async fn the_identifier_stays_with_the_purchase_that_is_repeated() {
    let ledger = Bench::new();
    let with_id = |nonce| Claim {
        payment_id: Some("order-0000000001".to_owned()),
        ..reading(nonce)
    };
    let first = settled(&ledger, with_id(1)).await;
    ledger.mark_delivered(first);
    for nonce in [2, 3] {
        let occupant = occupied(&ledger, with_id(nonce)).await;
        assert_eq!(occupant.entry, first);
        let repeated = ledger.repeat(with_id(nonce), first).await.unwrap();
        assert!(matches!(repeated, Repeated::Answered(_)), "{repeated:?}");
    }
}

#[tokio::test]
async fn a_restart_keeps_the_places_of_unknown_entries_and_frees_the_others() {
    let mut ledger = Bench::new();
    let other = |nonce| Claim {
        request: request(1),
        ..reading(nonce)
    };
    reserved(&ledger, reading(1)).await;
    let settling = reserved(&ledger, other(2)).await;
    ledger
        .begin_settlement(settling, settlement(2), NOW)
        .await
        .unwrap();
    ledger.reopen();
    ledger.recover(NOW + 1).await.unwrap();
    reserved(&ledger, reading(3)).await;
    let occupant = occupied(&ledger, other(4)).await;
    assert_eq!((occupant.entry, occupant.state), (settling, State::Unknown));
}
