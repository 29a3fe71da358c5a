//! Tests of payment identifiers. Each belongs to one authorization of its payer.

use alloy_primitives::Address;
use ledger::{
    Claim, EntryId, Journal, Occupant, PaymentStatus, RequestBinding, Resolution, Spent, State,
};

use crate::support::{
    Bench, ENTRY_RETENTION, NOW, OPTIONS, RETENTION, claim, key, prune_all, receipt, refused,
    request, reserved, settlement,
};

const ID: &str = "order-0000000001";

fn with_id(nonce: u64, id: &str) -> Claim {
    Claim {
        payment_id: Some(id.to_owned()),
        ..claim(nonce)
    }
}

/// Makes the binding of a signed payment with an identifier, as the server does.
fn signed(request: RequestBinding, signature: &str) -> RequestBinding {
    request.for_payment(signature, Some(ID))
}

/// The refusal of a claim whose identifier belongs to another authorization, which `entry` has
/// reserved for the same request.
fn taken(
    (entry, nonce): (EntryId, u64),
    state: State,
    transaction: Option<String>,
) -> PaymentStatus {
    PaymentStatus::Occupied(Occupant {
        entry,
        key: Some(key(nonce)),
        state,
        transaction,
        by_identifier: true,
        is_action: false,
        is_delivered: false,
    })
}

#[tokio::test]
async fn an_identifier_belongs_to_one_authorization() {
    let ledger = Bench::new();
    let entry = reserved(&ledger, with_id(1, ID)).await;
    let first = || taken((entry, 1), State::Reserved, None);
    assert_eq!(refused(&ledger, with_id(2, ID)).await, first());
    // The same payment may come again. It may also have another identifier, or none.
    let in_flight = PaymentStatus::InFlight {
        entry,
        state: State::Reserved,
    };
    assert_eq!(refused(&ledger, with_id(1, ID)).await, in_flight);
    reserved(&ledger, with_id(3, "order-0000000002")).await;
    reserved(&ledger, claim(4)).await;
    // Each payer has its own identifiers.
    let mut other_payer = with_id(5, ID);
    other_payer.key.payer = Address::repeat_byte(0xcc);
    reserved(&ledger, other_payer).await;
    // The payer is the same, even with another asset or network.
    let mut other_asset = with_id(6, ID);
    other_asset.key.asset = Address::repeat_byte(0xcc);
    assert_eq!(refused(&ledger, other_asset).await, first());
}

#[tokio::test]
async fn an_identifier_is_free_again_after_a_release() {
    let ledger = Bench::new();
    let first = reserved(&ledger, with_id(1, ID)).await;
    ledger
        .release(first, "refused", Spent::NOTHING, NOW)
        .await
        .unwrap();
    let second = reserved(&ledger, with_id(2, ID)).await;
    // The first authorization comes back, but the second one has its identifier now.
    let expected = taken((second, 2), State::Reserved, None);
    assert_eq!(refused(&ledger, with_id(1, ID)).await, expected);
    ledger
        .release(second, "refused", Spent::NOTHING, NOW)
        .await
        .unwrap();
    reserved(&ledger, with_id(1, ID)).await;
}

#[tokio::test]
async fn an_identifier_is_free_again_after_the_operator_has_released() {
    let ledger = Bench::new();
    let entry = reserved(&ledger, with_id(1, ID)).await;
    ledger
        .begin_settlement(entry, settlement(1), NOW)
        .await
        .unwrap();
    ledger
        .mark_unknown(entry, None, "timeout", NOW)
        .await
        .unwrap();
    ledger.mark_undecidable(entry, "no one", NOW).await.unwrap();
    let other = refused(&ledger, with_id(2, ID)).await;
    assert_eq!(other, taken((entry, 1), State::Undecidable, None));
    let reason = "not on chain".to_owned();
    ledger
        .resolve(entry, Resolution::Released { reason }, NOW)
        .await
        .unwrap();
    reserved(&ledger, with_id(2, ID)).await;
}

/// The other payment is in every state from reserved to deleted. The status names its transaction
/// as soon as there is one.
#[tokio::test]
async fn the_status_names_the_other_payment_in_each_of_its_states() {
    let ledger = Bench::new();
    let entry = reserved(&ledger, with_id(1, ID)).await;
    let other = || with_id(2, ID);
    let expected = |state, transaction| taken((entry, 1), state, transaction);
    assert_eq!(
        refused(&ledger, other()).await,
        expected(State::Reserved, None)
    );
    ledger
        .begin_settlement(entry, settlement(1), NOW)
        .await
        .unwrap();
    assert_eq!(
        refused(&ledger, other()).await,
        expected(State::Settling, None)
    );
    // The transaction is not named, because it may not have happened.
    let transaction = Some("0xb2".to_owned());
    ledger
        .mark_unknown(entry, transaction, "timeout", NOW)
        .await
        .unwrap();
    assert_eq!(
        refused(&ledger, other()).await,
        expected(State::Unknown, None)
    );
    ledger.settle(entry, key(1), receipt(1), NOW).await.unwrap();
    let settled = expected(State::Settled, Some(receipt(1).transaction));
    assert_eq!(refused(&ledger, other()).await, settled);
    prune_all(&ledger, NOW + RETENTION).await;
    assert_eq!(refused(&ledger, other()).await, settled);
    prune_all(&ledger, NOW + ENTRY_RETENTION).await;
    reserved(&ledger, other()).await;
}

#[tokio::test]
async fn whether_it_was_used_for_the_same_request_does_not_depend_on_the_signature() {
    let mut ledger = Bench::in_file(OPTIONS);
    let first = Claim {
        request: signed(request(0), "0x01"),
        ..with_id(1, ID)
    };
    let entry = reserved(&ledger, first).await;
    let elsewhere = || PaymentStatus::IdentifierTaken {
        transaction: None,
        key: Some(key(1)),
    };
    let same = taken((entry, 1), State::Reserved, None);
    for (asked, expected) in [(request(0), same), (request(1), elsewhere())] {
        let again = Claim {
            request: signed(asked, "0x02"),
            ..with_id(2, ID)
        };
        assert_eq!(refused(&ledger, again).await, expected);
    }
    // An older version stored no digest of only the request.
    ledger.change(|file| {
        file.execute_batch("UPDATE entry SET content = NULL")
            .unwrap();
    });
    let again = Claim {
        request: signed(request(0), "0x02"),
        ..with_id(2, ID)
    };
    assert_eq!(refused(&ledger, again).await, elsewhere());
}

/// Only claims with an identifier need the digest of only the request.
#[tokio::test]
async fn the_digest_of_the_request_alone_is_kept_with_identifiers_only() {
    let mut ledger = Bench::in_file(OPTIONS);
    reserved(&ledger, claim(1)).await;
    reserved(&ledger, with_id(2, ID)).await;
    ledger.change(|file| {
        let sql = "SELECT id FROM entry WHERE content IS NOT NULL";
        let kept: Vec<i64> = file
            .prepare(sql)
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(kept, [2]);
    });
}
