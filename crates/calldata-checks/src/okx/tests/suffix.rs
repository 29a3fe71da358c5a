use super::*;

#[test]
fn words_after_the_arguments_are_understood_or_refused() {
    let after = |trailing: &[u8]| judged(&[&dag().abi_encode()[..], trailing].concat());
    let facts = after(&trim_words(QUOTED, 10)).unwrap();
    assert_eq!(facts.trailing_bytes, 64);
    let trim = facts.trim.unwrap();
    assert_eq!((trim.above, trim.rate_per_mille), (U256::from(QUOTED), 10));
    assert_eq!(
        (trim.recipient, trim.charge),
        (Address::repeat_byte(0x39), None)
    );

    assert_eq!(after(&attribution()).unwrap().trailing_bytes, 25);
    assert_eq!(
        code(after(&[trim_words(QUOTED, 10), attribution()].concat())),
        "accepted"
    );
    assert_eq!(code(after(&trim_words(QUOTED - 1, 10))), "trim_below_quote");
    assert_eq!(code(after(&trim_words(QUOTED, 101))), "trim_rate");
    assert_eq!(code(after(&[0u8; 32])), "trailing_unrecognised");
    assert_eq!(code(after(&[0x5f])), "trailing_unrecognised");
    assert_eq!(
        code(after(&trim_words(QUOTED, 10)[32..])),
        "fee_marker_in_arguments"
    );
    assert_eq!(
        code(after(&trim_words(QUOTED, 10)[..32])),
        "fee_marker_in_arguments"
    );
    assert_eq!(
        code(after(
            &[trim_words(QUOTED, 10), trim_words(QUOTED, 10)].concat()
        )),
        "trailing_unrecognised"
    );
    assert_eq!(
        code(after(&[[0u8; 32].to_vec(), attribution()].concat())),
        "trailing_unrecognised"
    );

    let dual: Vec<u8> = [
        trim_words(QUOTED, 500)[32..].to_vec(),
        trim_words(QUOTED, 10),
    ]
    .concat();
    let dual: Vec<u8> = dual
        .chunks(32)
        .flat_map(|w| [&hex!("777777772222")[..], &w[6..]].concat())
        .collect();
    let charge = after(&dual).unwrap().trim.unwrap().charge.unwrap();
    assert_eq!(
        (charge.share_per_mille, charge.recipient),
        (500, Address::repeat_byte(0x39))
    );
}

#[test]
fn commissions_are_refused_wherever_the_router_would_find_them() {
    for flag in [
        "3ca20afc2aaa",
        "3ca20afc2bbb",
        "22220afc2aaa",
        "22220afc2bbb",
        "88880afc2aaa",
        "88880afc2bbb",
    ] {
        let mut commission = hex::decode(flag).unwrap();
        commission.extend_from_slice(&hex!("000001c9c380"));
        commission.extend_from_slice(THIEF.as_slice());
        let token = [&hex!("800000000000000000000000")[..], USDT0.as_slice()].concat();
        let appended = [dag().abi_encode(), token.clone(), commission.clone()].concat();
        assert_eq!(code(judged(&appended)), "commission_present", "{flag}");
        // The same words are the end of the last argument: nothing follows the arguments, yet the
        // router pays.
        let extra = Bytes::from([token.clone(), commission.clone()].concat());
        let hidden = dagSwapByOrderIdCall {
            paths: vec![RouterPath {
                extraData: vec![extra],
                ..path()
            }],
            ..dag()
        };
        assert_eq!(
            code(judged(&hidden.abi_encode())),
            "commission_present",
            "{flag}"
        );
        // The router does not find the words behind an attribution, but nobody puts them there
        // without a reason.
        let masked = [dag().abi_encode(), token, commission, attribution()].concat();
        assert_eq!(code(judged(&masked)), "commission_present", "{flag}");
    }
    for words in [trim_words(0, 100), trim_words(0, 100)[32..].to_vec()] {
        let path = RouterPath {
            extraData: vec![Bytes::from(words)],
            ..path()
        };
        let hidden = dagSwapByOrderIdCall {
            paths: vec![path],
            ..dag()
        };
        assert_eq!(
            code(judged(&hidden.abi_encode())),
            "fee_marker_in_arguments"
        );
    }
}
