//! Every byte of a plan counts: a flip, a cut or an addition is refused by name.

use alloy_primitives::{U256, hex};
use calldata_checks::{
    Facts,
    bridge::{BridgeFacts, calldata::FORWARD_HOOK},
};
use proptest::prelude::*;

use crate::bridge::plan::Plan;

fn forwarded() -> Plan {
    Plan::fast().asking(|a| a.forward = true)
}

fn plans() -> [Plan; 4] {
    let standard_forwarded = Plan::standard().asking(|a| a.forward = true);
    [
        Plan::fast(),
        Plan::standard(),
        forwarded(),
        standard_forwarded,
    ]
}

#[track_caller]
fn refused_by_name(plan: &Plan, original: &Plan) {
    match plan.judge() {
        Ok(_) => panic!("a plan of other bytes passes: {:?}", plan.steps),
        Err(failure) => {
            assert!(BridgeFacts::CHECKS.iter().any(|c| c.name == failure.check));
            assert_ne!(plan.steps, original.steps);
        }
    }
}

#[test]
fn every_single_flipped_bit_is_refused() {
    for original in plans() {
        assert!(original.judge().is_ok());
        for step in 0..3 {
            for byte in 0..original.steps[step].data.len() {
                for bit in 0..8 {
                    let flipped = original.clone().stepping(|steps| {
                        let mut data = steps[step].data.to_vec();
                        data[byte] ^= 1 << bit;
                        steps[step].data = data.into();
                    });
                    refused_by_name(&flipped, &original);
                }
            }
        }
    }
}

#[test]
fn every_cut_and_every_addition_is_refused() {
    for original in plans() {
        for step in 0..3 {
            let expected = if step == 2 {
                "bridge_targets_value_bound"
            } else {
                "erc20_allowance_reset_ordered"
            };
            let data = original.steps[step].data.to_vec();
            for length in 0..data.len() {
                let cut = original
                    .clone()
                    .stepping(|s| s[step].data = data[..length].to_vec().into());
                assert_eq!(cut.refusal().0, expected);
            }
            for extra in [1, 4, 32] {
                let longer = [data.clone(), vec![0; extra]].concat();
                let added = original.clone().stepping(|s| s[step].data = longer.into());
                assert_eq!(added.refusal().0, expected);
            }
        }
    }
}

#[test]
fn a_refused_hook_is_shown_by_its_length_and_its_beginning() {
    let frame = format!("32 bytes: {}", hex::encode_prefixed(FORWARD_HOOK));
    let longer = [FORWARD_HOOK.as_slice(), &[0xff; 300]].concat();
    let longer_text = frame.replace("32 bytes", "332 bytes");
    for (hook, observed) in [
        (None, "no hook"),
        (Some(vec![0x01, 0x02]), "2 bytes: 0x0102"),
        (Some(longer), longer_text.as_str()),
    ] {
        let plan = forwarded().with_burn(|burn| burn.hook = hook.map(Into::into));
        let violation = plan.judge().unwrap_err().violation;
        assert_eq!(
            (violation.expected.as_str(), violation.observed.as_str()),
            (frame.as_str(), observed)
        );
    }
}

#[test]
fn a_hook_that_is_encoded_another_way_is_refused() {
    // Offset 0x120 instead of 0x100: a gap that the EVM steps over.
    let gap = forwarded().stepping(|steps| {
        let mut data = steps[2].data.to_vec();
        let head = 4 + 7 * 32;
        data[head + 30..head + 32].copy_from_slice(&[0x01, 0x20]);
        let tail = head + 32;
        data.splice(tail..tail, [0; 32]);
        steps[2].data = data.into();
    });
    let (check, message) = gap.refusal();
    assert_eq!(check, "bridge_targets_value_bound");
    assert_eq!(message, "the call is not a canonical burn");
}

proptest! {
    #[test]
    fn any_bytes_are_refused_by_name(
        which in 0usize..4,
        step in 0usize..3,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let original = plans()[which].clone();
        let changed = original.clone().stepping(|steps| {
            let mut data = steps[step].data.to_vec();
            let at = at.index(data.len());
            data[at] = byte;
            steps[step].data = data.into();
        });
        if changed.steps == original.steps {
            prop_assert!(changed.judge().is_ok());
        } else {
            refused_by_name(&changed, &original);
        }
    }

    #[test]
    fn any_native_value_and_any_target_is_refused(
        step in 0usize..3,
        value in 1u64..,
        target in any::<[u8; 20]>(),
    ) {
        let original = Plan::fast();
        let carrying = original.clone().stepping(|s| s[step].value = U256::from(value));
        refused_by_name(&carrying, &original);
        let elsewhere = original.clone().stepping(|s| s[step].to = target.into());
        refused_by_name(&elsewhere, &original);
    }
}
