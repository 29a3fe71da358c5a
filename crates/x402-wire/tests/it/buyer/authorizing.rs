//! Tests of authorizations: their window, their amount in the budget, and their identifier.

use alloy_primitives::{B256, U256};
use serde_json::{Value, json};
use x402_wire::{
    PaymentId,
    buyer::{Allowance, AuthorizeError, Budget, Purchase, SpendPolicy},
};

use super::{NOW, PAYER, XLAYER, budget, challenge, policy, purchase, read, sign, usdc, usdt0};

#[test]
fn the_window_is_the_shorter_of_the_offers_and_the_policys() {
    let ends = |policy: SpendPolicy, now: u64| {
        let choice = policy.choose(&read(&challenge()), &budget()).unwrap();
        let purchase = Purchase::new(PAYER, now, B256::ZERO);
        let unsigned = choice.authorize(purchase, &mut budget()).unwrap();
        assert_eq!(unsigned.authorization().valid_after, U256::ZERO);
        unsigned.authorization().valid_before
    };
    assert_eq!(ends(policy(), NOW), U256::from(NOW + 600));
    assert_eq!(ends(policy().with_window(90), NOW), U256::from(NOW + 90));
    assert_eq!(ends(policy().with_window(0), NOW), U256::from(NOW + 6));
    assert_eq!(
        ends(policy().with_window(u64::MAX), NOW),
        U256::from(NOW + 86_400)
    );
    let dollars = SpendPolicy::new([Allowance::of(&usdc(), XLAYER, U256::from(20_000))]);
    assert_eq!(ends(dollars, NOW), U256::from(NOW + 120));
}

#[test]
fn an_amount_above_the_budget_is_not_authorized() {
    let choice = policy().choose(&read(&challenge()), &budget()).unwrap();
    let asset = usdt0().address;
    let mut rest = Budget::new().with(XLAYER, asset, U256::from(3_999));
    assert!(choice.authorize(purchase(), &mut rest).is_ok());
    let refused = choice.authorize(purchase(), &mut rest).unwrap_err();
    assert!(matches!(refused, AuthorizeError::Budget(_)), "{refused}");
    assert_eq!(rest.left(XLAYER, asset), U256::from(1_999));
    rest.give_back(XLAYER, asset, U256::from(2_000));
    assert_eq!(rest.left(XLAYER, asset), U256::from(3_999));
    rest.give_back(XLAYER, asset, U256::MAX);
    assert_eq!(rest.left(XLAYER, asset), U256::MAX);
}

#[test]
fn the_callers_identifier_is_sent_to_sellers_that_accept_one() {
    let id = PaymentId::from_random([5; 16]);
    let pay = |challenge: &Value, purchase: Purchase| {
        let choice = policy().choose(&read(challenge), &budget()).unwrap();
        let unsigned = choice.authorize(purchase, &mut budget())?;
        Ok::<_, AuthorizeError>(unsigned.sign(sign(unsigned.digest())).unwrap())
    };
    let first = pay(&challenge(), purchase().with_id(id.clone())).unwrap();
    assert_eq!(first.payload().unwrap().payment_id(), Some(id.as_str()));
    let mut expected = challenge()["extensions"].clone();
    expected["payment-identifier"]["info"]["id"] = json!(id);
    let sent: Value = serde_json::from_str(first.payload().unwrap().raw()).unwrap();
    assert_eq!(sent["extensions"], expected);

    // The same purchase with a fresh signature carries the same identifier.
    let fresh = Purchase::new(PAYER, NOW + 900, B256::repeat_byte(8)).with_id(id.clone());
    let second = pay(&challenge(), fresh).unwrap();
    assert_ne!(second.header(), first.header());
    assert_eq!(second.payload().unwrap().payment_id(), Some(id.as_str()));

    let mut required = challenge();
    required["extensions"]["payment-identifier"]["info"]["required"] = json!(true);
    let refused = pay(&required, purchase()).unwrap_err();
    assert_eq!(refused, AuthorizeError::PaymentIdRequired);
    assert!(pay(&required, purchase().with_id(id.clone())).is_ok());

    let mut none = challenge();
    none["extensions"] = json!({});
    let payment = pay(&none, purchase().with_id(id)).unwrap();
    assert_eq!(payment.payment_id(), None);
    assert_eq!(payment.payload().unwrap().payment_id(), None);
}

#[test]
fn a_time_in_milliseconds_is_not_authorized() {
    let choice = policy().choose(&read(&challenge()), &budget()).unwrap();
    let mut budget = budget();
    for now in [NOW * 1000, u64::MAX] {
        let refused = choice.authorize(Purchase::new(PAYER, now, B256::ZERO), &mut budget);
        assert_eq!(refused, Err(AuthorizeError::Time { observed: now }));
    }
    assert_eq!(budget, super::budget());
}

#[test]
fn a_member_with_a_private_name_of_the_parser_is_sent_back_unread() {
    // `serde_json::Value` reads this object as the JSON in its string.
    let hidden = json!({"$serde_json::private::RawValue": r#"{"info":{"required":true}}"#});
    let mut challenge = challenge();
    challenge["extensions"] = json!({"payment-identifier": hidden.clone()});

    let choice = policy().choose(&read(&challenge), &budget()).unwrap();
    let id = PaymentId::from_random([5; 16]);
    let unsigned = choice
        .authorize(purchase().with_id(id.clone()), &mut budget())
        .unwrap();
    let payment = unsigned.sign(sign(unsigned.digest())).unwrap();

    let mut expected = hidden;
    expected["info"] = json!({"id": id});
    let raw = payment.payload().unwrap().raw().to_owned();
    assert!(
        raw.contains(&format!(r#""payment-identifier":{expected}"#)),
        "{raw}"
    );
}
