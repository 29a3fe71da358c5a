//! Attacks 1 to 4, 6, 7, 10, 11, 25 and 37: deceptive grants.

use alloy_primitives::{Address, B256, U256, address};
use delegation_fence::{
    Account, AccountKind, Domain, Grant, Name, Novelty, Now, Refusal, Rule, Signed, TypedData,
};

use crate::attacks::{
    sample::{ACCOUNT, BASE, NOW},
    stage::{
        CAP, DAY, DELEGATE, GRANT_ID, OWNER, SALT, at, domain, fence, fence_policy, grant,
        grant_refused, now, owner, sign, sign_in, stranger,
    },
};

#[test]
fn the_grant_of_the_stage_is_accepted() {
    assert_eq!(grant_refused(|_| {}), None);
}

/// Attack 1: the chain of the domain, of the message and of the fence, in pairs.
#[test]
fn a_grant_for_another_chain_is_refused() {
    for other in [1, 196] {
        let elsewhere = Domain::new(other, SALT);
        let moved = Grant {
            chain_id: other,
            ..grant()
        };
        let refused = |domain, grant| TypedData::new(domain, grant).unwrap_err().rule;
        assert_eq!(
            refused(elsewhere.clone(), grant()),
            Rule::MessageChainMismatch
        );
        assert_eq!(refused(domain(), moved.clone()), Rule::MessageChainMismatch);
        let signed = sign_in(elsewhere, moved, &owner());
        let refusal = fence().receive(signed, OWNER, now()).unwrap_err();
        assert_eq!(refusal.rule, Rule::DomainChainMismatch);
    }
}

/// Attack 2.
#[test]
fn a_grant_for_another_policy_is_refused() {
    let policy = fence_policy();
    for name in [
        "svc-base-swap-fence.v1",
        "svc-base-swap-fence.v20",
        "svc-base-swap-fence.v2.v2",
    ] {
        let name = Name::new(name).unwrap();
        assert_ne!(&name, policy.name());
        assert_eq!(
            grant_refused(|grant| grant.policy_name = name),
            Some(Rule::GrantPolicyNameMismatch)
        );
    }
    assert_eq!(
        grant_refused(|grant| grant.rules_digest = B256::repeat_byte(1)),
        Some(Rule::GrantPolicyDigestMismatch)
    );
}

/// Attack 3.
#[test]
fn a_grant_for_another_project_is_refused() {
    let other = Name::new("3f2c9b1e-5a44-4d0a-9a52-0c6f3a9b7e12").unwrap();
    assert_eq!(
        grant_refused(|grant| grant.project_id = other),
        Some(Rule::GrantProjectMismatch)
    );
}

#[test]
fn a_grant_for_another_capability_is_refused() {
    let other = Name::new("sign_typed_data").unwrap();
    assert_eq!(
        grant_refused(|grant| grant.capability = other),
        Some(Rule::GrantCapabilityMismatch)
    );
}

/// Attack 4.
#[test]
fn a_grant_for_another_instance_is_refused() {
    let receive = |domain| fence().receive(sign_in(domain, grant(), &owner()), OWNER, now());
    let rule = |result: Result<_, Refusal>| {
        result
            .map(|_: delegation_fence::ReceivedGrant| ())
            .unwrap_err()
            .rule
    };
    assert_eq!(
        rule(receive(Domain::new(BASE, B256::ZERO))),
        Rule::DomainSaltMismatch
    );
    let brand = Domain::branded("other", BASE, SALT).unwrap();
    assert_eq!(rule(receive(brand)), Rule::DomainNameMismatch);
}

/// Attack 6.
#[test]
fn the_times_of_a_grant_have_their_limits() {
    let issued = NOW - 10;
    for (expires_at, refused) in [
        (issued + 180 * DAY, None),
        (issued + 180 * DAY + 1, Some(Rule::GrantLifetimeTooLong)),
        (NOW, Some(Rule::GrantExpired)),
        (NOW + 1, None),
        (issued, Some(Rule::GrantWindowEmpty)),
        (issued - 1, Some(Rule::GrantWindowEmpty)),
        (0, Some(Rule::GrantWindowEmpty)),
    ] {
        assert_eq!(
            grant_refused(|grant| grant.expires_at = expires_at),
            refused,
            "{expires_at}"
        );
    }
    for (issued_at, refused) in [
        (NOW + 60, None),
        (NOW + 61, Some(Rule::GrantIssuedInFuture)),
    ] {
        let edit = |grant: &mut Grant| {
            grant.issued_at = issued_at;
            grant.not_before = issued_at;
        };
        assert_eq!(grant_refused(edit), refused);
    }
    // A grant may begin later, but not live longer for that.
    assert_eq!(grant_refused(|grant| grant.not_before = NOW + DAY), None);
    assert_eq!(
        grant_refused(|grant| grant.not_before = grant.expires_at),
        Some(Rule::GrantWindowEmpty)
    );
    // 180 days from a clock that is ahead by a minute are more than 180 days from now.
    let ahead = |grant: &mut Grant| {
        grant.issued_at = NOW + 60;
        grant.not_before = NOW + 60;
        grant.expires_at = NOW + 60 + 180 * DAY;
    };
    assert_eq!(grant_refused(ahead), Some(Rule::GrantEndsTooLate));
}

/// Attack 6: milliseconds, and the largest number.
#[test]
fn a_time_that_is_no_time_in_seconds_is_refused() {
    for expires_at in [u64::MAX, (NOW + DAY) * 1000] {
        let changed = Grant {
            expires_at,
            ..grant()
        };
        let refusal = TypedData::new(domain(), changed).unwrap_err();
        assert_eq!(refusal.rule, Rule::TimeOutOfRange);
    }
}

/// Attack 7: of two clocks the stricter one counts.
#[test]
fn the_worse_of_two_clocks_counts() {
    let with = |wall, chain, edit: fn(&mut Grant)| {
        let mut changed = grant();
        edit(&mut changed);
        let now = Now {
            wall: at(wall),
            chain: at(chain),
        };
        fence()
            .receive(sign(changed, &owner()), OWNER, now)
            .map(|_| ())
            .map_err(|r| r.rule)
    };
    let ends_soon: fn(&mut Grant) = |grant| grant.expires_at = NOW + 100;
    assert_eq!(with(NOW, NOW + 100, ends_soon), Err(Rule::GrantExpired));
    assert_eq!(with(NOW + 100, NOW, ends_soon), Err(Rule::GrantExpired));
    assert_eq!(with(NOW + 99, NOW, ends_soon), Ok(()));
    assert_eq!(with(NOW, NOW - 71, |_| {}), Err(Rule::GrantIssuedInFuture));

    let mut account = Account::new(ACCOUNT);
    let begins_later = Grant {
        not_before: NOW + 50,
        ..grant()
    };
    account
        .receive(
            fence()
                .receive(sign(begins_later, &owner()), OWNER, now())
                .unwrap(),
        )
        .unwrap();
    let word = |wall, chain| {
        let now = Now {
            wall: at(wall),
            chain: at(chain),
        };
        account
            .standing(GRANT_ID, &fence_policy(), now)
            .unwrap()
            .as_str()
    };
    assert_eq!(word(NOW + 50, NOW + 49), "not_yet_valid");
    assert_eq!(word(NOW + 50, NOW + 50), "active");
}

/// Attack 10: an id is an account's own.
#[test]
fn an_id_is_taken_for_its_account_only() {
    let mut account = Account::new(ACCOUNT);
    let receive = |grant: Grant| {
        fence()
            .receive(sign(grant, &owner()), OWNER, now())
            .unwrap()
    };
    assert_eq!(account.receive(receive(grant())), Ok(Novelty::New));
    assert_eq!(account.receive(receive(grant())), Ok(Novelty::Again));
    let other = Grant {
        per_swap_cap: U256::from(1),
        ..grant()
    };
    assert_eq!(
        account.receive(receive(other)).unwrap_err().rule,
        Rule::GrantIdTaken
    );
    // Another account's grant with the same id is another grant.
    let elsewhere = Grant {
        account: Address::repeat_byte(9),
        ..grant()
    };
    assert_eq!(
        account
            .receive(receive(elsewhere.clone()))
            .unwrap_err()
            .rule,
        Rule::AccountNotOwned
    );
    let mut second = Account::new(Address::repeat_byte(9));
    assert_eq!(second.receive(receive(elsewhere)), Ok(Novelty::New));
    assert_eq!(
        grant_refused(|grant| grant.grant_id = B256::ZERO),
        Some(Rule::GrantIdZero)
    );
}

/// Attacks 11 and 37: the delegate is part of the signed message, and is one key.
#[test]
fn a_delegate_that_was_swapped_is_refused() {
    let signed = sign(grant(), &owner());
    let thief = stranger().address().to_string();
    let swapped = signed.to_json().replace(&DELEGATE.to_string(), &thief);
    assert_ne!(swapped, signed.to_json());
    let refusal = fence()
        .receive(Signed::parse(&swapped).unwrap(), OWNER, now())
        .unwrap_err();
    assert_eq!(refusal.rule, Rule::GrantNotByAccount);
    for nobody in [
        Address::ZERO,
        address!("0000000000000000000000000000000000000a11"),
    ] {
        assert_eq!(
            grant_refused(|grant| grant.delegate = nobody),
            Some(Rule::GrantDelegateInvalid)
        );
    }
}

#[test]
fn the_service_orders_nothing_for_an_eoa7702_account() {
    let own = Grant {
        account: OWNER,
        account_kind: AccountKind::Eoa7702,
        ..grant()
    };
    let fence = fence().with_service_keys(vec![DELEGATE]);
    let receive = |grant| fence.receive(sign(grant, &owner()), OWNER, now());
    assert_eq!(receive(own).unwrap_err().rule, Rule::GrantDelegateIsService);
    assert!(
        receive(grant()).is_ok(),
        "for a sub-wallet the service's key may decide"
    );
}

/// Attack 18, of the grant: its cap.
#[test]
fn the_cap_of_a_grant_is_at_most_the_policys() {
    for (cap, refused) in [
        (U256::from(1), None),
        (U256::from(CAP), None),
        (U256::from(CAP + 1), Some(Rule::GrantCapAbovePolicy)),
        (U256::MAX, Some(Rule::GrantCapAbovePolicy)),
        (U256::ZERO, Some(Rule::GrantCapZero)),
    ] {
        assert_eq!(
            grant_refused(|grant| grant.per_swap_cap = cap),
            refused,
            "{cap}"
        );
    }
}

/// Attack 25, and the plain accounts: a refusal states what to do instead.
#[test]
fn kinds_that_nothing_is_sent_for_are_refused() {
    for kind in [AccountKind::Eoa, AccountKind::Safe] {
        let changed = Grant {
            account: OWNER,
            account_kind: kind,
            ..grant()
        };
        let refusal = fence()
            .receive(sign(changed, &owner()), OWNER, now())
            .unwrap_err();
        assert_eq!(refusal.rule, Rule::AccountKindUnsupported);
        assert!(refusal.message.contains("sub-wallet"), "{refusal}");
    }
    // A kind that is replaced makes another message: the signature then recovers to another key.
    let signed = sign(
        Grant {
            account: OWNER,
            account_kind: AccountKind::Safe,
            ..grant()
        },
        &owner(),
    );
    let relabelled = signed.to_json().replace("\"safe\"", "\"eoa7702\"");
    let refusal = fence()
        .receive(Signed::parse(&relabelled).unwrap(), OWNER, now())
        .unwrap_err();
    assert_eq!(refusal.rule, Rule::GrantNotByAccount);
}

#[test]
fn an_eoa7702_account_signs_for_itself() {
    let own = Grant {
        account: OWNER,
        account_kind: AccountKind::Eoa7702,
        ..grant()
    };
    assert!(
        fence()
            .receive(sign(own.clone(), &owner()), OWNER, now())
            .is_ok()
    );
    let refusal = fence()
        .receive(sign(own, &stranger()), stranger().address(), now())
        .unwrap_err();
    assert_eq!(refusal.rule, Rule::AccountNotOwned);
}
