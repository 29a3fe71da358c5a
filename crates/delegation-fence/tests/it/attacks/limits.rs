//! A holder may tighten a grant at any time, with one signature; nothing loosens it.

use alloy_primitives::{Address, B256, U256};
use delegation_fence::{
    Account, Limit, MOST_GRANTS, MOST_TOMBSTONES, Novelty, Refusal, Rule, Tightest, Use,
    require_room_for_grant, require_room_for_stranger, require_room_for_tombstone,
};

use crate::attacks::{
    sample::{ACCOUNT, NOW},
    stage::{DAY, GRANT_ID, OWNER, Stage, at, instance, limit, now, owner, sign, stranger},
};

fn tighten(account: &mut Account, limit: Limit) -> Result<Tightest, Refusal> {
    let received = instance().receive_limit(sign(limit, &owner()), OWNER, now())?;
    account.tighten(&received)
}

fn used(plan: u8, amount: u64, signed_at: u64) -> Use {
    Use {
        payload_digest: B256::repeat_byte(plan),
        amount: U256::from(amount),
        signed_at: at(signed_at),
    }
}

/// The plan of the stage takes 1,000.000007 USDC.
const TAKES: u64 = 1_000_000_007;

#[test]
fn a_lower_cap_counts_at_once() {
    let mut stage = Stage::new();
    for (cap, refused) in [(TAKES, false), (TAKES - 1, true), (TAKES, true)] {
        let new = Limit {
            per_swap_cap: U256::from(cap),
            ..limit()
        };
        tighten(&mut stage.account, new).unwrap();
        let rule = stage.admit().err().map(|refusal| refusal.rule);
        assert_eq!(rule, refused.then_some(Rule::FenceApproveCap), "{cap}");
    }
}

#[test]
fn a_number_of_swaps_counts_plans_whose_third_step_was_signed() {
    let mut stage = Stage::new();
    tighten(
        &mut stage.account,
        Limit {
            max_swaps: 2,
            ..limit()
        },
    )
    .unwrap();
    for plan in [1, 2] {
        stage.admit().unwrap();
        let new = used(plan, 1, NOW);
        assert_eq!(stage.account.count(GRANT_ID, new), Ok(Novelty::New));
        assert_eq!(stage.account.count(GRANT_ID, new), Ok(Novelty::Again));
    }
    assert_eq!(stage.refused_by(), Rule::LimitSwapsUsed);
}

#[test]
fn the_outflow_of_24_hours_rolls() {
    let mut stage = Stage::new();
    let most = Limit {
        outflow_24h: U256::from(TAKES + 500),
        ..limit()
    };
    tighten(&mut stage.account, most).unwrap();
    stage
        .account
        .count(GRANT_ID, used(1, 500, NOW - DAY + 1))
        .unwrap();
    stage.admit().unwrap();
    stage
        .account
        .count(GRANT_ID, used(2, 1, NOW - DAY + 1))
        .unwrap();
    assert_eq!(stage.refused_by(), Rule::LimitOutflow);
    // Swaps of a day ago do not count any more, nor does the plan itself when it is judged again.
    let mut stage = Stage::new();
    tighten(
        &mut stage.account,
        Limit {
            outflow_24h: U256::from(TAKES),
            ..limit()
        },
    )
    .unwrap();
    stage
        .account
        .count(GRANT_ID, used(1, 500, NOW - DAY))
        .unwrap();
    let own = stage.order.message().payload_digest;
    let itself = Use {
        payload_digest: own,
        ..used(0, TAKES, NOW)
    };
    stage.account.count(GRANT_ID, itself).unwrap();
    stage.admit().unwrap();
    // Sums that overflow are not wrapped.
    stage
        .account
        .count(
            GRANT_ID,
            Use {
                amount: U256::MAX,
                ..used(3, 0, NOW)
            },
        )
        .unwrap();
    assert_eq!(stage.refused_by(), Rule::LimitOutflow);
}

#[test]
fn a_limit_never_loosens() {
    let mut stage = Stage::new();
    let tight = Limit {
        per_swap_cap: U256::from(10),
        max_swaps: 1,
        outflow_24h: U256::from(10),
        ..limit()
    };
    let once = tighten(&mut stage.account, tight).unwrap();
    let loose = Limit {
        per_swap_cap: U256::MAX,
        max_swaps: u64::MAX,
        outflow_24h: U256::MAX,
        issued_at: NOW + 1,
        ..limit()
    };
    assert_eq!(tighten(&mut stage.account, loose), Ok(once));
    // Zero states no value; it neither forbids nor permits.
    assert_eq!(tighten(&mut stage.account, limit()), Ok(once));
}

#[test]
fn a_limit_by_somebody_else_is_refused() {
    let refused = |signed| {
        instance()
            .receive_limit(signed, OWNER, now())
            .unwrap_err()
            .rule
    };
    assert_eq!(refused(sign(limit(), &stranger())), Rule::LimitNotByAccount);
    let later = Limit {
        issued_at: NOW + 61,
        ..limit()
    };
    assert_eq!(refused(sign(later, &owner())), Rule::LimitIssuedInFuture);
    let mut account = Account::new(ACCOUNT);
    assert_eq!(
        tighten(&mut account, limit()).unwrap_err().rule,
        Rule::GrantNotFound
    );
    let elsewhere = Limit {
        account: Address::repeat_byte(9),
        ..limit()
    };
    assert_eq!(
        tighten(&mut account, elsewhere).unwrap_err().rule,
        Rule::AccountNotOwned
    );
}

/// One owner's records do not grow without bound, and the refusal names the way out.
#[test]
fn an_account_has_so_many_grants_and_tombstones() {
    require_room_for_grant(MOST_GRANTS - 1).unwrap();
    let refusal = require_room_for_grant(MOST_GRANTS).unwrap_err();
    assert_eq!(refusal.rule, Rule::TooManyGrants);
    assert!(refusal.message.contains("all"), "{refusal}");
    require_room_for_tombstone(MOST_TOMBSTONES - 1).unwrap();
    let refusal = require_room_for_tombstone(MOST_TOMBSTONES).unwrap_err();
    assert_eq!(refusal.rule, Rule::TooManyRevocations);
    assert!(
        refusal.message.contains("revoke all grants at once"),
        "{refusal}"
    );
}

/// All strangers together have so much room. Nobody can take the refusal for a revocation.
#[test]
fn strangers_have_room_together() {
    require_room_for_stranger("unknown accounts", 999, 1_000).unwrap();
    let refusal = require_room_for_stranger("unknown accounts", 1_000, 1_000).unwrap_err();
    assert_eq!(refusal.rule, Rule::RevocationsFull);
    for refusal in [refusal, require_room_for_tombstone(256).unwrap_err()] {
        assert!(
            refusal.message.starts_with("nothing is revoked: "),
            "{refusal}"
        );
    }
}
