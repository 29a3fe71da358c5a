//! Tests with the published vectors of `fixtures/vectors/payments.json`, which another
//! implementation has made.

use alloy_primitives::{Address, B256};
use serde_json::Value;
use x402_wire::{
    Asset, Authorization, MicroUsd, Network, Offer, Payment, PaymentPayload, PaymentRequired,
    SettlementResponse, SignatureStanding, Terms, ascii_json, decode_header, encode_header,
};

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../../fixtures/vectors/payments.json")).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

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

#[test]
fn domain_separators_are_those_of_the_tokens() {
    let vectors = vectors();
    let known = Asset::chain_196();
    for (row, known) in vectors["domain_separators"]
        .as_array()
        .unwrap()
        .iter()
        .zip(known)
    {
        let asset = asset(row);
        assert_eq!(asset, known);
        let separator: B256 = text(&row["domain_separator"]).parse().unwrap();
        assert_eq!(
            asset.domain_separator(Network::evm(196)),
            separator,
            "{}",
            asset.name
        );
    }
    for row in vectors["domain_separators_negative"].as_array().unwrap() {
        let asset = asset(row);
        let separator: B256 = text(&row["domain_separator"]).parse().unwrap();
        assert_eq!(
            asset.domain_separator(Network::evm(196)),
            separator,
            "{}",
            row["note"]
        );
        assert!(
            Asset::chain_196()
                .iter()
                .all(|k| k.domain_separator(Network::evm(196)) != separator)
        );
    }
}

fn asset(row: &Value) -> Asset {
    Asset {
        address: text(&row["address"]).parse().unwrap(),
        name: text(&row["name"]).to_owned(),
        version: text(&row["version"]).to_owned(),
    }
}

#[test]
fn prices_become_the_published_amounts() {
    for row in vectors()["price_to_atomic"].as_array().unwrap() {
        let price = MicroUsd::parse(text(&row["price"])).unwrap();
        assert_eq!(price.atomic().to_string(), text(&row["amount"]));
    }
}

#[test]
fn the_signed_example_is_accepted_and_its_variants_are_not() {
    let vectors = vectors();
    let example = &vectors["eip3009_example"];
    let authorization: Authorization =
        serde_json::from_value(example["typed_data"]["message"].clone()).unwrap();
    let separator: B256 = text(&example["domain_separator"]).parse().unwrap();
    assert_eq!(
        authorization.digest(separator).to_string(),
        text(&example["digest"])
    );

    let header = text(&vectors["payment_signature_example"]["PAYMENT-SIGNATURE"]);
    let payload = PaymentPayload::from_header(header.as_bytes()).unwrap();
    assert_eq!(
        payload.raw(),
        text(&vectors["payment_signature_example"]["json"])
    );
    let payment = Payment::matching(&offer(), payload).unwrap();
    let payer: Address = text(&example["recovered"]).parse().unwrap();
    assert_eq!(payment.payer(), payer);
    payment.check_terms().unwrap();
    payment
        .check_window(example["clock_unix"].as_u64().unwrap(), 10)
        .unwrap();
    assert_eq!(payment.check_signature(), Ok(SignatureStanding::Recovered));

    let json = text(&vectors["payment_signature_example"]["json"]);
    for negative in example["negative_signatures"].as_array().unwrap() {
        let forged = json.replace(text(&example["signature"]), text(&negative["signature"]));
        let payload = PaymentPayload::from_json(forged.as_bytes()).unwrap();
        let payment = Payment::matching(&offer(), payload).unwrap();
        let invalid = payment.check_signature().unwrap_err();
        assert_eq!(
            invalid.reason().as_str(),
            "invalid_exact_evm_payload_signature",
            "{negative}"
        );
    }
}

#[test]
fn the_examples_of_headers_are_read_and_written_alike() {
    let vectors = vectors();
    let example = &vectors["payment_required_example"];
    let required: PaymentRequired = serde_json::from_str(
        &decode_header(text(&example["PAYMENT-REQUIRED"]).as_bytes()).unwrap(),
    )
    .unwrap();
    assert_eq!(ascii_json(&required).unwrap(), text(&example["json"]));
    assert_eq!(
        encode_header(&ascii_json(&required).unwrap()),
        text(&example["PAYMENT-REQUIRED"])
    );

    for name in ["success", "failure"] {
        let example = &vectors["payment_response_examples"][name];
        let header = text(&example["PAYMENT-RESPONSE"]);
        let response = SettlementResponse::from_header(header.as_bytes()).unwrap();
        assert_eq!(response.success, name == "success");
        assert_eq!(response.to_header(), header);
    }
}

/// The examples of the documentation read this file.
#[test]
fn the_payment_of_the_examples_is_that_of_the_vectors() {
    let payment = text(&vectors()["payment_signature_example"]["json"]).to_owned();
    assert_eq!(include_str!("../data/payment.json"), payment + "\n");
}
