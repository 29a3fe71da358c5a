//! Plans with another domain, struct or hash than the venue signs.

use alloy_primitives::B256;
use calldata_checks::pm_order::{DOMAIN, ORDER_HASH};
use serde_json::json;

use super::{OTHER, changed, domain_forged, forged};
use crate::pm_order::plan::buy;

#[test]
fn the_domain_of_other_generations() {
    for version in ["1", "3", "2.0", ""] {
        assert_eq!(
            domain_forged("/typed_data/domain/version", json!(version)),
            DOMAIN
        );
    }
    assert_eq!(
        domain_forged("/typed_data/domain/name", json!("ClobAuthDomain")),
        DOMAIN
    );
    assert_eq!(
        domain_forged("/typed_data/domain/chainId", json!(80_002)),
        DOMAIN
    );
}

#[test]
fn exchanges_that_are_not_reviewed() {
    for contract in [
        // The first generation, normal and neg-risk.
        "0x4bFb41d5B3570DeFd03C39a9A4D8dE6Bd8B8982E",
        "0xC5d563A36AE78145C45a50134d48A1215220f80a",
        // The third generation.
        "0xe3333700cA9d93003F00f0F71f8515005F6c00Aa",
        // The neg-risk "B" of community code, and the old adapter.
        "0xe2222d002000ba0053cef3375333610f64600036",
        "0xd91E80cF2E7be2e162c6513ceD06f1dD0dA35296",
        OTHER,
    ] {
        assert_eq!(
            domain_forged("/typed_data/domain/verifyingContract", json!(contract)),
            DOMAIN
        );
    }
}

#[test]
fn a_salt_or_a_missing_member_in_the_domain_type() {
    let mut plan = buy();
    let list = plan.json["typed_data"]["types"]["EIP712Domain"]
        .as_array_mut()
        .unwrap();
    list.push(json!({"name": "salt", "type": "bytes32"}));
    assert_eq!(plan.refusal(), DOMAIN);
    let mut plan = buy();
    plan.json["typed_data"]["types"]["EIP712Domain"]
        .as_array_mut()
        .unwrap()
        .pop();
    assert_eq!(plan.refusal(), DOMAIN);
    let mut plan = buy();
    plan.set("/typed_data/types/EIP712Domain", json!([]));
    assert_eq!(plan.refusal(), DOMAIN);
}

#[test]
fn a_hash_that_is_not_that_of_the_typed_data() {
    assert_eq!(
        changed("/order_hash", json!(B256::repeat_byte(1).to_string())),
        ORDER_HASH
    );
    assert_eq!(changed("/order_hash", json!("0x")), ORDER_HASH);
}

/// The struct of the first generation, and every struct that is not exactly the reviewed one.
#[test]
fn another_order_struct() {
    let v1 = [
        ("salt", "uint256"),
        ("maker", "address"),
        ("signer", "address"),
        ("taker", "address"),
        ("tokenId", "uint256"),
        ("makerAmount", "uint256"),
        ("takerAmount", "uint256"),
        ("expiration", "uint256"),
        ("nonce", "uint256"),
        ("feeRateBps", "uint256"),
        ("side", "uint8"),
        ("signatureType", "uint8"),
    ];
    let v1: Vec<_> = v1
        .iter()
        .map(|(name, kind)| json!({"name": name, "type": kind}))
        .collect();
    assert_eq!(changed("/typed_data/types/Order", json!(v1)), ORDER_HASH);
    let reviewed = buy().json["typed_data"]["types"]["Order"]
        .as_array()
        .unwrap()
        .clone();
    let mut swapped = reviewed.clone();
    swapped.swap(5, 4);
    assert_eq!(
        changed("/typed_data/types/Order", json!(swapped)),
        ORDER_HASH
    );
    let mut with_expiration = reviewed;
    with_expiration.push(json!({"name": "expiration", "type": "uint256"}));
    assert_eq!(
        changed("/typed_data/types/Order", json!(with_expiration)),
        ORDER_HASH
    );
    assert_eq!(
        changed("/typed_data/primaryType", json!("EIP712Domain")),
        ORDER_HASH
    );
}

#[test]
fn a_salt_that_no_json_number_holds() {
    // A double holds every integer up to 2^53 - 1.
    assert_eq!(forged("salt", json!("9007199254740992")), ORDER_HASH);
    let mut plan = buy();
    plan.set_order("salt", &json!("9007199254740991"));
    plan.rehash();
    plan.judge().unwrap();
    // A fraction, as a float would print it.
    assert_eq!(
        changed("/post_body/order/salt", json!(479_249_096_354.5)),
        ORDER_HASH
    );
}
