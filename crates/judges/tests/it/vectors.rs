//! Runs the published payment vectors through `x402-wire` and through `ethers-core`.

use std::str::FromStr;

use alloy_primitives::{Address, B256, U256};
use ethers_core::types::Signature;
use ethers_core::types::transaction::eip712::{Eip712, TypedData};
use serde_json::{Value, json};
use x402_wire::{
    Asset, Invalid, MicroUsd, Network, Payment, PaymentPayload, PaymentRequired,
    SettlementResponse, SignatureStanding, Terms, ascii_json, decode_header, encode_header,
};

use crate::ethers;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../../fixtures/vectors/payments.json")).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn parsed<T: FromStr<Err: std::fmt::Debug>>(value: &Value) -> T {
    text(value).parse().unwrap()
}

/// The terms of the vectors' example payment.
fn terms() -> Terms {
    let [usdt0, usdc, usdg] = Asset::chain_196();
    Terms {
        network: Network::evm(196),
        pay_to: parsed(&vectors()["eip3009_example"]["typed_data"]["message"]["to"]),
        max_timeout_seconds: 300,
        assets: vec![usdt0, usdc, usdg],
    }
}

fn example_payment(signature: &str) -> Payment {
    let mut payload: Value =
        serde_json::from_str(text(&vectors()["payment_signature_example"]["json"])).unwrap();
    payload["payload"]["signature"] = json!(signature);
    let payload = PaymentPayload::from_json(payload.to_string().as_bytes()).unwrap();
    let offer = terms().offer(MicroUsd::parse("0.002").unwrap());
    Payment::matching(&offer, payload).unwrap()
}

#[test]
fn domain_separators_agree() {
    let vectors = vectors();
    let separator = |entry: &Value| {
        let (name, version) = (text(&entry["name"]), text(&entry["version"]));
        let network = Network::evm(entry["chainId"].as_u64().unwrap());
        let asset = Asset {
            address: parsed(&entry["address"]),
            name: name.to_owned(),
            version: version.to_owned(),
        };
        let ours = asset.domain_separator(network);
        assert_eq!(ours, ethers::domain(&asset, network).separator());
        ours
    };
    let positive = vectors["domain_separators"].as_array().unwrap();
    let negative = vectors["domain_separators_negative"].as_array().unwrap();
    assert_eq!((positive.len(), negative.len()), (3, 3));
    for entry in positive.iter().chain(negative) {
        assert_eq!(
            separator(entry),
            parsed::<B256>(&entry["domain_separator"]),
            "{entry}"
        );
    }
}

#[test]
fn the_default_assets_are_those_of_the_vectors() {
    let vectors = vectors();
    let entries = vectors["domain_separators"].as_array().unwrap();
    for (asset, entry) in Asset::chain_196().iter().zip(entries) {
        assert_eq!(asset.address, parsed::<Address>(&entry["address"]));
        assert_eq!(asset.name, text(&entry["name"]));
        assert_eq!(asset.version, text(&entry["version"]));
    }
}

#[test]
fn prices_become_the_amounts_of_the_vectors() {
    for entry in vectors()["price_to_atomic"].as_array().unwrap() {
        let price = MicroUsd::parse(text(&entry["price"])).unwrap();
        assert_eq!(price.amount(), parsed::<U256>(&entry["amount"]), "{entry}");
    }
}

#[test]
fn the_example_authorization_has_the_published_digest_and_signer() {
    let vectors = vectors();
    let example = &vectors["eip3009_example"];
    let payment = example_payment(text(&example["signature"]));
    let digest: B256 = parsed(&example["digest"]);
    assert_eq!(payment.digest(), digest);
    assert_eq!(payment.check_terms(), Ok(()));
    assert_eq!(
        payment.check_window(example["clock_unix"].as_u64().unwrap(), 6),
        Ok(())
    );
    assert_eq!(payment.check_signature(), Ok(SignatureStanding::Recovered));

    let typed: TypedData = serde_json::from_value(example["typed_data"].clone()).unwrap();
    assert_eq!(digest, typed.encode_eip712().unwrap());
    assert_eq!(
        parsed::<B256>(&example["struct_hash"]),
        typed.struct_hash().unwrap()
    );
    let signature = Signature::from_str(text(&example["signature"])).unwrap();
    let recovered = signature.recover(digest.0).unwrap();
    assert_eq!(ethers::checksum(recovered), text(&example["recovered"]));
    assert_eq!(payment.payer().to_string(), text(&example["recovered"]));
}

#[test]
fn signatures_that_look_right_are_refused() {
    let vectors = vectors();
    let [high_s, mojibake] = &vectors["eip3009_example"]["negative_signatures"]
        .as_array()
        .unwrap()[..]
    else {
        panic!("two negative signatures")
    };
    let refused = |entry: &Value| example_payment(text(&entry["signature"])).check_signature();
    assert_eq!(refused(high_s), Err(Invalid::HighS));
    assert_eq!(
        refused(mojibake),
        Err(Invalid::Signer {
            expected: parsed(&vectors["eip3009_example"]["recovered"]),
            observed: Some(parsed(&mojibake["recovered_under_the_right_digest"])),
        })
    );
}

#[test]
fn the_example_challenge_is_read_and_written_alike() {
    let vectors = vectors();
    let example = &vectors["payment_required_example"];
    let json = text(&example["json"]);
    assert_eq!(encode_header(json), text(&example["PAYMENT-REQUIRED"]));
    assert_eq!(
        decode_header(text(&example["PAYMENT-REQUIRED"]).as_bytes()).unwrap(),
        json
    );

    let challenge: PaymentRequired = serde_json::from_str(json).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&ascii_json(&challenge).unwrap()).unwrap(),
        serde_json::from_str::<Value>(json).unwrap()
    );
    let offer = terms().offer(MicroUsd::parse("0.002").unwrap());
    assert_eq!(offer.options().len(), challenge.accepts.len());
    for option in offer.options() {
        assert!(
            challenge.options().any(|offered| offered == option),
            "{}",
            option.to_json()
        );
    }
}

#[test]
fn the_example_payment_header_is_read_byte_for_byte() {
    let vectors = vectors();
    let example = &vectors["payment_signature_example"];
    let header = text(&example["PAYMENT-SIGNATURE"]);
    assert_eq!(
        header.len(),
        usize::try_from(example["header_length"].as_u64().unwrap()).unwrap()
    );
    let payload = PaymentPayload::from_header(header.as_bytes()).unwrap();
    assert_eq!(payload.raw(), text(&example["json"]));
    assert_eq!(encode_header(payload.raw()), header);
}

#[test]
fn the_example_receipts_are_read_and_written_alike() {
    let vectors = vectors();
    for (name, example) in vectors["payment_response_examples"].as_object().unwrap() {
        let header = text(&example["PAYMENT-RESPONSE"]);
        let receipt = SettlementResponse::from_header(header.as_bytes()).unwrap();
        assert_eq!(receipt.success, name == "success");
        assert_eq!(receipt.to_header(), header, "{name}");
    }
}

#[test]
fn the_selectors_and_topics_are_hashes_of_their_signatures() {
    let vectors = vectors();
    for (signature, selector) in vectors["selectors"].as_object().unwrap() {
        assert_eq!(
            format!("0x{}", hex(&ethers_core::utils::id(signature))),
            text(selector)
        );
    }
    for (signature, topic) in vectors["event_topics"].as_object().unwrap() {
        assert_eq!(
            parsed::<B256>(topic),
            ethers_core::utils::keccak256(signature)
        );
    }
}

fn hex(bytes: &[u8]) -> String {
    ethers_core::utils::hex::encode(bytes)
}
