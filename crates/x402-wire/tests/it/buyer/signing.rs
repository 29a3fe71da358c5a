//! Tests of signed payments: the signed message, and the header that carries it.

use alloy_primitives::{Bytes, U256, hex};
use serde_json::{Value, json};
use x402_wire::{
    Asset, Invalid, MicroUsd, Payment, PaymentId, PaymentPayload, PaymentRequired, Resource, Terms,
    buyer::Purchase,
};

use super::{
    NOW, PAYEE, PAYER, XLAYER, budget, challenge, policy, purchase, sign, signed, unsigned, usdt0,
};

#[test]
fn a_signed_payment_is_accepted_by_the_seller() {
    let terms = Terms {
        network: XLAYER,
        pay_to: PAYEE,
        max_timeout_seconds: 300,
        assets: Asset::chain_196().to_vec(),
    };
    let offer = terms.offer(MicroUsd::dollars("0.002"));
    let resource = Resource::new("https://api.example.test/price");
    let challenge = PaymentRequired::new(resource, offer.options().cloned());
    let challenge = PaymentRequired::from_header(challenge.to_header().as_bytes()).unwrap();

    let mut budget = budget();
    let choice = policy().choose(&challenge, &budget).unwrap();
    let unsigned = choice.authorize(purchase(), &mut budget).unwrap();
    assert_eq!(budget.left(XLAYER, usdt0().address), U256::from(998_000));
    let signed = unsigned.sign(sign(unsigned.digest())).unwrap();

    let payload = PaymentPayload::from_header(signed.header().as_bytes()).unwrap();
    let payment = Payment::matching(&offer, payload).unwrap();
    payment.check_terms().unwrap();
    payment.check_window(NOW, 299).unwrap();
    assert_eq!(payment.digest(), unsigned.digest());
    assert_eq!(payment.key(), signed.key());
    assert_eq!(payment.payer(), PAYER);
    #[cfg(feature = "recover")]
    assert_eq!(
        payment.check_signature(),
        Ok(x402_wire::SignatureStanding::Recovered)
    );
}

/// Another implementation has made the vectors.
#[test]
fn digest_and_typed_data_are_those_of_the_published_vectors() {
    let vectors: Value = serde_json::from_str(include_str!(
        "../../../../../fixtures/vectors/payments.json"
    ))
    .unwrap();
    let header = vectors["payment_required_example"]["PAYMENT-REQUIRED"].as_str();
    let challenge = PaymentRequired::from_header(header.unwrap().as_bytes()).unwrap();
    let example = &vectors["eip3009_example"];
    let nonce = example["typed_data"]["message"]["nonce"].as_str().unwrap();
    let purchase = Purchase::new(PAYER, NOW, nonce.parse().unwrap());
    let choice = policy().choose(&challenge, &budget()).unwrap();
    let unsigned = choice.authorize(purchase, &mut budget()).unwrap();
    assert_eq!(unsigned.typed_data(), example["typed_data"]);
    assert_eq!(json!(unsigned.digest()), example["digest"]);

    let signature = example["signature"].as_str().unwrap();
    let signature: [u8; 65] = hex::decode(signature).unwrap().try_into().unwrap();
    let signed = unsigned.sign(signature).unwrap();
    let mut expected: Value = serde_json::from_str(
        vectors["payment_signature_example"]["json"]
            .as_str()
            .unwrap(),
    )
    .unwrap();
    let payload = signed.payload().unwrap();
    let sent: Value = serde_json::from_str(payload.raw()).unwrap();
    if !challenge.extensions.is_empty() {
        expected["extensions"] = serde_json::to_value(&challenge.extensions).unwrap();
    }
    assert_eq!(sent, expected);
}

#[test]
fn the_payment_echoes_the_entry_with_members_that_this_crate_does_not_know() {
    let payload = signed().payload().unwrap();
    assert!(payload.raw().is_ascii());
    let sent: Value = serde_json::from_str(payload.raw()).unwrap();
    assert_eq!(sent["accepted"], challenge()["accepts"][3]);
    assert_eq!(sent["resource"], challenge()["resource"]);
    assert_eq!(sent["extensions"], challenge()["extensions"]);
}

/// A parser would write the numbers differently.
#[test]
fn extensions_and_the_entry_are_sent_back_byte_for_byte() {
    let text = include_str!("../../data/challenge.json");
    let numbers = r#"{ "info": { "a": 1.10, "b": 123456789012345678901234567890, "c": 1E+2 } }"#;
    let text = text.replacen(
        r#""bazaar": {"#,
        &format!(r#""numbers": {numbers}, "bazaar": {{"#),
        1,
    );
    let text = text.replacen(r#""future": ["#, r#""price": 0.10, "future": ["#, 1);
    let challenge = PaymentRequired::from_json(text.as_bytes()).unwrap();
    let choice = policy().choose(&challenge, &budget()).unwrap();
    let purchase = purchase().with_id(PaymentId::from_random([1; 16]));
    let unsigned = choice.authorize(purchase, &mut budget()).unwrap();
    let payment = unsigned.sign(sign(unsigned.digest())).unwrap();
    let payload = payment.payload().unwrap();
    assert!(payload.raw().contains(numbers), "{}", payload.raw());
    assert!(
        payload.raw().contains(r#""price": 0.10"#),
        "{}",
        payload.raw()
    );
}

#[test]
fn signatures_that_a_token_refuses_are_not_sent() {
    let unsigned = unsigned(&challenge());
    let good = sign(unsigned.digest());
    let with_v = |v: u8| {
        let mut signature = good;
        signature[64] = v;
        unsigned.sign(signature)
    };
    for v in [2, 26, 29, 255] {
        assert_eq!(
            with_v(v).unwrap_err(),
            Invalid::RecoveryValue { observed: v }
        );
    }
    assert_eq!(with_v(0).unwrap().header(), with_v(27).unwrap().header());
    let order = U256::from_be_bytes(hex!(
        "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
    ));
    let mut high = good;
    let s = order - U256::from_be_slice(&good[32..64]);
    high[32..64].copy_from_slice(&s.to_be_bytes::<32>());
    high[64] ^= 1;
    assert_eq!(unsigned.sign(high).unwrap_err(), Invalid::HighS);

    let wallet = unsigned.sign_by_wallet(&Bytes::from(vec![1; 130])).unwrap();
    let payload = wallet.payload().unwrap();
    assert_eq!(payload.signature().to_bytes().unwrap().len(), 130);
    assert!(unsigned.sign_by_wallet(&Bytes::from(vec![1; 64])).is_err());
}

#[test]
fn nothing_prints_a_payment_that_could_be_settled() {
    let payment = signed();
    let signature = payment.payload().unwrap().signature().as_str().to_owned();
    let printed = format!("{payment:?}");
    assert!(!printed.contains(&signature[2..20]) && !printed.contains(payment.header()));
}
