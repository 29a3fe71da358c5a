//! Tests of other sellers' challenges: offers of unknown kinds are kept, and malformed offers are
//! refused with their place.

use proptest::prelude::*;
use serde_json::{Value, json};
use x402_wire::{HeaderError, Network, PaymentRequired, UnknownOffer, ascii_json, encode_header};

const CHALLENGE: &str = include_str!("../data/challenge.json");

fn challenge() -> Value {
    serde_json::from_str(CHALLENGE).unwrap()
}

fn read(challenge: &Value) -> Result<PaymentRequired, HeaderError> {
    PaymentRequired::from_json(challenge.to_string().as_bytes())
}

#[test]
fn offers_of_unknown_kinds_are_kept_with_the_reason() {
    let challenge = PaymentRequired::from_json(CHALLENGE.as_bytes()).unwrap();
    let unknown: Vec<_> = challenge
        .accepts
        .iter()
        .map(|entry| entry.unknown())
        .collect();
    let named = |text: &str| text.to_owned();
    let expected = [
        Some(UnknownOffer::Network {
            observed: named("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"),
        }),
        Some(UnknownOffer::Scheme {
            observed: named("upto"),
        }),
        Some(UnknownOffer::TransferMethod {
            observed: named("permit2"),
        }),
        None,
        None,
        None,
        Some(UnknownOffer::Network {
            observed: named("base"),
        }),
    ];
    assert_eq!(unknown, expected.each_ref().map(Option::as_ref));

    let known: Vec<_> = challenge.options().map(|option| option.network).collect();
    assert_eq!(known, [Network::evm(196); 3]);
    let solana: Value = serde_json::from_str(challenge.accepts[0].json()).unwrap();
    assert!(solana["extra"]["feePayer"].is_string());
}

#[test]
fn a_challenge_is_written_with_every_entry_as_it_came() {
    let challenge = PaymentRequired::from_json(CHALLENGE.as_bytes()).unwrap();
    let json = ascii_json(&challenge).unwrap();
    assert!(json.is_ascii());
    assert_eq!(
        serde_json::from_str::<Value>(&json).unwrap(),
        self::challenge()
    );
    let again = PaymentRequired::from_header(challenge.to_header().as_bytes()).unwrap();
    assert_eq!(ascii_json(&again).unwrap(), json);
    // The body of an MCP tool result is a parsed value already.
    assert!(serde_json::from_value::<PaymentRequired>(self::challenge()).is_ok());
}

/// Entry 3 is an `exact` offer on chain 196.
#[test]
fn a_malformed_known_entry_is_named_by_its_position_and_member() {
    let text = "at least something that is no amount, no address and no number";
    for (member, value) in [
        ("scheme", json!(1)),
        ("scheme", json!(null)),
        ("network", json!(["eip155:196"])),
        ("network", json!("eip155:0196")),
        ("network", json!("eip155:")),
        ("amount", json!(2000)),
        ("amount", json!("2e3")),
        ("amount", json!("0x7d0")),
        ("amount", json!(null)),
        ("asset", json!("USD")),
        ("payTo", json!("0x0")),
        ("payTo", json!(text)),
        ("maxTimeoutSeconds", json!("300")),
        ("maxTimeoutSeconds", json!(-1)),
        ("maxTimeoutSeconds", json!(1.5)),
        ("extra", json!([])),
        ("extra", json!("USD")),
        ("extra.name", json!(7)),
        ("extra.version", json!(2)),
    ] {
        let mut challenge = challenge();
        let pointer = format!("/accepts/3/{}", member.replace('.', "/"));
        *challenge.pointer_mut(&pointer).unwrap() = value.clone();
        let error = read(&challenge).unwrap_err();
        assert!(
            matches!(&error, HeaderError::Offer { index: 3, member: named, .. } if *named == member),
            "{member} {value}: {error:?}"
        );
        let message = error.to_string();
        assert!(
            message.starts_with(&format!("accepts[3].{member}: ")),
            "{message}"
        );
        assert!(!message.contains("line"), "{message}");
        // Reading through serde gives an error with the same words.
        let through_serde = serde_json::from_value::<PaymentRequired>(challenge);
        assert_eq!(through_serde.unwrap_err().to_string(), message);
    }
    for member in [
        "scheme",
        "network",
        "amount",
        "asset",
        "payTo",
        "maxTimeoutSeconds",
    ] {
        let mut challenge = challenge();
        challenge["accepts"][3]
            .as_object_mut()
            .unwrap()
            .remove(member);
        let message = read(&challenge).unwrap_err().to_string();
        assert_eq!(message, format!("accepts[3].{member}: missing"));
    }
}

#[test]
fn an_entry_that_is_not_an_object_or_repeats_a_member_is_malformed() {
    for entry in [json!(1), json!("exact"), json!(null), json!([])] {
        let mut challenge = challenge();
        challenge["accepts"][3] = entry.clone();
        let error = read(&challenge).unwrap_err();
        assert!(
            matches!(error, HeaderError::Offer { index: 3, .. }),
            "{entry}: {error:?}"
        );
    }
    let twice = CHALLENGE.replacen(
        r#""amount": "1500""#,
        r#""amount": "1500", "amount": "1""#,
        1,
    );
    let message = PaymentRequired::from_json(twice.as_bytes())
        .unwrap_err()
        .to_string();
    assert_eq!(message, "accepts[4]: duplicate field `amount`");
}

#[test]
fn an_offer_that_cannot_be_signed_or_has_another_flow_is_unknown() {
    let kind = |extra: Value| {
        let mut challenge = challenge();
        challenge["accepts"][3]["extra"] = extra;
        read(&challenge).unwrap().accepts[3].unknown().cloned()
    };
    let name = Some(UnknownOffer::Domain { member: "name" });
    assert_eq!(kind(json!({})), name);
    assert_eq!(kind(json!(null)), name);
    let version = Some(UnknownOffer::Domain { member: "version" });
    assert_eq!(kind(json!({"name": "USD"})), version);

    let with = |member: &str, value: Value| {
        let mut extra = json!({"name": "USD₮0", "version": "1"});
        extra[member] = value;
        kind(extra)
    };
    for flow in [
        json!("escrow"),
        json!("upfront"),
        json!({"a": 1}),
        json!(""),
    ] {
        let kind = with("paymentFlow", flow.clone());
        assert!(
            matches!(kind, Some(UnknownOffer::PaymentFlow { .. })),
            "{flow}"
        );
    }
    for member in ["assetTransferMethod", "transferMethod"] {
        let kind = with(member, json!("permit2"));
        assert!(
            matches!(kind, Some(UnknownOffer::TransferMethod { .. })),
            "{member}"
        );
        assert_eq!(with(member, json!("eip3009")), None);
    }
    assert_eq!(with("paymentFlow", json!("authorization")), None);
    assert_eq!(with("anything", json!([1])), None);
    assert!(
        with("paymentFlow", json!("x".repeat(5_000)))
            .unwrap()
            .to_string()
            .len()
            < 200
    );
}

#[test]
fn another_version_is_refused_with_its_number() {
    let v1 = json!({"x402Version": 1, "error": "X-PAYMENT header is required", "accepts": [
        {"scheme": "exact", "network": "base", "maxAmountRequired": "10000",
         "resource": "https://api.example.test/price", "description": "", "mimeType": "",
         "payTo": "0x90F79bf6EB2c4f870365E785982E1f101E93b906", "maxTimeoutSeconds": 60,
         "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
         "extra": {"name": "USD Coin", "version": "2"}}]});
    assert_eq!(read(&v1), Err(HeaderError::Version { observed: 1 }));
    let mut other = challenge();
    other["x402Version"] = json!(3);
    assert_eq!(read(&other), Err(HeaderError::Version { observed: 3 }));
    assert!(matches!(read(&json!({})), Err(HeaderError::Schema { .. })));
}

#[test]
fn absent_and_null_members_that_are_optional_are_the_same() {
    let mut bare = challenge();
    let object = bare.as_object_mut().unwrap();
    object.remove("error");
    object.remove("extensions");
    let bare = read(&bare).unwrap();
    let mut null = challenge();
    null["error"] = json!(null);
    null["extensions"] = json!(null);
    assert_eq!(read(&null).unwrap(), bare);
    assert!(bare.extensions.is_empty());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = PaymentRequired::from_header(&bytes);
        let _ = PaymentRequired::from_json(&bytes);
    }

    /// Flip any bit of a challenge. It is refused with its fault, or it is written as it was read.
    #[test]
    fn a_flipped_byte_is_read_or_refused(position in any::<proptest::sample::Index>(), bit in 0u8..8) {
        let mut bytes = CHALLENGE.as_bytes().to_vec();
        let index = position.index(bytes.len());
        bytes[index] ^= 1 << bit;
        if let Ok(challenge) = PaymentRequired::from_json(&bytes) {
            let header = encode_header(&ascii_json(&challenge).unwrap());
            let again = PaymentRequired::from_header(header.as_bytes()).unwrap();
            prop_assert_eq!(again.accepts.len(), challenge.accepts.len());
            prop_assert!(again.options().eq(challenge.options()));
        }
    }
}
