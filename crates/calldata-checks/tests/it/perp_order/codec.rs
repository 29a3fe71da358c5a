//! The codec against another encoder, and against every other byte in each place.

use calldata_checks::perp_order::{
    WireAction, WireBuilder, WireOrder, WireOrderKind, decode_action,
    msgpack::{self, MsgpackError},
};
use proptest::prelude::*;
use serde::Serialize;

use crate::perp_order::draft::{Draft, limit, trigger};

/// The same action in a form for another encoder.
#[derive(Serialize)]
struct ForeignAction<'a> {
    r#type: &'a str,
    orders: Vec<ForeignOrder<'a>>,
    grouping: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    builder: Option<ForeignBuilder<'a>>,
}

#[derive(Serialize)]
struct ForeignOrder<'a> {
    a: u32,
    b: bool,
    p: &'a str,
    s: &'a str,
    r: bool,
    t: ForeignKind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    c: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum ForeignKind<'a> {
    Limit {
        tif: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    Trigger {
        is_market: bool,
        trigger_px: &'a str,
        tpsl: &'a str,
    },
}

#[derive(Serialize)]
struct ForeignBuilder<'a> {
    b: &'a str,
    f: u32,
}

fn foreign(action: &WireAction) -> ForeignAction<'_> {
    ForeignAction {
        r#type: &action.kind,
        orders: action.orders.iter().map(foreign_order).collect(),
        grouping: &action.grouping,
        builder: action.builder.as_ref().map(|b| ForeignBuilder {
            b: &b.address,
            f: b.fee,
        }),
    }
}

fn foreign_order(order: &WireOrder) -> ForeignOrder<'_> {
    ForeignOrder {
        a: order.asset,
        b: order.is_buy,
        p: &order.price,
        s: &order.size,
        r: order.reduce_only,
        t: match &order.kind {
            WireOrderKind::Limit { tif } => ForeignKind::Limit { tif },
            WireOrderKind::Trigger {
                is_market,
                trigger_price,
                tpsl,
            } => ForeignKind::Trigger {
                is_market: *is_market,
                trigger_px: trigger_price,
                tpsl,
            },
        },
        c: order.cloid.as_deref(),
    }
}

prop_compose! {
    fn order()(
        asset in prop_oneof![0u32..300, 9_000u32..70_000, any::<u32>()],
        is_buy: bool,
        reduce_only: bool,
        price in "[!-~]{0,64}",
        size in "[!-~]{0,40}",
        kind in prop_oneof![
            "[!-~]{0,10}".prop_map(|tif| WireOrderKind::Limit { tif }),
            (any::<bool>(), "[!-~]{0,40}", "[!-~]{0,4}").prop_map(
                |(is_market, trigger_price, tpsl)| WireOrderKind::Trigger { is_market, trigger_price, tpsl }
            ),
        ],
        cloid in proptest::option::of("[!-~]{0,64}"),
    ) -> WireOrder {
        WireOrder { asset, is_buy, price, size, reduce_only, kind, cloid }
    }
}

prop_compose! {
    fn action()(
        kind in "[!-~]{0,10}",
        orders in proptest::collection::vec(order(), 1..=15),
        grouping in "[!-~]{0,20}",
        builder in proptest::option::of(
            ("[!-~]{0,64}", any::<u32>()).prop_map(|(address, fee)| WireBuilder { address, fee })
        ),
    ) -> WireAction {
        WireAction { kind, orders, grouping, builder }
    }
}

proptest! {
    #[test]
    fn another_encoder_writes_the_same_bytes(action in action()) {
        let bytes = rmp_serde::to_vec_named(&foreign(&action)).unwrap();
        prop_assert_eq!(msgpack::encode(&action), Some(bytes.clone()));
        if bytes.len() <= msgpack::MAX_ACTION_BYTES {
            prop_assert_eq!(msgpack::decode(&bytes), Ok(action));
        }
    }

    #[test]
    fn decoded_bytes_encode_to_the_same_bytes(
        action in action(),
        at in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let mut bytes = msgpack::encode(&action).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(decoded) = msgpack::decode(&bytes) {
            prop_assert_eq!(msgpack::encode(&decoded), Some(bytes));
        }
    }

    #[test]
    fn foreign_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(decoded) = msgpack::decode(&bytes) {
            prop_assert_eq!(msgpack::encode(&decoded), Some(bytes));
        }
    }
}

/// Replaces every byte of a plan's action by every other byte. No change passes, whether its author
/// computes the hash again or not.
#[test]
fn a_flipped_byte_is_refused_by_name() {
    for draft in [Draft::plain(), Draft::protected(), Draft::with_builder()] {
        let bytes = draft.plan.action_msgpack.to_vec();
        for at in 0..bytes.len() {
            for byte in 0..=u8::MAX {
                if bytes[at] == byte {
                    continue;
                }
                let mut changed = draft.clone();
                let mut altered = bytes.clone();
                altered[at] = byte;
                changed.plan.action_msgpack = altered.into();
                let name = changed.refused();
                assert!(name.starts_with("perp_"), "{name}");
                if let Ok((wire, _)) = decode_action(&changed.plan.action_msgpack) {
                    // The JSON and the hash follow the change: the request alone, or a rule, must
                    // refuse it. Only the limit price of a market trigger is not in the request; it
                    // may vary within its tolerance.
                    let limit_of_market_trigger = differs_in_market_limit(&draft, &wire);
                    changed.plan.action = wire;
                    changed.commit_bytes();
                    match changed.judge() {
                        Ok(_) => assert!(limit_of_market_trigger, "byte {at} as {byte:#04x}"),
                        Err(failure) => assert!(failure.check.starts_with("perp_")),
                    }
                }
            }
        }
    }
}

fn differs_in_market_limit(draft: &Draft, changed: &WireAction) -> bool {
    let mut restored = changed.clone();
    for (order, original) in restored.orders.iter_mut().zip(&draft.plan.action.orders) {
        if matches!(
            original.kind,
            WireOrderKind::Trigger {
                is_market: true,
                ..
            }
        ) {
            order.price.clone_from(&original.price);
        }
    }
    restored == draft.plan.action
}

fn bytes() -> Vec<u8> {
    Draft::protected().plan.action_msgpack.to_vec()
}

/// The bytes with one run of them replaced.
fn replaced(from: &[u8], to: &[u8]) -> Vec<u8> {
    let bytes = bytes();
    let at = bytes
        .windows(from.len())
        .position(|run| run == from)
        .expect("the run is there");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

#[test]
fn nothing_may_follow_the_action() {
    let mut longer = bytes();
    longer.push(0xc0);
    let at = longer.len() - 1;
    assert_eq!(
        msgpack::decode(&longer),
        Err(MsgpackError::Trailing { at, length: at + 1 })
    );
}

#[test]
fn every_cut_is_refused() {
    let bytes = bytes();
    for end in 0..bytes.len() {
        let cut = msgpack::decode(&bytes[..end]);
        assert!(
            matches!(cut, Err(MsgpackError::Truncated { .. })),
            "{end}: {cut:?}"
        );
    }
}

#[test]
fn longer_encodings_are_refused() {
    for (from, to) in [
        // The asset as uint8, uint16, uint32.
        (&b"\xa1a\x00"[..], &b"\xa1a\xcc\x00"[..]),
        (b"\xa1a\x00", b"\xa1a\xcd\x00\x00"),
        (b"\xa1a\x00", b"\xa1a\xce\x00\x00\x00\x00"),
        // A text as str8.
        (b"\xa6100000", b"\xd9\x06100000"),
    ] {
        let result = msgpack::decode(&replaced(from, to));
        assert!(
            matches!(result, Err(MsgpackError::NotSmallest { .. })),
            "{to:x?}: {result:?}"
        );
    }
}

#[test]
fn other_kinds_of_values_are_refused() {
    for (from, to) in [
        // The asset as uint64, int8, float, nil.
        (
            &b"\xa1a\x00"[..],
            &b"\xa1a\xcf\x00\x00\x00\x00\x00\x00\x00\x00"[..],
        ),
        (b"\xa1a\x00", b"\xa1a\xd0\x00"),
        (b"\xa1a\x00", b"\xa1a\xff"),
        (b"\xa1a\x00", b"\xa1a\xca\x00\x00\x00\x00"),
        (b"\xa1a\x00", b"\xa1a\xc0"),
        // A price as str16, bin8, a number.
        (b"\xa6100000", b"\xda\x00\x06100000"),
        (b"\xa6100000", b"\xc4\x06100000"),
        (b"\xa6100000", b"\xce\x00\x01\x86\xa0"),
        // A boolean as nil and as an integer.
        (b"\xa1b\xc3", b"\xa1b\xc0"),
        (b"\xa1b\xc3", b"\xa1b\x01"),
        // Maps and arrays with a length beside their marker, and of other lengths.
        (b"\x83\xa4type", b"\xde\x00\x03\xa4type"),
        (b"\xa6orders\x93", b"\xa6orders\xdc\x00\x03"),
        (b"\xa6orders\x93", b"\xa6orders\x90"),
        (b"\x83\xa4type", b"\x85\xa4type"),
        (b"\x86\xa1a", b"\x88\xa1a"),
    ] {
        let result = msgpack::decode(&replaced(from, to));
        assert!(
            matches!(result, Err(MsgpackError::Marker { .. })),
            "{to:x?}: {result:?}"
        );
    }
}

#[test]
fn keys_are_in_wire_order() {
    for (from, to) in [
        // `b` before `a`, as a sorted or an unordered map could have it; the trigger's keys sorted.
        (&b"\xa1a\x00\xa1b\xc3"[..], &b"\xa1b\xc3\xa1a\x00"[..]),
        (b"\xa1r\xc3\xa1t", b"\xa1t\xa1r\xc3"),
        (b"\xa5limit", b"\xa5Limit"),
        (b"\xa9triggerPx", b"\xa4tpsl\xa9triggerPx"),
        (b"\xa8grouping", b"\xa8Grouping"),
        // An order as an array of values.
        (b"\x86\xa1a\x00\xa1b\xc3\xa1p", b"\x86\x00\xc3"),
    ] {
        let result = msgpack::decode(&replaced(from, to));
        let refused = matches!(
            result,
            Err(MsgpackError::Key { .. } | MsgpackError::Marker { .. })
        );
        assert!(refused, "{to:x?}: {result:?}");
    }
}

#[test]
fn absent_members_are_left_out_and_not_nil() {
    let mut named = Draft::plain();
    named.plan.action.orders[0].cloid = Some(String::new());
    named.commit();
    let mut bytes = named.plan.action_msgpack.to_vec();
    let at = bytes
        .windows(3)
        .position(|run| run == b"\xa1c\xa0")
        .unwrap();
    bytes[at + 2] = 0xc0;
    assert!(matches!(
        msgpack::decode(&bytes),
        Err(MsgpackError::Marker { observed: 0xc0, .. })
    ));

    let mut bytes = replaced(b"\x83\xa4type", b"\x84\xa4type");
    bytes.extend(b"\xa7builder\xc0");
    assert!(matches!(
        msgpack::decode(&bytes),
        Err(MsgpackError::Marker { observed: 0xc0, .. })
    ));
}

#[test]
fn nesting_and_length_are_bounded() {
    assert!(matches!(
        msgpack::decode(&[0x91; 4096]),
        Err(MsgpackError::Marker { at: 0, .. })
    ));
    assert!(matches!(
        msgpack::decode(&[0x81; 4097]),
        Err(MsgpackError::TooLong { length: 4097 })
    ));
    let mut text = vec![0xd9, 65];
    text.extend([b'1'; 65]);
    let result = msgpack::decode(&replaced(b"\xa6100000", &text));
    assert!(
        matches!(result, Err(MsgpackError::Text { .. })),
        "{result:?}"
    );
    for foreign in [
        &b"\xa6100 00"[..],
        b"\xa61000\xc3\xa9",
        b"\xa61000\xff\xff",
        b"\xa61000\x000",
    ] {
        let result = msgpack::decode(&replaced(b"\xa6100000", foreign));
        assert!(
            matches!(result, Err(MsgpackError::Text { .. })),
            "{foreign:x?}: {result:?}"
        );
    }
    let too_many = WireAction {
        kind: "order".to_owned(),
        orders: vec![limit(true, "1", "1"); 16],
        grouping: "na".to_owned(),
        builder: None,
    };
    assert_eq!(msgpack::encode(&too_many), None);
    let none = WireAction {
        orders: Vec::new(),
        ..too_many
    };
    assert_eq!(msgpack::encode(&none), None);
    let long = trigger(true, &"1".repeat(65), "1", true, "1", "tp");
    assert_eq!(
        msgpack::encode(&WireAction {
            orders: vec![long],
            ..none
        }),
        None
    );
}
