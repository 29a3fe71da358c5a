//! Calls that resemble admitted ones.

use super::*;

#[test]
fn calls_that_resemble_admitted_ones_are_refused() {
    let five = U256::from(5);
    let elsewhere = |mut unsigned: Unsigned| {
        unsigned.chain_id = 1;
        unsigned
    };
    for (unsigned, expected) in [
        (
            elsewhere(transfer(OWNER.address())),
            "wallet_target_unreviewed",
        ),
        (burn(NOBODY), "wallet_recipient_not_owner"),
        (
            principal("cf092995", NOBODY, WALLET),
            "wallet_principal_elsewhere",
        ),
        (
            principal("e3ee160e", WALLET, OWNER.address()),
            "wallet_principal_elsewhere",
        ),
        // A token is not a spender, not even of itself.
        (approve(USDC, USDC, five), "wallet_spender_unreviewed"),
        (approve(USDC, WETH, five), "wallet_spender_unreviewed"),
        (
            approve(USDC, OWNER.address(), five),
            "wallet_spender_unreviewed",
        ),
        (approve(WETH, WALLET, five), "wallet_spender_unreviewed"),
        (
            approve(USDC, ROUTER, U256::MAX >> 96),
            "wallet_approval_unlimited",
        ),
        (
            approve(USDC, ROUTER, U256::from(u128::MAX) + five),
            "wallet_approval_unlimited",
        ),
        // A contract that is only approved is not called, and a token's functions are its own list.
        (call(PROXY, SWAP, &[]), "wallet_selector_unreviewed"),
        (
            call(WETH, TRANSFER, &[word(OWNER.address()), amount(five)]),
            "wallet_selector_unreviewed",
        ),
        (call(USDC, "", &[]), "wallet_calldata_malformed"),
        (call(USDC, "095ea7", &[]), "wallet_calldata_malformed"),
        (
            call(USDC, APPROVE, &[word(ROUTER)]),
            "wallet_calldata_malformed",
        ),
        (
            call(VAULT, "6e553f65", &[amount(five), word(NOBODY)]),
            "wallet_recipient_not_owner",
        ),
        (
            call(VAULT, "94bf804d", &[amount(five), word(NOBODY)]),
            "wallet_recipient_not_owner",
        ),
        (
            call(
                VAULT,
                "b460af94",
                &[amount(five), word(NOBODY), word(WALLET)],
            ),
            "wallet_recipient_not_owner",
        ),
        (
            call(
                VAULT,
                "ba087652",
                &[amount(five), word(NOBODY), word(WALLET)],
            ),
            "wallet_recipient_not_owner",
        ),
        (
            call(
                POOL,
                "617ba037",
                &[word(USDC), amount(five), word(NOBODY), amount(U256::ZERO)],
            ),
            "wallet_recipient_not_owner",
        ),
        (
            call(POOL, "69328dec", &[word(USDC), amount(five), word(NOBODY)]),
            "wallet_recipient_not_owner",
        ),
        // The wallet itself is called only with an empty call.
        (
            call(WALLET, APPROVE, &[word(ROUTER), amount(five)]),
            "wallet_target_unreviewed",
        ),
        (call(OWNER.address(), "", &[]), "wallet_target_unreviewed"),
    ] {
        assert_eq!(code(&unsigned), expected, "{unsigned:?}");
    }
    let nothing = SigningPolicy::default();
    for unsigned in admitted().iter().chain([&call(WALLET, "", &[])]) {
        let subject = Subject::Transaction(unsigned);
        let judged = nothing.judge(OWNER, WALLET, subject, Purpose::FencedPlan);
        assert_eq!(judged.unwrap_err().code(), "wallet_target_unreviewed");
    }
}

/// Every byte of target, coins and calldata, in every other value.
#[test]
fn a_flipped_byte_is_refused_or_changes_no_judged_fact() {
    for unsigned in admitted() {
        let whole = unsigned.input.to_vec();
        let may_change = free_bytes(&unsigned);
        for flip in 1..=u8::MAX {
            for place in 0..20 {
                let mut other = unsigned.clone();
                other.to.0.0[place] ^= flip;
                assert_eq!(code(&other), "wallet_target_unreviewed", "{other:?}");
            }
            for place in 0..32 {
                let mut other = unsigned.clone();
                let mut value = [0; 32];
                value[place] = flip;
                other.value = U256::from_be_bytes(value);
                assert_eq!(code(&other), "wallet_value_not_zero", "{other:?}");
            }
            for place in 0..whole.len() {
                let mut other = unsigned.clone();
                let mut input = whole.clone();
                input[place] ^= flip;
                other.input = input.into();
                match judge(&other) {
                    Ok(()) => assert!(may_change.contains(&place), "{place}: {other:?}"),
                    Err(PolicyRefusal::SelectorUnreviewed { .. }) => assert!(place < 4),
                    Err(_) => assert!(place >= 4),
                }
            }
        }
    }
}

/// Where the calldata may have other bytes: amounts, the asset of a pool, and arguments that are
/// not judged here.
fn free_bytes(unsigned: &Unsigned) -> Vec<usize> {
    match unsigned.to {
        // Both parties of an authorization are judged, and nothing else in it.
        USDC if unsigned.input.len() > 68 => (68..unsigned.input.len()).collect(),
        USDC => (36..68).collect(),
        // Of a burn, only the recipient is judged: its third word.
        MESSENGER => (4..68).chain(100..unsigned.input.len()).collect(),
        VAULT => (4..36).collect(),
        // The asset has twelve bytes of zeros before it.
        POOL => (16..68).collect(),
        _ => (4..unsigned.input.len()).collect(),
    }
}
