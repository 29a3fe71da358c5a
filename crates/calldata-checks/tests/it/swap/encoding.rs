//! Bytes that decode and that the EVM executes, but that are not the canonical encoding; other
//! functions; absurd lengths.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, sol};
use calldata_checks::swap::calldata::{
    MAX_LEGS, forwardERC20FeesCall, swapTokensMultipleV3ERC20ToERC20Call,
};

use crate::swap::sample::{Sample, USDC, WETH, attacks, leg};

sol! {
    struct Leg {
        address callTo;
        address approveTo;
        address sendingAssetId;
        address receivingAssetId;
        uint256 fromAmount;
        bytes callData;
        bool requiresDeposit;
    }
    function swapTokensMultipleV3ERC20ToNative(
        bytes32 id, string integrator, string referrer, address receiver, uint256 minimum, Leg[] legs
    ) external;
    function swapTokensSingleV3ERC20ToERC20(
        bytes32 id, string integrator, string referrer, address receiver, uint256 minimum, Leg leg
    ) external;
    function swapTokensGeneric(
        bytes32 id, string integrator, string referrer, address receiver, uint256 minimum, Leg[] legs
    ) external payable;
}

const WORD: usize = 32;

/// The position of word `n` of the arguments.
const fn word(n: usize) -> usize {
    4 + n * WORD
}

/// The position of the array of legs: its length.
fn legs_at(data: &[u8]) -> usize {
    4 + usize::try_from(U256::from_be_slice(&data[word(5)..word(6)])).unwrap()
}

fn set(data: &mut [u8], at: usize, value: u64) {
    data[at..at + WORD].copy_from_slice(&U256::from(value).to_be_bytes::<WORD>());
}

fn add(data: &mut [u8], at: usize, more: u64) {
    let value = U256::from_be_slice(&data[at..at + WORD]) + U256::from(more);
    data[at..at + WORD].copy_from_slice(&value.to_be_bytes::<WORD>());
}

attacks! {
    trailing_byte: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| data.push(0);
    trailing_word: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| data.extend([0x11; WORD]);
    attribution_suffix: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| data.extend([0x80, 0x21].repeat(8));
    gap_before_the_legs: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| { let at = legs_at(data); data.splice(at..at, [0; WORD]); add(data, word(5), 32); };
    integrator_and_referrer_share_a_tail: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| { let integrator = data[word(1)..word(2)].to_vec(); data[word(2)..word(3)].copy_from_slice(&integrator); };
    integrator_points_elsewhere: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| { let at = data.len() - 4; data.extend([&[0; 31][..], &[3], b"svc", &[0; 29]].concat()); set(data, word(1), u64::try_from(at).unwrap()); };
    legs_share_a_tail: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| { let at = legs_at(data) + WORD; let first = data[at..at + WORD].to_vec(); data[at + WORD..at + 2 * WORD].copy_from_slice(&first); };
    dirty_address: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| data[word(3)] = 1;
    dirty_bool: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| { let leg = legs_at(data) + WORD; let first = usize::try_from(U256::from_be_slice(&data[leg..leg + WORD])).unwrap(); data[leg + first + 7 * WORD - 1] = 2; };
    dirty_string_padding: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| { let at = word(7); data[at + 31] = 1; };
    dirty_bytes_padding: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| *data.last_mut().unwrap() = 1;
    integrator_that_is_not_text: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| data[word(7)] = 0xff;
    cut_off: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| { data.pop(); };
    empty: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| data.clear();
    only_a_selector: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| data.truncate(4);
    two_to_the_32_legs: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| { let at = legs_at(data); set(data, at, 1 << 32); };
    two_to_the_256_legs: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| { let at = legs_at(data); data[at..at + WORD].fill(0xff); };
    legs_outside_the_bytes: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| data[word(5)..word(6)].fill(0xff);
    integrator_of_two_to_the_64_bytes: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| set(data, word(6), u64::MAX);
    too_many_legs: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| { for _ in 0..MAX_LEGS - 1 { s.call._swapData.push(leg(USDC, WETH, 0)); } };
    too_long: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.call._swapData[1].callData = Bytes::from(vec![0x5f; 128 * 1024]);
    no_legs: "agg_targets_value_bound", "the swap has no legs"
        => |s| s.call._swapData.clear();
    only_the_fee_leg: "agg_targets_value_bound", "the swap has no exchange leg"
        => |s| { s.call._swapData.pop(); };
    erc20_to_native: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| data[..4].copy_from_slice(&swapTokensMultipleV3ERC20ToNativeCall::SELECTOR);
    single_shape: "agg_targets_value_bound", "the router's function is not reviewed on this chain"
        => |s| s.edit_call = |data| data[..4].copy_from_slice(&swapTokensSingleV3ERC20ToERC20Call::SELECTOR);
    single_shape_of_other_bytes: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| { s.policy.chains[0].selectors.push(swapTokensSingleV3ERC20ToERC20Call::SELECTOR.into());
                 s.edit_call = |data| data[..4].copy_from_slice(&swapTokensSingleV3ERC20ToERC20Call::SELECTOR); };
    generic_shape: "agg_targets_value_bound", "the call is not the canonical encoding of the reviewed swap function"
        => |s| s.edit_call = |data| data[..4].copy_from_slice(&swapTokensGenericCall::SELECTOR);

    trailing_byte_in_the_fee_leg: "agg_fee_recipient_set_versioned", "the fee leg is not the canonical encoding of its function"
        => |s| s.edit_fees = |data| data.push(0);
    trailing_word_in_the_fee_leg: "agg_fee_recipient_set_versioned", "the fee leg is not the canonical encoding of its function"
        => |s| s.edit_fees = |data| data.extend([0; WORD]);
    gap_in_the_fee_leg: "agg_fee_recipient_set_versioned", "the fee leg is not the canonical encoding of its function"
        => |s| s.edit_fees = |data| { data.splice(word(2)..word(2), [0; WORD]); set(data, word(1), 96); };
    dirty_token_in_the_fee_leg: "agg_fee_recipient_set_versioned", "the fee leg is not the canonical encoding of its function"
        => |s| s.edit_fees = |data| data[word(0) + 11] = 1;
    dirty_recipient_in_the_fee_leg: "agg_fee_recipient_set_versioned", "the fee leg is not the canonical encoding of its function"
        => |s| s.edit_fees = |data| data[word(3)] = 0x80;
    cut_off_fee_leg: "agg_fee_recipient_set_versioned", "the fee leg is not the canonical encoding of its function"
        => |s| s.edit_fees = |data| { data.pop(); };
    two_to_the_64_recipients: "agg_fee_recipient_set_versioned", "the fee leg is not the canonical encoding of its function"
        => |s| s.edit_fees = |data| set(data, word(2), u64::MAX);
    too_many_recipients: "agg_fee_recipient_set_versioned", "the fee leg is not the canonical encoding of its function"
        => |s| { let part = s.fees._distributions[0].clone(); s.fees._distributions = vec![part; 33]; };
}

#[test]
fn the_selectors_that_are_refused_are_those_of_the_deployed_router() {
    for (selector, expected) in [
        (
            swapTokensMultipleV3ERC20ToNativeCall::SELECTOR,
            0x2c57_e884u32,
        ),
        (swapTokensSingleV3ERC20ToERC20Call::SELECTOR, 0x4666_fc80),
        (swapTokensGenericCall::SELECTOR, 0x4630_a0d8),
        (swapTokensMultipleV3ERC20ToERC20Call::SELECTOR, 0x5fd9_ae2e),
        (forwardERC20FeesCall::SELECTOR, 0x332d_746b),
    ] {
        assert_eq!(u32::from_be_bytes(selector), expected);
    }
}

/// The decoder alone accepts these bytes as the plain call, so re-encoding is necessary.
#[test]
fn a_lenient_decoder_would_accept_them() {
    let sample = Sample::new();
    let mut data = sample.call_bytes();
    data.extend([0x11; WORD]);
    data[word(7) + 31] = 1;
    let lenient = swapTokensMultipleV3ERC20ToERC20Call::abi_decode(&data).unwrap();
    assert_eq!(lenient._integrator, "svc");
}

#[test]
fn the_most_legs_that_are_read() {
    let mut sample = Sample::new();
    let token = |n: usize| Address::with_last_byte(u8::try_from(n + 1).unwrap());
    sample.call._swapData[1].receivingAssetId = token(0);
    for n in 1..MAX_LEGS - 2 {
        sample.call._swapData.push(leg(token(n - 1), token(n), 0));
    }
    sample
        .call
        ._swapData
        .push(leg(token(MAX_LEGS - 3), WETH, 0));
    assert_eq!(
        sample.decode(&sample.steps()).unwrap().legs().len(),
        MAX_LEGS - 1
    );
    sample.judge().unwrap();
}
