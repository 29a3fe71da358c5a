//! Tests of signatures and of the canonical encoding.

use alloy_primitives::{U256, address, hex};
use proptest::prelude::*;

use super::*;

const TRANSFER: &str = "a9059cbb00000000000000000000000022222222222222222222222222222222222222220000000000000000000000000000000000000000000000000000000000989680";

fn signature(text: &str) -> Signature {
    Signature::parse(text).unwrap()
}

#[test]
fn a_transfer_is_read_with_the_names_of_its_declaration() {
    let transfer = signature("transfer(address to, uint256 amount)");
    assert_eq!(transfer.text(), "transfer(address,uint256)");
    assert_eq!(transfer.selector(), [0xa9, 0x05, 0x9c, 0xbb]);
    let decoded = transfer.decode(&hex::decode(TRANSFER).unwrap()).unwrap();
    assert_eq!(decoded.trailing, 0);
    assert_eq!(
        decoded.values,
        [
            DynSolValue::Address(address!("2222222222222222222222222222222222222222")),
            DynSolValue::Uint(U256::from(10_000_000), 256)
        ]
    );
    let shown = transfer.arguments(&decoded.values, &mut Budget::of(10));
    assert_eq!(
        serde_json::to_value(&shown).unwrap(),
        serde_json::json!([
            {"name": "to", "type": "address", "value": "0x2222222222222222222222222222222222222222"},
            {"name": "amount", "type": "uint256", "value": "10000000"}
        ])
    );
}

#[test]
fn a_structure_of_one_member_has_the_selector_of_compilers() {
    for (declared, canonical) in [
        ("f((uint256 id) key)", "f((uint256))"),
        (
            "f((int48)[] keys,((bytes)[2]))",
            "f((int48)[],((bytes)[2]))",
        ),
        ("f(uint)", "f(uint256)"),
    ] {
        let signature = signature(declared);
        assert_eq!(signature.text(), canonical);
        assert_eq!(
            signature.selector().as_slice(),
            &alloy_primitives::keccak256(canonical)[..4]
        );
    }
    let data = [
        signature("f((uint256 id) key)").selector().as_slice(),
        &[0; 32],
    ]
    .concat();
    let one = signature("f((uint256 id) key)");
    let decoded = one.decode(&data).unwrap();
    let shown = one.arguments(&decoded.values, &mut Budget::of(9));
    assert_eq!(shown[0].ty, "(uint256)");
}

#[test]
fn only_the_canonical_encoding_is_accepted() {
    let transfer = signature("transfer(address,uint256)");
    let good = hex::decode(TRANSFER).unwrap();
    let mut dirty = good.clone();
    dirty[4] = 1;
    assert_eq!(transfer.decode(&dirty), None);
    assert_eq!(transfer.decode(&good[..67]), None);
    let mut longer = good.clone();
    longer.extend([1, 2, 3]);
    assert_eq!(transfer.decode(&longer).unwrap().trailing, 3);
    // A spammer has registered another signature with the same four bytes.
    let spam = signature("many_msg_babbage(bytes1)");
    assert_eq!(spam.selector(), transfer.selector());
    assert_eq!(spam.decode(&good), None);
}

#[test]
fn shared_and_shuffled_tails_are_refused() {
    let two = signature("f(bytes,bytes)");
    let encode = |words: &[&str]| {
        let mut data = two.selector().to_vec();
        for word in words {
            data.extend(hex::decode(format!("{word:0>64}")).unwrap());
        }
        data
    };
    assert!(two.decode(&encode(&["40", "60", "0", "0"])).is_some());
    // Both offsets point to one tail, the second tail comes first, there is a gap, or an offset is
    // beyond the end.
    for words in [
        ["40", "40", "0", "0"],
        ["60", "40", "0", "0"],
        ["60", "80", "0", "0"],
        ["40", "ffffffffff", "0", "0"],
    ] {
        assert_eq!(two.decode(&encode(&words)), None, "{words:?}");
    }
}

#[test]
fn a_bomb_of_shared_arrays_costs_nothing() {
    // At each of three levels, 2,000 offsets lead to the same place. That would be eight billion
    // elements.
    let bomb = signature("f(uint256[][][])");
    let mut data = bomb.selector().to_vec();
    let word = |n: u32| U256::from(n).to_be_bytes::<32>();
    data.extend(word(32));
    for _ in 0..2 {
        data.extend(word(2_000));
        for _ in 0..2_000 {
            data.extend(word(2_000 * 32));
        }
    }
    data.extend(word(2_000));
    data.extend(vec![0; 2_000 * 32]);
    assert_eq!(bomb.decode(&data), None);
}

#[test]
fn signatures_beyond_the_bounds_are_none() {
    let deep = format!("f({}uint256{})", "(".repeat(40), ")".repeat(40));
    let wide = format!("f({})", vec!["uint256"; 129].join(","));
    for text in [
        deep.as_str(),
        wide.as_str(),
        "f(uint256[4097])",
        "f(uint256[64][65])",
        "f(uint256[0])",
        "f(()[])",
        "f(uint256[][][][][][][][][])",
        "f(uint257)",
        "f(address",
        "",
        "f(Foo)",
        "transfer(address,uint256)\u{202e}",
    ] {
        assert!(Signature::parse(text).is_none(), "{text:.40}");
    }
    assert!(Signature::parse("f()").is_some());
    assert!(Signature::parse("f((address,(uint8,bytes)[])[2])").is_some());
}

#[test]
fn long_values_are_cut_and_say_so() {
    let many = signature("f(uint8[] list, bytes data, (address who, uint256 n)[] pairs)");
    let value = DynSolValue::Tuple(vec![
        DynSolValue::Array(vec![DynSolValue::Uint(U256::ONE, 8); 60]),
        DynSolValue::Bytes(vec![7; 1000]),
        DynSolValue::Array(vec![DynSolValue::Tuple(vec![
            DynSolValue::Address(Default::default()),
            DynSolValue::Uint(U256::MAX, 256),
        ])]),
    ]);
    let mut data = many.selector().to_vec();
    data.extend(value.abi_encode_params());
    let decoded = many.decode(&data).unwrap();
    let mut budget = Budget::of(500);
    let shown = serde_json::to_value(many.arguments(&decoded.values, &mut budget)).unwrap();
    assert!(budget.was_cut());
    assert_eq!(
        shown[0]["value"][50],
        serde_json::json!({"cut": true, "elements": 10})
    );
    assert_eq!(shown[1]["value"]["bytes"], 1000);
    assert_eq!(shown[2]["value"][0]["n"], U256::MAX.to_string());
    let mut small = Budget::of(3);
    let shown = serde_json::to_string(&many.arguments(&decoded.values, &mut small)).unwrap();
    assert!(small.was_cut() && shown.len() < 1_500, "{shown}");
}

proptest! {
    /// Alloy's encoding is canonical. A flipped bit gives other arguments or none.
    #[test]
    fn encodings_are_read_back(a in any::<[u8; 20]>(), n in any::<u64>(), text in "\\PC{0,40}", parts in prop::collection::vec(any::<Vec<u8>>(), 0..4), bit in any::<usize>()) {
        let signature = signature("f(address,(uint64,string)[],bytes[],int128)");
        let value = DynSolValue::Tuple(vec![
            DynSolValue::Address(a.into()),
            DynSolValue::Array(vec![DynSolValue::Tuple(vec![DynSolValue::Uint(U256::from(n), 64), DynSolValue::String(text)])]),
            DynSolValue::Array(parts.into_iter().map(DynSolValue::Bytes).collect()),
            DynSolValue::Int(alloy_primitives::I256::try_from(-1).unwrap(), 128),
        ]);
        let mut data = signature.selector().to_vec();
        data.extend(value.abi_encode_params());
        let decoded = signature.decode(&data).unwrap();
        prop_assert_eq!(decoded.trailing, 0);
        prop_assert_eq!(DynSolValue::Tuple(decoded.values.clone()), value);
        let place = 4 + (bit / 8) % (data.len() - 4);
        data[place] ^= 1 << (bit % 8);
        if let Some(other) = signature.decode(&data) {
            prop_assert!(other.trailing > 0 || other.values != decoded.values);
        }
    }

    #[test]
    fn foreign_calldata_does_not_panic(text in "\\PC{0,60}", data in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Some(signature) = Signature::parse(&text) {
            let mut calldata = signature.selector().to_vec();
            calldata.extend(&data);
            drop(signature.decode(&calldata));
        }
    }
}
