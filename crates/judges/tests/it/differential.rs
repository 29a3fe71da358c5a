//! Compares `ethers-core` with `x402-wire`: they compute the same results for random inputs.

use alloy_primitives::{Address, B256, U256};
use ethers_core::abi::{Token as AbiToken, encode_packed};
use ethers_core::k256::ecdsa::SigningKey;
use ethers_core::types::Signature;
use ethers_core::types::transaction::eip712::Eip712;
use ethers_core::utils::{keccak256, secret_key_to_address};
use proptest::prelude::*;
use serde_json::json;
use x402_wire::{
    Asset, Authorization, AuthorizationKey, Invalid, MicroUsd, Network, Payment, PaymentPayload,
    SignatureStanding, Terms, ascii_json, encode_header,
};

use crate::ethers;

fn addresses() -> impl Strategy<Value = Address> {
    any::<[u8; 20]>().prop_map(Address::from)
}

fn words() -> impl Strategy<Value = B256> {
    any::<[u8; 32]>().prop_map(B256::from)
}

/// Integers of every magnitude. Uniform ones would nearly always fill all 32 bytes.
fn integers() -> impl Strategy<Value = U256> {
    (any::<[u8; 32]>(), 0usize..=256).prop_map(|(bytes, shift)| {
        U256::from_be_bytes(bytes)
            .checked_shr(shift)
            .unwrap_or_default()
    })
}

/// Names of tokens, some of them outside ASCII and outside the basic plane.
fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("USD\u{20ae}0".to_owned()),
        Just(String::new()),
        "[ -~]{0,40}",
        "\\PC{0,40}",
        any::<String>(),
    ]
}

fn assets() -> impl Strategy<Value = Asset> {
    (addresses(), names(), names()).prop_map(|(address, name, version)| Asset {
        address,
        name,
        version,
    })
}

fn networks() -> impl Strategy<Value = Network> {
    prop_oneof![Just(196), Just(1), any::<u64>()].prop_map(Network::evm)
}

fn authorizations() -> impl Strategy<Value = Authorization> {
    (
        addresses(),
        addresses(),
        integers(),
        integers(),
        integers(),
        words(),
    )
        .prop_map(
            |(from, to, value, valid_after, valid_before, nonce)| Authorization {
                from,
                to,
                value,
                valid_after,
                valid_before,
                nonce,
            },
        )
}

fn keys() -> impl Strategy<Value = SigningKey> {
    any::<[u8; 32]>().prop_filter_map("outside the curve order", |key| {
        SigningKey::from_slice(&key).ok()
    })
}

/// The payment header of a buyer that pays `authorization` in the only asset of `terms`.
fn payment(terms: &Terms, authorization: &Authorization, signature: &[u8]) -> Payment {
    let offer = terms.offer(PRICE);
    let payload = json!({
        "x402Version": 2,
        "accepted": offer.options().next().expect("an option"),
        "payload": {
            "signature": format!("0x{}", ethers_core::utils::hex::encode(signature)),
            "authorization": authorization,
        },
    });
    let header = encode_header(&payload.to_string());
    let payload = PaymentPayload::from_header(header.as_bytes()).expect("payload");
    Payment::matching(&offer, payload).expect("payment")
}

const PRICE: MicroUsd = MicroUsd::dollars("0.002");

proptest! {
    #[test]
    fn domain_separators_agree(asset in assets(), network in networks()) {
        let theirs = ethers::domain(&asset, network).separator();
        prop_assert_eq!(asset.domain_separator(network), theirs);
    }

    #[test]
    fn digests_agree(
        asset in assets(),
        network in networks(),
        authorization in authorizations(),
    ) {
        let theirs = ethers::typed_data(&asset, network, &authorization).encode_eip712().unwrap();
        let ours = authorization.digest(asset.domain_separator(network));
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn the_signer_that_is_recovered_agrees(
        key in keys(),
        asset in assets(),
        network in networks(),
        pay_to in addresses(),
        unsigned in authorizations(),
    ) {
        let payer = Address::from(secret_key_to_address(&key).0);
        let authorization = Authorization { from: payer, ..unsigned };
        let domain_separator = asset.domain_separator(network);
        let terms = Terms { network, pay_to, max_timeout_seconds: 300, assets: vec![asset] };
        let digest = authorization.digest(domain_separator);
        let signature = ethers::sign(&key, digest);

        let theirs = Signature::try_from(&signature[..]).unwrap().recover(digest.0).unwrap();
        prop_assert_eq!(Address::from(theirs.0), payer);
        let ours = payment(&terms, &authorization, &signature);
        prop_assert_eq!(ours.digest(), digest);
        prop_assert_eq!(ours.check_signature(), Ok(SignatureStanding::Recovered));

        // The same signature belongs to another message, so both recover the same wrong signer.
        prop_assume!(unsigned.from != payer);
        let other = payment(&terms, &unsigned, &signature);
        let observed = Signature::try_from(&signature[..])
            .unwrap()
            .recover(other.digest().0)
            .ok()
            .map(|address| Address::from(address.0));
        prop_assert_eq!(
            other.check_signature(),
            Err(Invalid::Signer { expected: unsigned.from, observed })
        );
    }

    #[test]
    fn addresses_are_written_alike(asset in assets(), network in networks(), pay_to in addresses()) {
        let checksum = |address| ethers::checksum(ethers::address(address));
        let expected = (checksum(asset.address), checksum(pay_to));
        let terms = Terms { network, pay_to, max_timeout_seconds: 300, assets: vec![asset] };
        for option in terms.offer(PRICE).options() {
            let json: serde_json::Value = serde_json::from_str(&ascii_json(option).unwrap()).unwrap();
            prop_assert_eq!(json["asset"].as_str(), Some(expected.0.as_str()));
            prop_assert_eq!(json["payTo"].as_str(), Some(expected.1.as_str()));
        }
    }

    #[test]
    fn authorization_keys_are_hashes_of_the_packed_fields(
        network in networks(),
        asset in addresses(),
        payer in addresses(),
        nonce in words(),
    ) {
        let packed = encode_packed(&[
            AbiToken::FixedBytes(network.chain_id().to_be_bytes().to_vec()),
            AbiToken::Address(ethers::address(asset)),
            AbiToken::Address(ethers::address(payer)),
            AbiToken::FixedBytes(nonce.to_vec()),
        ])
        .unwrap();
        let ours = AuthorizationKey { network, asset, payer, nonce }.digest();
        prop_assert_eq!(ours, keccak256(packed));
    }
}
