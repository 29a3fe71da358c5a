//! Foreign vectors: the results of two SDKs of the venue and of its own test suite.

use alloy_primitives::{Address, B256, Signature, U256, address, b256};
use calldata_checks::{
    Decimal,
    perp_order::{
        Action, WireAction, WireBuilder, WireOrder, WireOrderKind, asset_id, hash, is_perpetual,
        msgpack, price_on_tick, size_on_lot,
    },
};
use serde_json::Value;

use crate::perp_order::draft::limit;

const SIGNER: Address = address!("14791697260E4c9A71f18484C9f997B308e59325");

fn orders() -> Value {
    let text = include_str!("../../../../../fixtures/vectors/perp_order/perpetual_orders.json");
    serde_json::from_str(text).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(value: &Value) -> T {
    value.as_str().unwrap().parse().unwrap()
}

/// The action of a vector, read from its JSON.
fn action(json: &Value) -> WireAction {
    let order = |order: &Value| WireOrder {
        asset: u32::try_from(order["a"].as_u64().unwrap()).unwrap(),
        is_buy: order["b"].as_bool().unwrap(),
        price: text(&order["p"]),
        size: text(&order["s"]),
        reduce_only: order["r"].as_bool().unwrap(),
        kind: match order["t"].get("limit") {
            Some(limit) => WireOrderKind::Limit {
                tif: text(&limit["tif"]),
            },
            None => WireOrderKind::Trigger {
                is_market: order["t"]["trigger"]["isMarket"].as_bool().unwrap(),
                trigger_price: text(&order["t"]["trigger"]["triggerPx"]),
                tpsl: text(&order["t"]["trigger"]["tpsl"]),
            },
        },
        cloid: order.get("c").map(text),
    };
    WireAction {
        kind: text(&json["type"]),
        orders: json["orders"]
            .as_array()
            .unwrap()
            .iter()
            .map(order)
            .collect(),
        grouping: text(&json["grouping"]),
        builder: json.get("builder").map(|builder| WireBuilder {
            address: text(&builder["b"]),
            fee: u32::try_from(builder["f"].as_u64().unwrap()).unwrap(),
        }),
    }
}

fn recovered(digest: B256, r: U256, s: U256, v: u64) -> Address {
    Signature::new(r, s, v == 28)
        .recover_address_from_prehash(&digest)
        .unwrap()
}

#[test]
fn every_order_byte_for_byte() {
    let file = orders();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 4);
    for vector in vectors {
        let id = &vector["id"];
        let stated = action(&vector["action"]);
        let bytes: alloy_primitives::Bytes = parsed(&vector["msgpack_hex"]);
        assert_eq!(msgpack::encode(&stated).unwrap(), bytes, "{id}");
        assert_eq!(msgpack::decode(&bytes).unwrap(), stated, "{id}");
        Action::parse(&stated).unwrap();

        let input = &vector["input"];
        let vault = (!input["vaultAddress"].is_null()).then(|| parsed(&input["vaultAddress"]));
        let nonce = input["nonce"].as_u64().unwrap();
        let id_of_action =
            hash::connection_id(&bytes, nonce, vault, input["expiresAfter"].as_u64());
        assert_eq!(
            id_of_action,
            parsed::<B256>(&vector["connection_id"]),
            "{id}"
        );
        assert_eq!(
            hash::DOMAIN_SEPARATOR,
            parsed::<B256>(&vector["domain_separator"])
        );
        let digest = hash::agent_digest(vector["agent_source"].as_str().unwrap(), id_of_action);
        assert_eq!(digest, parsed::<B256>(&vector["eip712_digest"]), "{id}");

        let signature = &vector["signature"];
        let (r, s) = (parsed(&signature["r"]), parsed(&signature["s"]));
        assert_eq!(
            recovered(digest, r, s, signature["v"].as_u64().unwrap()),
            SIGNER,
            "{id}"
        );
    }
}

fn single(asset: u32, price: &str, size: &str, tif: &str, cloid: Option<&str>) -> Vec<u8> {
    let order = WireOrder {
        asset,
        kind: WireOrderKind::Limit {
            tif: tif.to_owned(),
        },
        cloid: cloid.map(ToOwned::to_owned),
        ..limit(true, price, size)
    };
    msgpack::encode(&WireAction {
        kind: "order".to_owned(),
        orders: vec![order],
        grouping: "na".to_owned(),
        builder: None,
    })
    .unwrap()
}

#[test]
fn the_venues_own_connection_id_of_an_ether_order() {
    let action = single(4, "1670.1", "0.0147", "Ioc", None);
    assert_eq!(
        hash::connection_id(&action, 1_677_777_606_040, None, None),
        b256!("0fcbeda5ae3c4950a548021552a4fea2226858c4453571bf3f24ba017eac2908")
    );
}

#[test]
fn the_venues_own_signatures_recover_its_signer() {
    let plain = single(1, "100", "100", "Gtc", None);
    let named = single(
        1,
        "100",
        "100",
        "Gtc",
        Some("0x00000000000000000000000000000001"),
    );
    let signatures: [(&[u8], &str, &str, &str, u64); 3] = [
        (
            &plain,
            hash::MAINNET_SOURCE,
            "0xd65369825a9df5d80099e513cce430311d7d26ddf477f5b3a33d2806b100d78e",
            "0x2b54116ff64054968aa237c20ca9ff68000f977c93289157748a3162b6ea940e",
            28,
        ),
        (
            &plain,
            hash::TESTNET_SOURCE,
            "0x82b2ba28e76b3d761093aaded1b1cdad4960b3af30212b343fb2e6cdfa4e3d54",
            "0x6b53878fc99d26047f4d7e8c90eb98955a109f44209163f52d8dc4278cbbd9f5",
            27,
        ),
        (
            &named,
            hash::MAINNET_SOURCE,
            // 63 digits: the leading zero is dropped at the source.
            "0x41ae18e8239a56cacbc5dad94d45d0b747e5da11ad564077fcac71277a946e3",
            "0x3c61f667e747404fe7eea8f90ab0e76cc12ce60270438b2058324681a00116da",
            27,
        ),
    ];
    for (action, source, r, s, v) in signatures {
        let digest = hash::agent_digest(source, hash::connection_id(action, 0, None, None));
        assert_eq!(
            recovered(digest, r.parse().unwrap(), s.parse().unwrap(), v),
            SIGNER
        );
    }
}

type Rule = fn(Decimal, u8) -> bool;

#[test]
fn prices_and_sizes_as_the_venue_takes_them() {
    let text = include_str!("../../../../../fixtures/vectors/perp_order/perpetual_tick_lot.json");
    let file: Value = serde_json::from_str(text).unwrap();
    let rules: [(&str, &str, Rule); 2] = [
        ("prices", "px", price_on_tick),
        ("sizes", "sz", size_on_lot),
    ];
    let mut rows = 0;
    for (list, key, rule) in rules {
        for row in file[list].as_array().unwrap() {
            let value: Decimal = parsed(&row[key]);
            let decimals = u8::try_from(row["szDecimals"].as_u64().unwrap()).unwrap();
            assert_eq!(
                rule(value, decimals),
                row["valid"].as_bool().unwrap(),
                "{row}"
            );
            assert_eq!(value.to_string(), row["canonical"], "{row}");
            rows += 1;
        }
    }
    assert_eq!(rows, 23);
    for (price, decimals, valid) in [
        ("1234.5", 1, true),
        ("0.001234", 0, true),
        ("0.01234", 1, true),
        ("123456", 6, true),
        ("12345678", 0, true),
        ("0.5", 6, false),
        ("1.5", 200, false),
        ("0", 0, false),
    ] {
        assert_eq!(
            price_on_tick(price.parse().unwrap(), decimals),
            valid,
            "{price}"
        );
    }
    assert!(!size_on_lot(Decimal::ZERO, 5));
}

#[test]
fn asset_ids_of_the_venue() {
    assert_eq!(asset_id(0, 0), Some(0));
    assert_eq!(asset_id(0, 9_999), Some(9_999));
    assert_eq!(asset_id(0, 10_000), None);
    assert_eq!(asset_id(1, 0), Some(110_000));
    assert_eq!(asset_id(2, 3), Some(120_003));
    assert_eq!(asset_id(9_989, 9_999), Some(99_999_999));
    assert_eq!(asset_id(9_990, 0), None);
    assert_eq!(asset_id(u32::MAX, 0), None);
    for (id, perpetual) in [
        (0, true),
        (9_999, true),
        (10_000, false),
        (99_999, false),
        (100_000, false),
        (110_000, true),
        (99_999_999, true),
        (100_000_000, false),
        (u32::MAX, false),
    ] {
        assert_eq!(is_perpetual(id), perpetual, "{id}");
    }
}
