//! Writes to and reads from the chain: bounds, windows, codes and answers.

use alloy_primitives::{Address, B256, Bytes, U256};
use calldata_checks::{Step, StepKind};
use delegation_fence::onchain::{
    ALLOWED_CALLDATA, ALLOWED_TARGETS, Authorization, ChainGrant, ChainReading, IMPLEMENTATION,
    Level, NONCE, REDEEMER, Read, TIMESTAMP, judge_code,
};
use delegation_fence::{Block, Rule};

use crate::attacks::{
    delegations::{Case, ENFORCER, LEVELS, SERVICE},
    sample::{BASE, NOW},
    stage::{OWNER, delegate, order, sign},
};

/// The enforcers can only compare amounts below a power of 256.
#[test]
fn the_stock_bound_is_the_next_one_that_the_policy_allows() {
    for (cap, most) in [
        (5_000_000_000_u64, u64::from(u32::MAX)),
        (4_294_967_295, u64::from(u32::MAX)),
        (1_000_000_000, u64::from(u32::MAX)),
        (16_777_215, (1 << 24) - 1),
        (1, 255),
    ] {
        let case = Case::with_grant(Level::Stock, |grant| grant.per_swap_cap = U256::from(cap));
        assert_eq!(case.terms().most_on_chain(), U256::from(most), "{cap}");
        let case = Case {
            level: Level::Enforcer(ENFORCER),
            ..case
        };
        assert_eq!(case.terms().most_on_chain(), U256::from(cap));
    }
}

#[test]
fn an_amount_above_the_chains_bound_is_not_redeemed() {
    let order = sign(
        order(&crate::attacks::stage::Stage::new().envelope),
        &delegate(),
    );
    let step = |kind, data: Bytes| Step {
        kind,
        to: OWNER,
        value: U256::ZERO,
        data,
    };
    let approve = |amount: U256| {
        let amount = amount.to_be_bytes::<32>();
        Bytes::from([&[0x09, 0x5e, 0xa7, 0xb3][..], &[0; 32], &amount].concat())
    };
    for level in LEVELS {
        let case = Case::new(level);
        let accepted = case.accept(&case.signed()).unwrap();
        let most = accepted.most_on_chain();
        let plan = |data| {
            [
                step(StepKind::ApproveReset, approve(U256::ZERO)),
                step(StepKind::Approve, data),
                step(StepKind::Call, Bytes::new()),
            ]
        };
        assert!(accepted.redemptions(&plan(approve(most)), &order).is_ok());
        for data in [approve(most + U256::ONE), approve(U256::MAX), Bytes::new()] {
            let refusal = accepted.redemptions(&plan(data), &order).unwrap_err();
            assert_eq!(refusal.rule, Rule::DelegationCap);
        }
    }
}

/// Attack 26.
#[test]
fn the_code_of_the_account_is_the_frameworks() {
    let pointer = |address: Address| [&[0xef, 0x01, 0x00], address.as_slice()].concat();
    assert!(judge_code(&pointer(IMPLEMENTATION)).is_ok());
    let mut longer = pointer(IMPLEMENTATION);
    longer.push(0);
    let mut other = pointer(IMPLEMENTATION);
    other[2] = 1;
    for code in [
        vec![],
        pointer(SERVICE),
        pointer(Address::ZERO),
        longer,
        other,
    ] {
        assert_eq!(
            judge_code(&code).unwrap_err().rule,
            Rule::AccountCodeMismatch
        );
    }
    let rule = |chain, code| Authorization::new(chain, code, 0).unwrap_err().rule;
    assert_eq!(rule(0, IMPLEMENTATION), Rule::AuthorizationAnyChain);
    assert_eq!(rule(0, Address::ZERO), Rule::AuthorizationAnyChain);
    assert_eq!(rule(BASE, SERVICE), Rule::AuthorizationImplementation);
    assert!(Authorization::new(BASE, Address::ZERO, 1).is_ok());
}

fn reading(code: Vec<u8>) -> ChainReading {
    ChainReading {
        block: Block {
            number: 7,
            hash: B256::repeat_byte(7),
        },
        code: code.into(),
        nonce: U256::from(3),
        disabled: Vec::new(),
        allowances: Vec::new(),
    }
}

/// Attacks 26 and 43: the present state of a sealed block counts, whatever it was when the grant
/// was received.
#[test]
fn the_delegations_are_compared_with_the_chain_as_it_is_now() {
    let code = [&[0xef, 0x01, 0x00], IMPLEMENTATION.as_slice()].concat();
    for level in LEVELS {
        let case = Case::new(level);
        let accepted = case.accept(&case.signed()).unwrap();
        assert_eq!(accepted.judge(&reading(code.clone())), Ok(()));
        let rule = |reading: &ChainReading| accepted.judge(reading).unwrap_err().rule;
        assert_eq!(rule(&reading(Vec::new())), Rule::AccountCodeMismatch);
        let counted_up = ChainReading {
            nonce: U256::from(4),
            ..reading(code.clone())
        };
        assert_eq!(rule(&counted_up), Rule::DelegationNonceMismatch);
        for hash in accepted.hashes() {
            let disabled = ChainReading {
                disabled: vec![hash],
                ..reading(code.clone())
            };
            assert_eq!(rule(&disabled), Rule::DelegationDisabled);
            assert!(!accepted.is_over(&disabled) || accepted.ending() == [hash]);
        }
        let over = ChainReading {
            disabled: accepted.ending(),
            ..reading(code.clone())
        };
        assert!(accepted.is_over(&over));
        assert_eq!(accepted.clearing(), accepted.hashes().last().copied());
    }
    let token = Address::repeat_byte(1);
    for (left, expected) in [(0, Ok(())), (1, Err(Rule::RouterAllowanceOpen))] {
        let reading = ChainReading {
            allowances: vec![(Address::ZERO, U256::ZERO), (token, U256::from(left))],
            ..reading(code.clone())
        };
        let judged = reading.require_no_allowance();
        assert_eq!(judged.map_err(|refusal| refusal.rule), expected);
    }
}

/// Stored delegations need no policy, and have the same content.
#[test]
fn kept_delegations_are_those_that_were_accepted() {
    for level in LEVELS {
        for cap in [5_000_000_000_u64, 16_777_215] {
            let case = Case::with_grant(level, |grant| grant.per_swap_cap = U256::from(cap));
            let signed = case.signed();
            let accepted = case.accept(&signed).unwrap();
            assert_eq!(ChainGrant::restore(&case.grant, &signed), Ok(accepted));
            let refusal = ChainGrant::restore(&case.grant, &signed[..1]).unwrap_err();
            assert_eq!(refusal.rule, Rule::DelegationsMissing);
        }
        let other = Case::with_grant(level, |grant| grant.grant_id = B256::repeat_byte(9));
        let foreign = Case::new(level).signed();
        assert!(ChainGrant::restore(&other.grant, &foreign).is_err());
    }
}

/// Only one whole word is an answer: the empty answer of an address without a contract means
/// neither yes nor no.
#[test]
fn answers_are_read_strictly() {
    let word = |last: u8| {
        let mut word = [0; 32];
        word[31] = last;
        word.to_vec()
    };
    assert_eq!(Read::yes(&word(1)), Some(true));
    assert_eq!(Read::yes(&word(0)), Some(false));
    for answer in [
        vec![],
        word(2),
        vec![1],
        [word(1), word(0)].concat(),
        vec![0xff; 32],
    ] {
        assert_eq!(Read::yes(&answer), None);
    }
    assert_eq!(Read::number(&word(7)), Some(U256::from(7)));
    assert_eq!(Read::number(&[]), None);
}

/// The window is the grant's: its first second counts, its last one does not.
#[test]
fn the_caveats_say_the_grants_window() {
    let case = Case::new(Level::Stock);
    let grant = case.grant.message();
    let delegations = case.terms().delegations().unwrap();
    let terms = |which: usize, enforcer| {
        let caveats = &delegations[which].1.caveats;
        let caveat = caveats.iter().find(|caveat| caveat.enforcer == enforcer);
        caveat.map(|caveat| caveat.terms.clone())
    };
    let window = |before: u64| {
        let bounds = [u128::from(NOW - 11), u128::from(before)].map(u128::to_be_bytes);
        Some(Bytes::from(bounds.concat()))
    };
    assert_eq!(terms(0, TIMESTAMP), window(grant.expires_at));
    assert_eq!(terms(1, TIMESTAMP), window(grant.expires_at));
    assert_eq!(terms(2, TIMESTAMP), window(grant.expires_at + 86_400));
    assert_eq!(terms(0, REDEEMER), Some(SERVICE.to_vec().into()));
    // Counting up ends all delegations but the clearing one.
    assert!(terms(1, NONCE).is_some() && terms(2, NONCE).is_none());
    assert!(terms(2, ALLOWED_TARGETS).is_some() && terms(2, ALLOWED_CALLDATA).is_some());
}
