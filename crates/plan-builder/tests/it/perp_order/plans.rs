//! Tests of valid plans: what they contain, and that anyone can verify them.

use alloy_primitives::{Address, B256, Bytes};
use calldata_checks::{Rail, UtcSeconds, perp_order::hash};
use plan_builder::verify;
use serde_json::{Value, json};

use crate::fees::policy_with;
use crate::perp_order::venue::{
    ACCOUNT, BUILDER, NOW_MILLIS, Venue, arguments, build, check, now, parse, plan, policy,
    policy_with_builder, policy_with_fee, protected,
};

fn value(plan: &plan_builder::Sealed) -> Value {
    serde_json::from_str(plan.json()).unwrap()
}

#[test]
fn a_whole_plan() {
    // The object is sorted first. Whether a parsed object keeps its order depends on a feature that
    // any crate may enable.
    let sorted = serde_json_canonicalizer::to_string(&value(&plan(&protected()))).unwrap();
    let plan: Value = serde_json::from_str(&sorted).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&plan).unwrap());
}

#[test]
fn the_action_is_written_in_the_order_that_is_hashed() {
    let plan = plan(&protected());
    let action = concat!(
        r#""action":{"type":"order","orders":["#,
        r#"{"a":0,"b":true,"p":"100000","s":"0.001","r":false,"t":{"limit":{"tif":"Gtc"}}},"#,
        r#"{"a":0,"b":false,"p":"109500","s":"0.001","r":true,"t":{"trigger":{"isMarket":false,"triggerPx":"110000","tpsl":"tp"}}},"#,
        r#"{"a":0,"b":false,"p":"85500","s":"0.001","r":true,"t":{"trigger":{"isMarket":true,"triggerPx":"95000","tpsl":"sl"}}}"#,
        r#"],"grouping":"normalTpsl"}"#,
    );
    assert!(plan.json().contains(action), "{}", plan.json());
}

/// The bytes equal those of two SDKs of the venue. With the same nonce, vault and expiry, the
/// digests do so, too.
#[test]
fn actions_are_those_of_the_vectors() {
    let text = include_str!("../../../../../fixtures/vectors/perp_order/perpetual_orders.json");
    let file: Value = serde_json::from_str(text).unwrap();
    let [gtc, protection, fee, vault] = &file["vectors"].as_array().unwrap()[..] else {
        panic!("four vectors");
    };
    let fees = policy_with_fee(45);
    let mut ether = Venue::bitcoin();
    ether.approved = 45;
    ether.asset.coin = "ETH".to_owned();
    (ether.asset.universe_index, ether.asset.asset_id) = (1, 1);
    ether.asset.size_decimals = 4;
    let mut dearer = Venue::bitcoin();
    dearer.asset.mark_price = Some("123000".parse().unwrap());
    let vault_address = &vault["input"]["vaultAddress"];
    for (vector, arguments, venue, policy) in [
        (
            gtc,
            arguments(json!({"price": "123456.0", "size": "0.00123"})),
            dearer,
            policy(),
        ),
        (protection, protected(), Venue::bitcoin(), policy()),
        (
            fee,
            arguments(json!({"coin": "ETH", "price": "3000.5", "size": "0.2"})),
            ether,
            fees,
        ),
        (
            vault,
            arguments(json!({"price": "99999", "size": "0.01", "vaultAddress": vault_address})),
            Venue::bitcoin(),
            policy(),
        ),
    ] {
        let sealed = build(&arguments, &venue, &policy).unwrap();
        let payload = &value(&sealed)["payload"];
        assert_eq!(
            payload["action_msgpack"], vector["msgpack_hex"],
            "{}",
            vector["id"]
        );
        let json = format!(
            r#""action":{},"#,
            vector["action_json_compact"].as_str().unwrap()
        );
        assert!(sealed.json().contains(&json), "{}", vector["id"]);
        // The recipe gives the digest for any nonce that the signer chooses.
        let bytes: Bytes = payload["action_msgpack"].as_str().unwrap().parse().unwrap();
        let vault: Option<Address> = payload["recipe"]["vault_address"]
            .as_str()
            .map(|text| text.parse().unwrap());
        let nonce = vector["input"]["nonce"].as_u64().unwrap();
        let id = hash::connection_id(
            &bytes,
            nonce,
            vault,
            vector["input"]["expiresAfter"].as_u64(),
        );
        assert_eq!(id.to_string(), vector["connection_id"].as_str().unwrap());
    }
}

#[test]
fn the_example_follows_from_the_recipe() {
    for arguments in [
        arguments(json!({})),
        arguments(json!({"vaultAddress": "0x1719884eb866cb12b2287399b15f7db5e7d775ea"})),
    ] {
        let payload = value(&plan(&arguments))["payload"].clone();
        let (recipe, example) = (&payload["recipe"], &payload["example"]);
        assert_eq!(example["nonce"], NOW_MILLIS);
        let expires = recipe["expires_after"].as_u64().unwrap();
        let suffix = recipe["preimage_suffix_template"].as_str().unwrap();
        let suffix = suffix
            .replace("{nonce:16hex}", &format!("{NOW_MILLIS:016x}"))
            .replace("{expires_after:16hex}", &format!("{expires:016x}"));
        let preimage = format!(
            "{}{}",
            payload["action_msgpack"].as_str().unwrap(),
            &suffix[2..]
        );
        let id = alloy_primitives::keccak256(preimage.parse::<Bytes>().unwrap());
        assert_eq!(example["connection_id"], id.to_string());
        let digest: B256 = example["eip712_digest"].as_str().unwrap().parse().unwrap();
        assert_eq!(digest, hash::agent_digest("a", id));
    }
}

#[test]
fn a_plan_verifies_for_its_request() {
    for arguments in [
        arguments(json!({})),
        protected(),
        arguments(json!({"side": "sell", "tif": "Alo", "cloid": format!("0x{}", "AB".repeat(16))})),
        arguments(json!({"tif": "Ioc", "reduceOnly": true})),
        arguments(json!({"vaultAddress": "0x1719884eb866cb12b2287399b15f7db5e7d775ea"})),
        arguments(json!({
            "side": "sell",
            "takeProfit": {"triggerPrice": "90000"}, "stopLoss": {"triggerPrice": "105000"},
        })),
    ] {
        let plan = plan(&arguments);
        let verified = check(&arguments, plan.json()).unwrap();
        assert_eq!(verified.rail(), Rail::PerpOrder);
        assert_eq!(verified.payload_digest(), plan.payload_digest());
        assert_eq!(verified.plan_report().assertions().len(), 20);
        // A client may write the members in another order.
        let sorted = serde_json_canonicalizer::to_string(&value(&plan)).unwrap();
        assert_ne!(sorted, plan.json());
        assert_eq!(
            check(&arguments, &sorted).unwrap().payload_digest(),
            plan.payload_digest()
        );
    }
}

#[test]
fn the_venue_enforces_the_plans_expiry() {
    let arguments = arguments(json!({}));
    let plan = plan(&arguments);
    let until = plan.valid_until();
    assert_eq!(until.unix(), now().unix() + 120);
    assert_eq!(
        value(&plan)["payload"]["recipe"]["expires_after"],
        until.unix() * 1000
    );
    let request = parse(&arguments).unwrap();
    let last = UtcSeconds::from_unix(until.unix() - 1);
    verify(&request, plan.json(), last, &policy()).unwrap();
    let refusal = verify(&request, plan.json(), until, &policy()).unwrap_err();
    assert_eq!(refusal.check, "artifact_expiry_committed");
}

#[test]
fn a_configured_builder_is_paid_what_is_configured_and_approved() {
    let (arguments, policy) = (arguments(json!({})), policy_with_builder());
    let mut venue = Venue::bitcoin();
    venue.approved = 10;
    let sealed = build(&arguments, &venue, &policy).unwrap();
    assert_eq!(
        *venue.asked.lock().unwrap(),
        [(ACCOUNT.parse().unwrap(), BUILDER)]
    );
    let plan = value(&sealed);
    let address = "0x1922810825c90f4270048b96da7b1803cd8609ef";
    assert_eq!(
        plan["payload"]["action"]["builder"],
        json!({"b": address, "f": 10})
    );
    assert_eq!(
        plan["required_capabilities"],
        json!([
            "sign_eip712_typed_data_chain_1337",
            "builder_fee_approval>=10"
        ])
    );
    assert_eq!(plan["fee_attribution"]["builder"], address);
    assert_eq!(plan["fee_attribution"]["fee_tenth_bps"], 10);
    let request = parse(&arguments).unwrap();
    verify(&request, sealed.json(), now(), &policy).unwrap();
    // Another configuration requires another fee, so the plan is refused under it.
    let refusal = verify(
        &request,
        sealed.json(),
        now(),
        &crate::perp_order::venue::policy(),
    )
    .unwrap_err();
    assert_eq!(refusal.check, "perp_builder_fee_exact");
    let newer = policy_with(|fees| {
        fees["version"] = json!("2026-12-01");
        fees["perpetuals"]["builder"] = json!(BUILDER);
    });
    let refusal = verify(&request, sealed.json(), now(), &newer).unwrap_err();
    assert_eq!(refusal.check, "plan_rebuilt_exact");
}

#[test]
fn without_a_builder_no_approval_is_read() {
    let venue = Venue::bitcoin();
    build(&arguments(json!({})), &venue, &policy()).unwrap();
    assert!(venue.asked.lock().unwrap().is_empty());
}

#[test]
fn a_market_trigger_takes_the_worst_price_on_the_tick() {
    let mut venue = Venue::bitcoin();
    venue.asset.size_decimals = 1;
    venue.asset.mark_price = Some("1300".parse().unwrap());
    let arguments = arguments(json!({
        "price": "1300.5", "size": "2.5",
        "takeProfit": {"triggerPrice": "1358.1"}, "stopLoss": {"triggerPrice": "1234.5"},
    }));
    let plan = value(&build(&arguments, &venue, &policy()).unwrap());
    let orders = &plan["payload"]["action"]["orders"];
    // The bounds are 1222.29 and 1111.05. The prices are the next ticks toward the trigger.
    assert_eq!(
        (&orders[1]["p"], &orders[2]["p"]),
        (&json!("1222.3"), &json!("1111.1"))
    );
}

#[test]
fn a_builder_deployed_perpetual_gets_a_plan() {
    let mut venue = Venue::bitcoin();
    venue.asset.coin = "xyz:NVDA".to_owned();
    venue.asset.dex = "xyz".to_owned();
    (
        venue.asset.dex_index,
        venue.asset.universe_index,
        venue.asset.asset_id,
    ) = (1, 1, 110_001);
    venue.asset.size_decimals = 3;
    let arguments = arguments(json!({"coin": "xyz:NVDA", "price": "181.55", "size": "0.125"}));
    let sealed = build(&arguments, &venue, &policy()).unwrap();
    assert_eq!(
        value(&sealed)["payload"]["action"]["orders"][0]["a"],
        110_001
    );
    check(&arguments, sealed.json()).unwrap();
}
