//! Attack 5, and the part of attack 25 about signatures: every signature has one encoding, of one
//! key.

use alloy_primitives::{U256, hex, uint};
use delegation_fence::{Rule, Signature, Signed};

use crate::attacks::stage::{OWNER, fence, grant, now, owner, sign, stranger};

const ORDER: U256 = uint!(0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141_U256);

fn bytes() -> [u8; 65] {
    *sign(grant(), &owner()).signature().as_bytes()
}

fn refused(bytes: &[u8]) -> Rule {
    let text = hex::encode_prefixed(bytes);
    let refusal = Signature::parse(&text).unwrap_err();
    assert_eq!(Signature::from_bytes(bytes).unwrap_err().rule, refusal.rule);
    refusal.rule
}

#[test]
fn the_twin_in_the_upper_half_is_refused() {
    let mut twin = bytes();
    let s = U256::from_be_slice(&twin[32..64]);
    twin[32..64].copy_from_slice(&(ORDER - s).to_be_bytes::<32>());
    twin[64] = if twin[64] == 27 { 28 } else { 27 };
    // The twin recovers to the same key: only its form differs.
    let recovered = alloy_primitives::Signature::from_raw_array(&twin).unwrap();
    let digest = sign(grant(), &owner()).digest();
    assert_eq!(
        recovered.recover_address_from_prehash(&digest).unwrap(),
        OWNER
    );
    assert_eq!(refused(&twin), Rule::SignatureHighS);
    // The middle value belongs to the lower half.
    let half = ORDER / U256::from(2);
    twin[32..64].copy_from_slice(&half.to_be_bytes::<32>());
    assert!(Signature::from_bytes(&twin).is_ok());
    twin[32..64].copy_from_slice(&(half + U256::ONE).to_be_bytes::<32>());
    assert_eq!(refused(&twin), Rule::SignatureHighS);
}

#[test]
fn only_27_and_28_are_recovery_ids() {
    for v in 0..=u8::MAX {
        let mut changed = bytes();
        changed[64] = v;
        if v == 27 || v == 28 {
            assert!(Signature::from_bytes(&changed).is_ok());
        } else {
            assert_eq!(refused(&changed), Rule::SignatureRecoveryId, "{v}");
        }
    }
}

#[test]
fn other_lengths_are_refused_by_what_they_are() {
    let good = bytes();
    assert_eq!(refused(&good[..64]), Rule::SignatureCompact);
    for length in [0, 1, 63] {
        assert_eq!(refused(&good[..length]), Rule::SignatureLength);
    }
    assert_eq!(refused(&[&good[..], &[0]].concat()), Rule::SignatureLength);
    // A counterfactual account's wrapper (ERC-6492).
    let wrapped = [&good[..], &[0; 31], &[0x64, 0x92].repeat(16)].concat();
    assert_eq!(refused(&wrapped), Rule::SignatureWrapped);
    for text in [
        "",
        "0x",
        "11",
        "0x0x11",
        "0xzz",
        &format!("0X{}", "11".repeat(65)),
    ] {
        assert_eq!(
            Signature::parse(text).unwrap_err().rule,
            Rule::SignatureLength,
            "{text}"
        );
    }
}

#[test]
fn a_part_that_is_zero_is_refused() {
    for part in [0..32, 32..64] {
        let mut changed = bytes();
        changed[part].fill(0);
        assert_eq!(refused(&changed), Rule::SignatureZero);
    }
}

#[test]
fn a_signature_of_no_key_is_refused() {
    // No point of the curve has this x: r is above the field's order.
    let mut changed = bytes();
    changed[..32].fill(0xff);
    let signature = Signature::from_bytes(&changed).unwrap();
    let refusal = signature
        .recover(sign(grant(), &owner()).digest())
        .unwrap_err();
    assert_eq!(refusal.rule, Rule::SignatureUnrecoverable);
}

#[test]
fn a_grant_by_another_key_is_refused() {
    let refusal = fence()
        .receive(sign(grant(), &stranger()), OWNER, now())
        .unwrap_err();
    assert_eq!(refusal.rule, Rule::GrantNotByAccount);
}

/// Attack 42: neither a refusal nor the written form of a signed message repeats the signature.
#[test]
fn a_signature_is_never_repeated() {
    let signed = sign(grant(), &stranger());
    let signature = signed.signature().to_string();
    let refusal = fence().receive(signed.clone(), OWNER, now()).unwrap_err();
    assert!(!format!("{refusal} {refusal:?} {signed:?}").contains(&signature[2..40]));
    let file = signed.to_json().replace(&signature, &signature[..100]);
    let refusal = Signed::<delegation_fence::Grant>::parse(&file).unwrap_err();
    assert!(!format!("{refusal} {refusal:?}").contains(&signature[2..40]));
}
