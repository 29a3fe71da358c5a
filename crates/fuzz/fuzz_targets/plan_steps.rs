//! Reads the steps of a plan. Decoded steps are three canonical ones in their order. Steps whose
//! order passes clear the allowance of one token for one spender before they set it.
#![no_main]

use alloy_primitives::{Address, U256};
use calldata_checks::{Step, StepKind, Steps, step::approval};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut rest = data;
    let mut steps = Vec::new();
    while let Some((step, after)) = read(rest) {
        steps.push(step);
        rest = after;
    }
    let Ok(decoded) = Steps::decode(&steps) else {
        return;
    };
    let again = [
        Step {
            value: decoded.reset.value,
            ..canonical(StepKind::ApproveReset, &decoded.reset)
        },
        Step {
            value: decoded.approve.value,
            ..canonical(StepKind::Approve, &decoded.approve)
        },
        decoded.call.clone(),
    ];
    assert_eq!(steps, again);
    assert_eq!(Steps::decode(&again).as_ref(), Ok(&decoded));
    if decoded.judge_reset_order().is_ok() {
        assert_eq!(decoded.reset.amount, U256::ZERO);
        assert_eq!(decoded.reset.token, decoded.approve.token);
        assert_eq!(decoded.reset.spender, decoded.approve.spender);
    }
});

fn canonical(kind: StepKind, allowance: &calldata_checks::step::Allowance) -> Step {
    approval(kind, allowance.token, allowance.spender, allowance.amount)
}

/// Reads a kind, a value, a target of 20 bytes, a length and as many bytes of calldata.
fn read(data: &[u8]) -> Option<(Step, &[u8])> {
    let (&[kind, value], rest) = data.split_first_chunk()?;
    let (to, rest) = rest.split_first_chunk::<20>()?;
    let (&length, rest) = rest.split_first()?;
    let (calldata, rest) = rest.split_at_checked(usize::from(length))?;
    let step = Step {
        kind: StepKind::ALL[usize::from(kind) % StepKind::ALL.len()],
        to: Address::from(*to),
        value: U256::from(value),
        data: calldata.to_vec().into(),
    };
    Some((step, rest))
}
