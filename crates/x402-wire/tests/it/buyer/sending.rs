//! Tests of a signed payment that the buyer sends again, and of the receipt for it.

use alloy_primitives::{Address, B256};
use serde_json::{Value, json};
use x402_wire::{
    HeaderError, Reason, SettlementResponse,
    buyer::{OutcomeError, PaymentOutcome, SignedPayment, TermsChanged},
    encode_header,
};

use super::{PAYEE, PAYER, XLAYER, challenge, read, signed};

#[test]
fn a_retry_sends_the_same_header_and_a_changed_challenge_gets_none() {
    let payment = signed();
    assert_eq!(payment.again(&read(&challenge())), Ok(payment.header()));
    // Another order, other offers and another text do not change the terms.
    let mut same = challenge();
    same["accepts"].as_array_mut().unwrap().reverse();
    same["error"] = json!("settlement failed");
    assert_eq!(payment.again(&read(&same)), Ok(payment.header()));

    let changed = |member: &str, value: Value| {
        let mut challenge = challenge();
        challenge["accepts"][3][member] = value;
        payment.again(&read(&challenge)).unwrap_err()
    };
    for amount in ["1999", "2001", "0"] {
        let change = changed("amount", json!(amount));
        assert!(matches!(change, TermsChanged::Amount { .. }), "{change}");
    }
    let payee = changed("payTo", json!(Address::repeat_byte(9)));
    assert!(matches!(payee, TermsChanged::Payee { .. }), "{payee}");
    let domain = changed("extra", json!({"name": "USD", "version": "1"}));
    assert!(matches!(domain, TermsChanged::Domain { .. }), "{domain}");
    for (member, value) in [
        ("asset", json!(Address::repeat_byte(9))),
        ("network", json!("eip155:1")),
        ("scheme", json!("upto")),
    ] {
        let change = changed(member, value);
        assert!(
            matches!(change, TermsChanged::Asset { .. }),
            "{member}: {change}"
        );
    }
}

#[test]
fn a_receipt_is_read_as_the_outcome_of_this_payment() {
    let payment = signed();
    let hash = B256::repeat_byte(3);
    let outcome = |receipt: Value| payment.outcome(encode_header(&receipt.to_string()).as_bytes());
    let good =
        json!({"success": true, "transaction": hash, "network": "eip155:196", "payer": PAYER});
    let with = |member: &str, value: Value| {
        let mut receipt = good.clone();
        receipt[member] = value;
        outcome(receipt)
    };
    let settled = Ok(PaymentOutcome::Settled { transaction: hash });
    assert_eq!(outcome(good.clone()), settled);
    let lower = PAYER.to_string().to_lowercase();
    assert_eq!(with("payer", json!(lower)), settled);
    assert_eq!(with("amount", json!("2000")), settled);
    assert_eq!(with("status", json!("success")), settled);
    let transaction = Some(hash);
    let pending = Ok(PaymentOutcome::Pending { transaction });
    assert_eq!(with("status", json!("timeout")), pending);
    assert_eq!(with("status", json!("pending")), pending);

    let failed = SettlementResponse::failed(&Reason::InsufficientFunds, "", XLAYER, PAYER);
    let reason = Reason::InsufficientFunds;
    let read = payment.outcome(failed.to_header().as_bytes());
    assert_eq!(read, Ok(PaymentOutcome::NotSettled { reason }));
    let waiting = SettlementResponse::failed(&Reason::SettlementPending, "", XLAYER, PAYER);
    let read = payment.outcome(waiting.to_header().as_bytes());
    assert_eq!(read, Ok(PaymentOutcome::Pending { transaction: None }));
    let silent = outcome(json!({"success": false}));
    assert!(
        matches!(silent, Ok(PaymentOutcome::NotSettled { .. })),
        "{silent:?}"
    );

    for (member, value) in [
        ("network", json!("eip155:1")),
        ("payer", json!(PAYEE)),
        ("amount", json!("2001")),
        ("amount", json!("0x7d0")),
    ] {
        let read = with(member, value);
        assert!(
            matches!(&read, Err(OutcomeError::OtherPayment { member: named, .. }) if *named == member),
            "{member}: {read:?}"
        );
    }
    for (member, value) in [("errorReason", "transaction_failed"), ("status", "failed")] {
        let read = with(member, json!(value));
        let observed = value.to_owned();
        assert_eq!(read, Err(OutcomeError::Contradiction { observed }));
    }
    for transaction in ["", "0x12", "done"] {
        let read = with("transaction", json!(transaction));
        assert!(
            matches!(read, Err(OutcomeError::Transaction { .. })),
            "{read:?}"
        );
    }
    assert!(matches!(
        payment.outcome(b"!"),
        Err(OutcomeError::Header(_))
    ));
}

#[test]
fn a_stored_header_becomes_the_same_payment_again() {
    let payment = signed();
    let restored = SignedPayment::restore(payment.header()).unwrap();
    assert_eq!(restored, payment);
    assert_eq!(restored.key(), payment.key());

    let other = |pointer: &str, value: Value| {
        let mut message: Value = serde_json::from_str(payment.payload().unwrap().raw()).unwrap();
        *message.pointer_mut(pointer).unwrap() = value;
        SignedPayment::restore(&encode_header(&message.to_string()))
    };
    assert_eq!(SignedPayment::restore("?"), Err(HeaderError::Base64));
    for (pointer, value) in [
        ("/accepted/scheme", json!("aggr_deferred")),
        ("/accepted/network", json!("solana:1")),
        ("/accepted/extra/version", Value::Null),
    ] {
        let read = other(pointer, value);
        assert!(
            matches!(&read, Err(HeaderError::Schema { detail }) if detail.starts_with("accepted: ")),
            "{pointer}: {read:?}"
        );
    }
}
