//! The signatures that the token accepts: one form for each, and no other.

use alloy_primitives::{Bytes, U256, uint};
use dev_chain::{BUYER, USDT0};

use crate::support::{
    TransferWithAuthorization, chain, payment, reverts, settle, sign_typed, with_bytes, with_vrs,
};

const ORDER: U256 = uint!(0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141_U256);

#[test]
fn only_the_canonical_form_is_accepted() {
    let chain = chain();
    let p = payment();
    let good = sign_typed(BUYER, USDT0, &p);
    let (v, r, s) = (27 + u8::from(good.v()), good.r(), good.s());
    let check = |v: u8, r: U256, s: U256, expected: &str| {
        assert_eq!(reverts(&chain, USDT0, &with_vrs(&p, v, r, s)), expected);
    };
    let (wrong_s, wrong_v) = (
        "ECRecover: invalid signature 's' value",
        "ECRecover: invalid signature 'v' value",
    );
    check(55 - v, r, ORDER - s, wrong_s);
    check(v, r, U256::MAX, wrong_s);
    check(v - 27, r, s, wrong_v);
    check(29, r, s, wrong_v);
    check(0, r, s, wrong_v);
    check(255, r, s, wrong_v);
    check(55 - v, r, s, "FiatTokenV2: invalid signature");
    check(v, U256::ZERO, s, "ECRecover: invalid signature");
    check(v, ORDER, s, "ECRecover: invalid signature");
    check(v, r, U256::ZERO, "ECRecover: invalid signature");
    assert!(settle(&chain, USDT0, with_vrs(&p, v, r, s)).status());
}

#[test]
fn a_plain_key_signs_with_65_bytes() {
    let chain = chain();
    let p = payment();
    let good = sign_typed(BUYER, USDT0, &p).as_bytes();
    for length in [0, 64] {
        let signature = Bytes::copy_from_slice(&good[..length]);
        assert_eq!(
            reverts(&chain, USDT0, &with_bytes(&p, signature)),
            "ECRecover: invalid signature length"
        );
    }
    let longer: Bytes = [&good[..], &[0]].concat().into();
    assert_eq!(
        reverts(&chain, USDT0, &with_bytes(&p, longer)),
        "ECRecover: invalid signature length"
    );
    assert!(settle(&chain, USDT0, with_bytes(&p, good.into())).status());
}

#[test]
fn every_field_is_signed() {
    let chain = chain();
    let p = payment();
    let signature: Bytes = sign_typed(BUYER, USDT0, &p).as_bytes().into();
    let one = U256::from(1);
    let tampered = [
        TransferWithAuthorization {
            to: BUYER.address,
            ..p.clone()
        },
        TransferWithAuthorization {
            value: p.value + one,
            ..p.clone()
        },
        TransferWithAuthorization {
            validAfter: one,
            ..p.clone()
        },
        TransferWithAuthorization {
            validBefore: p.validBefore + one,
            ..p.clone()
        },
        TransferWithAuthorization {
            nonce: Default::default(),
            ..p.clone()
        },
        TransferWithAuthorization {
            from: dev_chain::PAYEE.address,
            ..p
        },
    ];
    for p in tampered {
        assert_eq!(
            reverts(&chain, USDT0, &with_bytes(&p, signature.clone())),
            "FiatTokenV2: invalid signature"
        );
    }
}
