//! Tests of what a plan contains. The parts that the venue's client defines must be equal byte for
//! byte.

use std::collections::BTreeSet;

use calldata_checks::{
    Facts,
    pm_order::{COLLATERAL, CONDITIONAL_TOKENS, Exchange, MAX_SALT, PmOrderFacts},
};
use plan_builder::{LifeSeconds, Moment};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::pm_order::stage::{buy, sell, stages, vectors};

/// The typed data, the order, the hash and the body to post equal those of the client, without the
/// parts that the caller adds.
#[test]
fn every_vector_is_equal_byte_for_byte() {
    for (stage, vector) in stages().iter().zip(vectors()) {
        let payload = &stage.plan()["payload"];
        let mut body = vector["post_body"].clone();
        body["owner"] = Value::Null;
        body["order"]["signature"] = Value::Null;
        assert_eq!(payload["typed_data"], vector["typed_data"]);
        assert_eq!(payload["order"], vector["order"]);
        assert_eq!(payload["order_hash"], vector["order_hash"]);
        assert_eq!(
            payload["post"],
            json!({"method": "POST", "path": "/order", "body_template": body})
        );
        assert_eq!(payload["steps"], json!([]));
    }
}

#[test]
fn a_built_plan_is_verified_and_lists_the_whole_table() {
    for stage in stages() {
        let sealed = stage.build().unwrap();
        let verified = stage.verify(sealed.json()).unwrap();
        assert_eq!(verified.payload_digest(), sealed.payload_digest());
        let plan = stage.plan();
        let names: Vec<_> = plan["assertions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["name"].clone())
            .collect();
        let table: Vec<_> = PmOrderFacts::CHECKS
            .iter()
            .map(|check| json!(check.name))
            .collect();
        assert_eq!(names, table);
    }
}

#[test]
fn the_envelope() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&stages()[2].plan()).unwrap());
}

/// Every JSON text with the same meaning is the same plan.
#[test]
fn a_plan_in_another_spelling_is_the_same() {
    let stage = buy();
    let pretty = serde_json::to_string_pretty(&stage.plan()).unwrap();
    assert_eq!(
        stage.verify(&pretty),
        stage.verify(stage.build().unwrap().json())
    );
}

/// The salt and the timestamp come from the given moment, and the digest covers them. So the same
/// moment gives the same bytes.
#[test]
fn the_same_moment_gives_the_same_bytes() {
    let stage = buy();
    assert_eq!(stage.build(), stage.build());
    let mut other = stage.clone();
    other.moment.entropy[31] ^= 1;
    assert_ne!(
        stage.plan()["payload"]["order_hash"],
        other.plan()["payload"]["order_hash"]
    );
    let mut other = stage.clone();
    other.moment.now_millis += 1;
    assert_ne!(
        stage.plan()["payload"]["order_hash"],
        other.plan()["payload"]["order_hash"]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_salt_fits_a_json_number_and_a_timestamp_is_in_milliseconds(
        entropy in any::<[u8; 32]>(),
        millis in 0..1000u64,
    ) {
        let mut stage = buy();
        stage.moment = Moment { now_millis: stage.moment.now_millis + millis, entropy };
        let sealed = stage.build().unwrap();
        prop_assert!(stage.verify(sealed.json()).is_ok());
        let payload = &stage.plan()["payload"];
        let salt = payload["post"]["body_template"]["order"]["salt"].as_u64().unwrap();
        prop_assert!(salt <= MAX_SALT);
        prop_assert_eq!(&payload["order"]["salt"], &json!(salt.to_string()));
        prop_assert_eq!(&payload["typed_data"]["message"]["salt"], &json!(salt.to_string()));
        let made = json!(stage.moment.now_millis.to_string());
        prop_assert_eq!(&payload["typed_data"]["message"]["timestamp"], &made);
    }
}

/// The artifact's name and the salt use different random bytes.
#[test]
fn the_salt_is_not_in_the_artifacts_name() {
    let mut stage = buy();
    let name = stage.plan()["artifact_id"].clone();
    stage.moment.entropy[24..].fill(0xab);
    assert_eq!(stage.plan()["artifact_id"], name);
}

#[test]
fn the_exchange_follows_the_market() {
    for neg_risk in [false, true] {
        let mut stage = buy();
        stage.market().neg_risk = neg_risk;
        let payload = &stage.plan()["payload"];
        let exchange = json!(Exchange::of_market(neg_risk).address().to_string());
        assert_eq!(
            payload["typed_data"]["domain"]["verifyingContract"],
            exchange
        );
        assert_eq!(payload["prerequisites"][0]["spender"], exchange);
    }
}

/// The plan names the approval and does not contain it as a step. It covers exactly what the order
/// gives, and only for the exchange.
#[test]
fn the_approval_is_named_and_not_added() {
    for (stage, contract, function) in [
        (buy(), COLLATERAL, "approve(address,uint256)"),
        (
            sell(),
            CONDITIONAL_TOKENS,
            "setApprovalForAll(address,bool)",
        ),
    ] {
        let payload = &stage.plan()["payload"];
        let [prerequisite] = payload["prerequisites"].as_array().unwrap().as_slice() else {
            panic!("one prerequisite");
        };
        assert_eq!(prerequisite["contract"], json!(contract.to_string()));
        assert_eq!(prerequisite["function"], json!(function));
        assert_eq!(prerequisite["amount"], payload["order"]["makerAmount"]);
        assert_eq!(prerequisite["state"], json!("not_checked"));
        assert_eq!(payload["steps"], json!([]));
    }
}

/// The venue's second generation does not have these members.
#[test]
fn no_taker_nonce_or_fee_is_a_member_of_the_order() {
    let payload = &buy().plan()["payload"];
    let names = |order: &Value| -> BTreeSet<String> {
        order.as_object().unwrap().keys().cloned().collect()
    };
    let signed = names(&payload["typed_data"]["message"]);
    let expected = [
        "salt",
        "maker",
        "signer",
        "tokenId",
        "makerAmount",
        "takerAmount",
        "side",
        "signatureType",
        "timestamp",
        "metadata",
        "builder",
    ];
    assert_eq!(signed, expected.map(str::to_owned).into());
    let mut posted = signed;
    posted.insert("expiration".to_owned());
    assert_eq!(names(&payload["order"]), posted);
    posted.insert("signature".to_owned());
    assert_eq!(names(&payload["post"]["body_template"]["order"]), posted);
}

#[test]
fn the_plan_names_the_facts_that_are_not_known() {
    let venue = &buy().plan()["payload"]["venue"];
    assert_eq!(venue["maker_eligibility"], json!("not_checked"));
    assert_eq!(venue["acceptance"], json!("not_guaranteed"));
    assert!(
        venue["geoblock"]
            .as_str()
            .unwrap()
            .starts_with("not_checked")
    );
}

#[test]
fn post_only_is_a_flag_of_the_body_only() {
    let (plain, mut stage) = (buy(), buy());
    stage.arguments["postOnly"] = json!(true);
    let (plain, post_only) = (plain.plan(), stage.plan());
    assert_eq!(
        plain["payload"]["post"]["body_template"]["postOnly"],
        json!(false)
    );
    assert_eq!(
        post_only["payload"]["post"]["body_template"]["postOnly"],
        json!(true)
    );
    assert_eq!(
        plain["payload"]["order_hash"],
        post_only["payload"]["order_hash"]
    );
    stage.verify(&post_only.to_string()).unwrap();
}

#[test]
fn a_plan_lives_as_configured_but_no_longer_than_a_tick_is_relied_on() {
    for (configured, life) in [(30, 30), (90, 90), (120, 120), (600, 120)] {
        let mut stage = buy();
        stage.policy.validity.pm_order = LifeSeconds::new(configured).unwrap();
        let sealed = stage.build().unwrap();
        assert_eq!(
            sealed.valid_until(),
            stage.moment.now().saturating_add(life)
        );
        stage.verify(sealed.json()).unwrap();
    }
}
