//! Changes every member of a plan alone.

use alloy_primitives::B256;
use calldata_checks::pm_order::{AMOUNTS, BUILDER, MAKER, ORDER_HASH, SIDE, TOKEN};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::pm_order::{
    attacks::{OTHER, changed},
    plan::{buy, plans, text},
};

/// Each member belongs to a check, which refuses a change of that member alone.
#[test]
fn every_member_by_name() {
    let members = [
        ("maker", json!(OTHER), MAKER),
        ("signer", json!(OTHER), MAKER),
        ("signatureType", json!(1), MAKER),
        ("tokenId", json!("5"), TOKEN),
        ("makerAmount", json!("50000001"), AMOUNTS),
        ("takerAmount", json!("100000001"), AMOUNTS),
        ("timestamp", json!("1790000000001"), ORDER_HASH),
        ("metadata", json!(B256::repeat_byte(2).to_string()), BUILDER),
        ("builder", json!(B256::repeat_byte(2).to_string()), BUILDER),
    ];
    for place in ["typed_data/message", "order", "post_body/order"] {
        for (member, value, check) in &members {
            assert_eq!(
                changed(&format!("/{place}/{member}"), value.clone()),
                *check,
                "{place} {member}"
            );
        }
    }
    assert_eq!(changed("/typed_data/message/side", json!(1)), SIDE);
    assert_eq!(changed("/order/side", json!("SELL")), SIDE);
    assert_eq!(changed("/post_body/order/side", json!("SELL")), SIDE);
    assert_eq!(changed("/typed_data/message/salt", json!("1")), ORDER_HASH);
    assert_eq!(changed("/order/salt", json!("1")), ORDER_HASH);
    assert_eq!(changed("/post_body/order/salt", json!(1)), ORDER_HASH);
}

/// An address has two texts, with and without checksum; they are the same facts.
#[test]
fn lower_case_addresses_are_the_same_facts() {
    let (plan, mut lower) = (buy(), buy());
    for pointer in [
        "/typed_data/message/maker",
        "/order/signer",
        "/typed_data/domain/verifyingContract",
    ] {
        let address = text(plan.json.pointer(pointer).unwrap()).to_lowercase();
        lower.set(pointer, json!(address));
    }
    assert_eq!(lower.facts(), plan.facts());
}

/// The paths of all texts of a plan.
fn texts(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(path.to_owned()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                texts(item, &format!("{path}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                texts(member, &format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// A changed character of any text gives the same facts, or a refusal by a name of the table.
    #[test]
    fn any_changed_character_is_refused_by_name(
        which in 0..3usize,
        text_at in any::<prop::sample::Index>(),
        char_at in any::<prop::sample::Index>(),
        other in "[0-9a-fA-Fx .+\u{661}-]",
        how in 0..3,
    ) {
        let plan = plans().swap_remove(which);
        let mut paths = Vec::new();
        texts(&plan.json, "", &mut paths);
        // The fields that the caller fills in are no members of a plan.
        paths.retain(|path| path != "/post_body/owner" && path != "/post_body/order/signature");
        let path = &paths[text_at.index(paths.len())];
        let mut characters: Vec<_> =
            text(plan.json.pointer(path).unwrap()).chars().map(String::from).collect();
        let at = char_at.index(characters.len());
        match how {
            0 => characters[at] = other,
            1 => characters.insert(at, other),
            _ => drop(characters.remove(at)),
        }
        let mut forged = plan.clone();
        forged.set(path, json!(characters.concat()));
        if forged.facts() != plan.facts() {
            forged.refusal();
        }
    }
}
