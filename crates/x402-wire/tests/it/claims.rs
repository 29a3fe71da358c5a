//! Tests of a payment's claims about itself: its way of paying, its authorization, and its signer.

use alloy_primitives::{Bytes, hex};
use serde_json::{Value, json};
use x402_wire::{
    Asset, Invalid, MicroUsd, Mismatch, Network, Payment, PaymentPayload, Reason, Terms,
};

/// The signed payment of the published vectors.
fn good() -> Value {
    let vectors: Value =
        serde_json::from_str(include_str!("../../../../fixtures/vectors/payments.json")).unwrap();
    let payment = vectors["payment_signature_example"]["json"].as_str();
    serde_json::from_str(payment.unwrap()).unwrap()
}

fn read(payment: &Value) -> PaymentPayload {
    PaymentPayload::from_json(payment.to_string().as_bytes()).unwrap()
}

fn matching(payment: &Value) -> Result<Payment, Mismatch> {
    let terms = Terms {
        network: Network::evm(196),
        pay_to: "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
            .parse()
            .unwrap(),
        max_timeout_seconds: 300,
        assets: Asset::chain_196().to_vec(),
    };
    Payment::matching(&terms.offer(MicroUsd::dollars("0.002")), read(payment))
}

/// A flow or a transfer method changes what the signature is used for.
#[test]
fn another_way_of_paying_than_the_offered_one_is_a_mismatch() {
    let (flow, method) = (
        Reason::UnsupportedPaymentFlow,
        Reason::UnsupportedTransferMethod,
    );
    for (member, value, reason) in [
        ("paymentFlow", json!("upfront"), &flow),
        ("paymentFlow", json!("Authorization"), &flow),
        ("paymentFlow", json!(""), &flow),
        ("paymentFlow", json!({"name": "escrow"}), &flow),
        ("assetTransferMethod", json!("permit2"), &method),
        ("transferMethod", json!("permit2"), &method),
        ("transferMethod", json!(["eip3009"]), &method),
    ] {
        let mut payment = good();
        payment["accepted"]["extra"][member] = value.clone();
        let mismatch = matching(&payment).unwrap_err();
        assert_eq!(&mismatch.reason(), reason, "{member} {value}");
        assert!(mismatch.to_string().contains(member), "{mismatch}");
    }
    let mut long = good();
    long["accepted"]["extra"]["paymentFlow"] = json!("x".repeat(5_000));
    assert!(matching(&long).unwrap_err().to_string().len() < 200);
}

#[test]
fn the_offered_way_may_be_named_and_other_members_are_the_callers_own() {
    for (member, value) in [
        ("paymentFlow", json!("authorization")),
        ("paymentFlow", json!(null)),
        ("assetTransferMethod", json!("eip3009")),
        ("transferMethod", json!("eip3009")),
        ("sessionCert", json!("c2Vzc2lvbg==")),
        ("future", json!({"a": [1, 2]})),
    ] {
        let mut payment = good();
        payment["accepted"]["extra"][member] = value.clone();
        assert!(matching(&payment).is_ok(), "{member} {value}");
    }
}

#[test]
fn a_payment_names_its_own_key_also_when_it_matches_no_offer() {
    let expected = matching(&good()).unwrap().key();
    let mut payment = good();
    payment["accepted"]["amount"] = json!("999999");
    payment["accepted"]["payTo"] = payment["payload"]["authorization"]["from"].clone();
    assert!(matching(&payment).is_err());
    assert_eq!(read(&payment).authorization_key(), Some(expected));

    payment["accepted"]["network"] = json!("eip155:1");
    let elsewhere = read(&payment).authorization_key().unwrap();
    assert_eq!(elsewhere.network, Network::evm(1));
    for foreign in ["solana:mainnet", "eip155:", "196", ""] {
        payment["accepted"]["network"] = json!(foreign);
        assert_eq!(read(&payment).authorization_key(), None, "{foreign}");
    }
}

/// A wallet signs with a key of its owner, so 65 bytes that another account signed may be the
/// wallet's.
#[test]
fn a_wallet_can_be_shown_any_65_bytes_or_more() {
    let of = |signature: &str| {
        let mut payment = good();
        payment["payload"]["signature"] = json!(signature);
        matching(&payment).unwrap()
    };
    for length in [65, 66, 130] {
        let bytes = Bytes::from(vec![7; length]);
        let payment = of(&hex::encode_prefixed(&bytes));
        assert_eq!(payment.wallet_signature(), Some(bytes));
    }
    for none in ["0x", "c2Vzc2lvbg==", &format!("0x{}", "07".repeat(64))] {
        assert_eq!(of(none).wallet_signature(), None, "{none}");
    }

    let mut others = good();
    others["payload"]["authorization"]["from"] =
        json!("0x00000000000000000000000000000000000000AA");
    let payment = matching(&others).unwrap();
    let refused = payment.check_signature();
    assert!(
        matches!(refused, Err(Invalid::Signer { .. })),
        "{refused:?}"
    );
    assert_eq!(
        payment.wallet_signature().map(|bytes| bytes.len()),
        Some(65)
    );

    others["accepted"]["scheme"] = json!("aggr_deferred");
    assert_eq!(matching(&others).unwrap().wallet_signature(), None);
}
