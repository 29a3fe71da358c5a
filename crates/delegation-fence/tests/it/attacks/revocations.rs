//! Attacks 8, 9 and 43: a revocation is for ever.

use alloy_primitives::{Address, B256};
use delegation_fence::{Account, Grant, Name, Now, Refusal, Revocation, Rule};

use crate::attacks::{
    sample::{ACCOUNT, NOW},
    stage::{
        GRANT_ID, OWNER, Stage, at, edited_policy, fence, fence_policy, grant, instance, now,
        owner, revocation, sign, sign_in, stranger,
    },
};

fn receive(account: &mut Account, grant: Grant) -> Result<(), Refusal> {
    let received = fence()
        .receive(sign(grant, &owner()), OWNER, now())
        .unwrap();
    account.receive(received).map(|_| ())
}

fn revoke(account: &mut Account, revocation: Revocation) -> u64 {
    let received = instance()
        .receive_revocation(sign(revocation, &owner()), OWNER, now())
        .unwrap();
    account.revoke(&received).unwrap()
}

/// Attack 8: the grant that was revoked is sent again.
#[test]
fn a_revoked_grant_does_not_come_back() {
    let mut account = Account::new(ACCOUNT);
    receive(&mut account, grant()).unwrap();
    assert_eq!(revoke(&mut account, revocation()), NOW);
    assert_eq!(
        receive(&mut account, grant()).unwrap_err().rule,
        Rule::GrantRevoked
    );
    let standing = account.standing(GRANT_ID, &fence_policy(), now()).unwrap();
    assert_eq!(standing.as_str(), "revoked");
    assert_eq!(
        standing.require_active().unwrap_err().rule,
        Rule::GrantRevoked
    );
    // Another message under the same id is refused too.
    let other = Grant {
        not_before: NOW,
        ..grant()
    };
    assert_eq!(
        receive(&mut account, other).unwrap_err().rule,
        Rule::GrantIdTaken
    );
    // A new id is a new grant.
    receive(
        &mut account,
        Grant {
            grant_id: B256::repeat_byte(3),
            ..grant()
        },
    )
    .unwrap();
}

#[test]
fn a_revocation_again_changes_nothing() {
    let mut account = Account::new(ACCOUNT);
    receive(&mut account, grant()).unwrap();
    assert_eq!(revoke(&mut account, revocation()), NOW);
    let once = account.clone();
    let later = Revocation {
        revoked_at: NOW + 100,
        ..revocation()
    };
    assert_eq!(revoke(&mut account, later), NOW);
    assert_eq!(account, once);
}

/// Attack 8: the revocation comes first.
#[test]
fn a_revocation_before_its_grant_is_kept() {
    let mut account = Account::new(ACCOUNT);
    revoke(&mut account, revocation());
    assert_eq!(account.revoked_at(GRANT_ID), Some(NOW));
    assert_eq!(
        receive(&mut account, grant()).unwrap_err().rule,
        Rule::GrantRevoked
    );
}

#[test]
fn a_revocation_of_all_ends_what_was_issued_before_it() {
    let mut account = Account::new(ACCOUNT);
    receive(&mut account, grant()).unwrap();
    let all = Revocation {
        grant_id: B256::ZERO,
        revoked_at: NOW - 10,
        ..revocation()
    };
    assert_eq!(revoke(&mut account, all.clone()), NOW - 10);
    assert_eq!(account.revoked_at(GRANT_ID), Some(NOW - 10));
    // Also one that is received later and was issued before.
    let older = Grant {
        grant_id: B256::repeat_byte(4),
        issued_at: NOW - 11,
        ..grant()
    };
    assert_eq!(
        receive(&mut account, older).unwrap_err().rule,
        Rule::GrantRevoked
    );
    let newer = Grant {
        grant_id: B256::repeat_byte(5),
        issued_at: NOW - 9,
        ..grant()
    };
    receive(&mut account, newer).unwrap();
    // An older revocation of all grants undoes nothing.
    let earlier = Revocation {
        revoked_at: NOW - 100,
        ..all
    };
    assert_eq!(revoke(&mut account, earlier), NOW - 10);
    assert_eq!(account.revoked_at(GRANT_ID), Some(NOW - 10));
}

/// Attack 9.
#[test]
fn a_revocation_by_somebody_else_is_refused() {
    let refused = |signed| {
        instance()
            .receive_revocation(signed, OWNER, now())
            .unwrap_err()
            .rule
    };
    assert_eq!(
        refused(sign(revocation(), &stranger())),
        Rule::RevocationNotByAccount
    );
    let other = Revocation {
        project_id: Name::new("other").unwrap(),
        ..revocation()
    };
    assert_eq!(
        refused(sign(other, &owner())),
        Rule::RevocationProjectMismatch
    );
    let salt = delegation_fence::Domain::new(8453, B256::ZERO);
    assert_eq!(
        refused(sign_in(salt, revocation(), &owner())),
        Rule::DomainSaltMismatch
    );
    // A revocation of another account ends nothing of this one.
    let elsewhere = Revocation {
        account: Address::repeat_byte(9),
        ..revocation()
    };
    let received = instance()
        .receive_revocation(sign(elsewhere, &owner()), OWNER, now())
        .unwrap();
    let mut account = Account::new(ACCOUNT);
    assert_eq!(
        account.revoke(&received).unwrap_err().rule,
        Rule::AccountNotOwned
    );
    assert_eq!(account.revoked_at(GRANT_ID), None);
}

#[test]
fn a_revocation_of_another_id_ends_another_grant() {
    let mut account = Account::new(ACCOUNT);
    receive(&mut account, grant()).unwrap();
    revoke(
        &mut account,
        Revocation {
            grant_id: B256::repeat_byte(3),
            ..revocation()
        },
    );
    assert_eq!(account.revoked_at(GRANT_ID), None);
    assert_eq!(
        account
            .standing(GRANT_ID, &fence_policy(), now())
            .unwrap()
            .as_str(),
        "active"
    );
}

#[test]
fn a_revocations_time_is_near_the_clock() {
    for (revoked_at, accepted) in [
        (NOW - 300, true),
        (NOW + 300, true),
        (NOW - 301, false),
        (NOW + 301, false),
    ] {
        let signed = sign(
            Revocation {
                revoked_at,
                ..revocation()
            },
            &owner(),
        );
        let judged = instance().receive_revocation(signed, OWNER, now());
        let refused = judged.err().map(|refusal| refusal.rule);
        assert_eq!(refused, (!accepted).then_some(Rule::RevocationTimeSkewed));
    }
}

/// Attack 36, and "no silent carry-over".
#[test]
fn a_new_policy_carries_no_grant_over() {
    let stage = Stage::new();
    let next = edited_policy(|document| document["version"] = 3.into()).unwrap();
    let standing = stage.account.standing(GRANT_ID, &next, now()).unwrap();
    assert_eq!(standing.as_str(), "superseded");
    assert_eq!(
        standing.require_active().unwrap_err().rule,
        Rule::GrantSuperseded
    );
    // The same name with other rules is refused too.
    let same_name = edited_policy(|document| {
        document["per_swap_cap"] =
            serde_json::json!({"unit": "input_token_atoms", "max": "1000000", "usd": "1"});
    })
    .unwrap();
    assert_eq!(
        stage
            .account
            .standing(GRANT_ID, &same_name, now())
            .unwrap()
            .as_str(),
        "superseded"
    );
}

#[test]
fn a_grant_ends_with_its_last_second() {
    let stage = Stage::new();
    let end = grant().expires_at;
    let word = |now| {
        stage
            .account
            .standing(GRANT_ID, &fence_policy(), now)
            .unwrap()
            .as_str()
    };
    assert_eq!(word(Now::offline(at(end - 1))), "active");
    assert_eq!(word(Now::offline(at(end))), "expired");
    assert_eq!(
        word(Now {
            wall: at(end - 5),
            chain: at(end)
        }),
        "expired"
    );
}

#[test]
fn an_unknown_grant_is_not_found() {
    let mut account = Account::new(ACCOUNT);
    let unknown = |account: &Account| {
        account
            .standing(GRANT_ID, &fence_policy(), now())
            .unwrap_err()
            .rule
    };
    assert_eq!(unknown(&account), Rule::GrantNotFound);
    account.revoke_by_service(GRANT_ID, NOW);
    assert_eq!(unknown(&account), Rule::GrantNotFound);
    assert_eq!(account.revoked_at(GRANT_ID), Some(NOW));
}
