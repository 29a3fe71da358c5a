//! Tests of payments that must not be accepted. Each is made from a good one, and each is refused
//! with its reason.

mod signatures;

use alloy_primitives::{Address, U256};
use proptest::prelude::*;
use serde_json::{Value, json};
use x402_wire::{
    Asset, HeaderError, Invalid, MicroUsd, Mismatch, Network, Offer, Payment, PaymentPayload,
    Reason, SignatureStanding, Terms, encode_header, facilitator,
};

const NOW: u64 = 1_795_219_200;

fn offer() -> Offer {
    Terms {
        network: Network::evm(196),
        pay_to: "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
            .parse()
            .unwrap(),
        max_timeout_seconds: 300,
        assets: Asset::chain_196().to_vec(),
    }
    .offer(MicroUsd::dollars("0.002"))
}

/// The signed payment of the published vectors.
fn good() -> Value {
    let vectors: Value =
        serde_json::from_str(include_str!("../../../../fixtures/vectors/payments.json")).unwrap();
    serde_json::from_str(
        vectors["payment_signature_example"]["json"]
            .as_str()
            .unwrap(),
    )
    .unwrap()
}

/// Returns the good payment with one changed member.
fn with(pointer: &str, value: Value) -> Value {
    let mut payment = good();
    *payment
        .pointer_mut(pointer)
        .unwrap_or_else(|| panic!("{pointer}")) = value;
    payment
}

fn read(payment: &Value) -> Result<PaymentPayload, HeaderError> {
    PaymentPayload::from_header(encode_header(&payment.to_string()).as_bytes())
}

fn matching(payment: &Value) -> Result<Payment, Mismatch> {
    Payment::matching(&offer(), read(payment).unwrap())
}

#[test]
fn a_tampered_claim_is_a_mismatch_of_that_member() {
    let other = "0x00000000000000000000000000000000000000AA";
    let cases = [
        ("/accepted/scheme", json!("upto"), "accepted.scheme"),
        ("/accepted/network", json!("eip155:1"), "accepted.network"),
        ("/accepted/network", json!("xlayer"), "accepted.network"),
        ("/accepted/asset", json!(other), "accepted.asset"),
        ("/accepted/amount", json!("1999"), "accepted.amount"),
        ("/accepted/amount", json!("2001"), "accepted.amount"),
        ("/accepted/payTo", json!(other), "accepted.payTo"),
        (
            "/accepted/maxTimeoutSeconds",
            json!(301),
            "accepted.maxTimeoutSeconds",
        ),
        (
            "/accepted/extra/name",
            json!("USD\u{e2}\u{82}\u{ae}0"),
            "accepted.extra.name",
        ),
        (
            "/accepted/extra/version",
            json!("2"),
            "accepted.extra.version",
        ),
        ("/accepted/extra", json!({}), "accepted.extra.name"),
    ];
    for (pointer, value, named) in cases {
        let mismatch = matching(&with(pointer, value.clone())).expect_err(pointer);
        assert!(
            mismatch.to_string().starts_with(named),
            "{pointer} {value}: {mismatch}"
        );
    }
    // The address of one asset with the name of another one is no option either.
    let mismatch = matching(&with(
        "/accepted/asset",
        json!("0xB6CEceAB302E2E4948951eE7843FC24E92933061"),
    ));
    assert!(matches!(mismatch, Err(Mismatch::ExtraName { .. })));
}

#[test]
fn case_of_addresses_and_further_members_do_not_matter() {
    let mut payment = good();
    for pointer in [
        "/accepted/asset",
        "/accepted/payTo",
        "/payload/authorization/from",
        "/payload/authorization/to",
    ] {
        let member = payment.pointer_mut(pointer).unwrap();
        *member = json!(member.as_str().unwrap().to_lowercase());
    }
    payment["accepted"]["extra"]["sessionCert"] = json!("Y2VydA==");
    payment["accepted"]["future"] = json!({ "a": [1, 2] });
    let payment = matching(&payment).unwrap();
    payment.check_terms().unwrap();
    assert_eq!(payment.check_signature(), Ok(SignatureStanding::Recovered));
}

#[test]
fn the_signed_terms_are_checked_against_our_own_option() {
    let to = with(
        "/payload/authorization/to",
        json!("0x00000000000000000000000000000000000000AA"),
    );
    assert!(matches!(
        matching(&to).unwrap().check_terms(),
        Err(Invalid::Recipient { .. })
    ));
    for value in ["1999", "2001", "0"] {
        let value = with("/payload/authorization/value", json!(value));
        assert!(matches!(
            matching(&value).unwrap().check_terms(),
            Err(Invalid::Value { .. })
        ));
    }
}

#[test]
fn the_window_is_strict_at_both_ends() {
    let payment = matching(&good()).unwrap();
    let end = 1_795_219_500;
    assert!(payment.check_window(NOW, 300).is_ok());
    assert!(matches!(
        payment.check_window(NOW, 301),
        Err(Invalid::EndsTooSoon { .. })
    ));
    // The head-room is the least, whatever the caller of the check requests.
    assert!(payment.check_window(end - 6, 0).is_ok());
    assert!(matches!(
        payment.check_window(end - 5, 0),
        Err(Invalid::EndsTooSoon { .. })
    ));

    let later = with(
        "/payload/authorization/validAfter",
        json!((NOW + 1).to_string()),
    );
    let later = matching(&later).unwrap();
    assert!(matches!(
        later.check_window(NOW, 6),
        Err(Invalid::NotYetValid { .. })
    ));
    assert!(later.check_window(NOW + 1, 6).is_ok());

    let endless = with(
        "/payload/authorization/validBefore",
        json!(U256::MAX.to_string()),
    );
    let endless = matching(&endless).unwrap();
    assert!(matches!(
        endless.check_window(NOW, 6),
        Err(Invalid::EndsTooLate { .. })
    ));

    // The wallets of this scheme sign no end.
    let mut deferred = with("/accepted/scheme", json!("aggr_deferred"));
    deferred["payload"]["authorization"]["validBefore"] = json!(U256::MAX.to_string());
    let deferred = matching(&deferred).unwrap();
    assert!(deferred.check_window(NOW, 6).is_ok());
}

#[test]
fn a_declaration_replaces_only_the_payers_copy() {
    let ours = r#"{"info": {"n": 1.10}, "schema": {}}"#;
    let declared = |payment: &Value| {
        let payment = matching(payment).unwrap().with_bazaar(ours.into());
        facilitator::request_body_declaring(&payment, Some(true))
    };
    let mut payment = good();
    for echoed in [
        json!(null),
        json!({}),
        json!({"bazaar": 1, "shop": {"n": [1, null]}}),
    ] {
        payment["extensions"] = echoed;
        let body = declared(&payment);
        // Numbers keep their text.
        assert!(body.contains(&format!(r#""bazaar":{ours}"#)), "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        let mut expected = payment.clone();
        if expected["extensions"].is_null() {
            expected["extensions"] = json!({});
        }
        expected["extensions"]["bazaar"] = serde_json::from_str(ours).unwrap();
        assert_eq!(body["paymentPayload"], expected);
        assert_eq!(body["syncSettle"], true);
    }
    let plain = matching(&payment).unwrap();
    assert_eq!(
        facilitator::request_body_declaring(&plain, None),
        facilitator::request_body(&plain, None)
    );
}

#[test]
fn malformed_messages_are_refused_with_their_error() {
    let schema = |payment: Value| match read(&payment) {
        Err(HeaderError::Schema { detail }) => detail,
        other => panic!("{other:?}"),
    };
    for (pointer, value) in [
        ("/accepted/amount", json!(2000)),
        ("/accepted/amount", json!("2e3")),
        ("/accepted/amount", json!("0x7d0")),
        ("/accepted/amount", json!("02000")),
        ("/accepted/amount", json!(" 2000")),
        ("/accepted/amount", json!("+2000")),
        ("/accepted/maxTimeoutSeconds", json!("300")),
        ("/accepted/asset", json!("0x123")),
        ("/payload/authorization/value", json!("-1")),
        ("/payload/authorization/nonce", json!("0x00")),
        ("/payload/authorization/from", json!(null)),
        ("/payload/signature", json!(7)),
        ("/payload", json!({})),
        ("/resource", json!("https://api.example.test/price")),
    ] {
        assert!(!schema(with(pointer, value)).is_empty(), "{pointer}");
    }
    let duplicate =
        good()
            .to_string()
            .replacen("\"accepted\":", "\"accepted\":{},\"accepted\":", 1);
    assert!(PaymentPayload::from_json(duplicate.as_bytes()).is_err());
    let trailing = format!("{} {{}}", good());
    assert!(PaymentPayload::from_json(trailing.as_bytes()).is_err());

    assert!(matches!(
        read(&with("/x402Version", json!(1))),
        Err(HeaderError::Version { observed: 1 })
    ));
    let v1 = json!({"x402Version":1,"scheme":"exact","network":"base","payload":{}});
    assert!(matches!(
        read(&v1),
        Err(HeaderError::Version { observed: 1 })
    ));

    let deep = format!(
        "{{\"x402Version\":2,\"a\":{}{}}}",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let deep = PaymentPayload::from_header(encode_header(&deep).as_bytes());
    assert_eq!(deep.unwrap_err(), HeaderError::TooDeep);

    for (id, good_id) in [
        ("a".repeat(16), true),
        ("a".repeat(15), false),
        ("a b".repeat(8), false),
    ] {
        let mut payment = good();
        payment["extensions"] = json!({"payment-identifier":{"info":{"required":false,"id":id}}});
        match read(&payment) {
            Ok(payload) => assert!(good_id && payload.payment_id() == Some(id.as_str())),
            Err(error) => assert!(!good_id && error == HeaderError::PaymentId),
        }
    }
}

#[test]
fn a_stored_payment_is_the_same_payment() {
    let payment = matching(&good()).unwrap();
    let restored = Payment::restore(
        payment.payload().raw().as_bytes(),
        payment.requirements_json().as_bytes(),
    )
    .unwrap();
    assert_eq!(restored.key(), payment.key());
    assert_eq!(restored.digest(), payment.digest());
    assert_eq!(restored.requirements(), payment.requirements());
    assert_eq!(
        payment.requirements_json(),
        payment.requirements().to_json()
    );
    assert!(Payment::restore(b"{", b"{}").is_err());
    assert!(Payment::restore(payment.payload().raw().as_bytes(), b"{}").is_err());
}

#[test]
fn every_mismatch_and_fault_has_a_reason_code() {
    let reasons = [
        matching(&with("/accepted/scheme", json!("upto")))
            .unwrap_err()
            .reason(),
        matching(&with("/accepted/network", json!("eip155:1")))
            .unwrap_err()
            .reason(),
        matching(&with("/accepted/amount", json!("1")))
            .unwrap_err()
            .reason(),
        read(&with("/x402Version", json!(1))).unwrap_err().reason(),
    ];
    assert_eq!(
        reasons.map(|reason| reason.as_str().to_owned()),
        [
            "unsupported_scheme",
            "network_mismatch",
            "invalid_payment_requirements",
            "invalid_x402_version"
        ]
    );
    assert_eq!(HeaderError::Base64.reason(), Reason::InvalidPayload);
}

proptest! {
    #[test]
    fn a_header_of_any_bytes_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = PaymentPayload::from_header(&bytes);
        let _ = PaymentPayload::from_json(&bytes);
    }

    /// Flip any bit of a good payment. It is refused, or it still pays the same price of the same
    /// payer to the same payee.
    #[test]
    fn a_flipped_byte_never_changes_what_is_paid(position in any::<proptest::sample::Index>(), bit in 0u8..8) {
        let mut bytes = good().to_string().into_bytes();
        let index = position.index(bytes.len());
        bytes[index] ^= 1 << bit;
        let payer: Address = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266".parse().unwrap();
        if let Ok(payload) = PaymentPayload::from_json(&bytes)
            && let Ok(payment) = Payment::matching(&offer(), payload)
            && payment.check_terms().is_ok()
            && payment.check_window(NOW, 10).is_ok()
            && payment.check_signature() == Ok(SignatureStanding::Recovered)
        {
            prop_assert_eq!(payment.payer(), payer);
            prop_assert_eq!(payment.authorization().value, U256::from(2000));
        }
    }
}

#[test]
fn a_private_name_of_the_parser_hides_no_other_flow() {
    // `serde_json::Value` reads this object as the text in its string. Facilitators see an object.
    let hidden = json!({"$serde_json::private::RawValue": "\"authorization\""});
    let mut payment = good();
    payment["accepted"]["extra"]["paymentFlow"] = hidden.clone();
    let observed = hidden.to_string();
    assert_eq!(matching(&payment), Err(Mismatch::PaymentFlow { observed }));
}

#[test]
fn foreign_text_in_an_error_is_short_and_has_no_control_characters() {
    let act = "\u{1b}[2K\r\u{202e}";
    let payment = with("/accepted/scheme", json!(format!("{act}upto")));
    assert_eq!(
        matching(&payment).unwrap_err().to_string(),
        "accepted.scheme: expected `exact` or `aggr_deferred`, observed `[2Kupto`"
    );
    let payment = with(
        "/accepted/maxTimeoutSeconds",
        json!(format!("{act}{}", "x".repeat(5_000))),
    );
    let refused = read(&payment).unwrap_err().to_string();
    assert!(
        refused.len() < 300 && refused.chars().all(exact::is_plain),
        "{refused}"
    );
}
