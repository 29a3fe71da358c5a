//! Any change in the bytes of a passing plan gives the same facts, or a named refusal.

use calldata_checks::{Facts as _, judge, swap::SwapFacts};
use proptest::prelude::*;

use crate::swap::sample::Sample;

/// Judges the sample with one byte of one step's data changed.
fn check(sample: &Sample, facts: &SwapFacts, step: usize, at: usize, mask: u8) {
    let mut steps = sample.steps();
    let mut data = steps[step].data.to_vec();
    data[at] ^= mask;
    steps[step].data = data.into();
    let failure = match sample.decode(&steps) {
        Ok(decoded) if decoded == *facts => return,
        Ok(decoded) => judge(&decoded).expect_err("other facts pass"),
        Err(failure) => failure,
    };
    assert!(
        SwapFacts::CHECKS
            .iter()
            .any(|check| check.name == failure.check),
        "{failure}"
    );
}

#[test]
fn every_byte_of_every_step() {
    for sample in [Sample::new(), Sample::two_exchanges()] {
        let facts = sample.decode(&sample.steps()).unwrap();
        judge(&facts).unwrap();
        for (step, bytes) in sample.steps().iter().enumerate() {
            for at in 0..bytes.data.len() {
                for mask in [0x01, 0x80, 0xff] {
                    check(&sample, &facts, step, at, mask);
                }
            }
        }
    }
}

/// Counts the bytes of a plan without a meaning: the transaction id, the exchange's own calldata
/// behind its selector, the amount of a leg between two exchanges.
#[test]
fn only_opaque_bytes_say_nothing() {
    let sample = Sample::two_exchanges();
    let facts = sample.decode(&sample.steps()).unwrap();
    let steps = sample.steps();
    let silent = (0..steps[2].data.len())
        .filter(|at| {
            let mut steps = steps.clone();
            let mut data = steps[2].data.to_vec();
            data[*at] ^= 0x01;
            steps[2].data = data.into();
            sample.decode(&steps).is_ok_and(|decoded| decoded == facts)
        })
        .count();
    let (transaction_id, first_exchange, second_exchange, amount_between) = (32, 77, 1, 32);
    assert_eq!(
        silent,
        transaction_id + first_exchange + second_exchange + amount_between
    );
}

proptest! {
    #[test]
    fn any_byte_and_any_change(step in 0usize..3, at: prop::sample::Index, mask in 1u8..) {
        let sample = Sample::two_exchanges();
        let facts = sample.decode(&sample.steps()).unwrap();
        let length = sample.steps()[step].data.len();
        check(&sample, &facts, step, at.index(length), mask);
    }

    #[test]
    fn any_bytes_at_all(bytes: Vec<u8>, selector: bool) {
        let sample = Sample::new();
        let mut steps = sample.steps();
        let head: &[u8] = if selector { &[0x5f, 0xd9, 0xae, 0x2e] } else { &[] };
        steps[2].data = [head, &bytes].concat().into();
        prop_assert!(sample.decode(&steps).is_err());
    }

    #[test]
    fn any_cut_and_any_splice(from: prop::sample::Index, to: prop::sample::Index, words: bool) {
        let sample = Sample::new();
        let facts = sample.decode(&sample.steps()).unwrap();
        let mut steps = sample.steps();
        let data = &steps[2].data;
        let (mut a, mut b) = (from.index(data.len()), to.index(data.len()));
        if words {
            (a, b) = (4 + a / 32 * 32, 4 + b / 32 * 32);
        }
        let (a, b) = (a.min(b).min(data.len()), a.max(b).min(data.len()));
        steps[2].data = [&data[..a], &data[b..]].concat().into();
        match sample.decode(&steps) {
            Ok(decoded) if a == b => prop_assert_eq!(decoded, facts),
            Ok(decoded) => prop_assert!(judge(&decoded).is_err()),
            Err(_) => {}
        }
    }
}
