//! Attacks 2, 6, 24 and 36 at the time of use: the confirmations (a) to (d) in order.

use alloy_primitives::B256;
use delegation_fence::{Grant, Name, Now, Phase, ReadBack, Revocation, Rule};

use crate::attacks::sample::arguments;
use crate::attacks::{
    sample::{NOW, STRANGER},
    stage::{
        GRANT_ID, OWNER, Stage, at, edited_policy, fence_policy, grant, instance, now, owner,
        revocation, sign, stranger,
    },
};

#[test]
fn the_submission_of_the_stage_is_admitted() {
    let stage = Stage::new();
    let admitted = stage.admit().unwrap();
    assert_eq!(
        admitted.payload_digest,
        stage.order.message().payload_digest
    );
    assert_eq!(admitted.order_digest, stage.order.digest());
    assert_eq!(admitted.valid_until, at(NOW + 60));
}

#[test]
fn a_fence_that_does_not_read_back_admits_nothing() {
    let mut stage = Stage::new();
    stage.read_back = ReadBack::Unreadable;
    assert_eq!(stage.refused_by(), Rule::FenceUnreadable);
    let policy = fence_policy();
    stage.read_back = ReadBack::Installed {
        name: Name::new("svc-base-swap-fence.v3").unwrap(),
        digest: policy.digest(),
    };
    assert_eq!(stage.refused_by(), Rule::FenceNameMismatch);
    stage.read_back = ReadBack::Installed {
        name: policy.name().clone(),
        digest: B256::repeat_byte(1),
    };
    assert_eq!(stage.refused_by(), Rule::FenceDigestMismatch);
}

#[test]
fn a_grant_that_is_not_active_admits_nothing() {
    let mut stage = Stage::new();
    stage.grant_id = B256::repeat_byte(3);
    assert_eq!(stage.refused_by(), Rule::GrantNotFound);

    let later = Grant {
        not_before: NOW + 1,
        ..grant()
    };
    let stage = Stage::with(later, &arguments());
    assert_eq!(stage.refused_by(), Rule::GrantNotYetValid);

    let mut stage = Stage::new();
    let received = instance()
        .receive_revocation(sign(revocation(), &owner()), OWNER, now())
        .unwrap();
    stage.account.revoke(&received).unwrap();
    assert_eq!(stage.refused_by(), Rule::GrantRevoked);

    let mut stage = Stage::new();
    let all = Revocation {
        grant_id: B256::ZERO,
        ..revocation()
    };
    let received = instance()
        .receive_revocation(sign(all, &owner()), OWNER, now())
        .unwrap();
    stage.account.revoke(&received).unwrap();
    assert_eq!(stage.refused_by(), Rule::GrantRevoked);

    let mut stage = Stage::new();
    stage.now = Now::offline(at(grant().expires_at));
    assert_eq!(stage.refused_by(), Rule::GrantExpired);
}

/// Attack 36: pin and store move to the next policy together.
#[test]
fn a_grant_for_the_policy_before_admits_nothing() {
    let mut stage = Stage::new();
    let next = edited_policy(|document| document["version"] = 3.into()).unwrap();
    stage.read_back = ReadBack::of(&next);
    stage.fence = delegation_fence::Fence::new(instance(), next).unwrap();
    assert_eq!(stage.refused_by(), Rule::GrantSuperseded);
}

/// Attack 6: strictly after the plan's end.
#[test]
fn a_grant_outlives_the_plan() {
    let valid_until = NOW + 60;
    for (expires_at, refused) in [(valid_until, true), (valid_until + 1, false)] {
        let stage = Stage::with(
            Grant {
                expires_at,
                ..grant()
            },
            &arguments(),
        );
        let rule = stage.admit().err().map(|refusal| refusal.rule);
        assert_eq!(rule, refused.then_some(Rule::GrantExpiresBeforeValidUntil));
    }
}

/// A plan that hides its end, so that (b) cannot compare it, is refused by the verifier.
#[test]
fn a_plan_without_an_end_is_refused_by_its_verifier() {
    let mut stage = Stage::with(
        Grant {
            expires_at: NOW + 30,
            ..grant()
        },
        &arguments(),
    );
    stage.envelope = stage
        .envelope
        .replace("\"valid_until\":", "\"valid_unti1\":");
    let refusal = stage.admit().unwrap_err();
    assert_eq!(refusal.rule, Rule::EnvelopeUnverified);
    assert_eq!(refusal.check.as_deref(), Some("plan_malformed"));
}

/// Attack 24.
#[test]
fn another_callers_account_is_refused() {
    let mut stage = Stage::new();
    stage.owner = stranger().address();
    assert_eq!(stage.refused_by(), Rule::AccountNotOwned);
    let mut stage = Stage::new();
    stage.submitted = STRANGER;
    stage.reorder(|order| order.account = STRANGER);
    assert_eq!(stage.refused_by(), Rule::AccountNotOwned);
}

/// Attack 33: what is left of a plan's life.
#[test]
fn a_plan_that_is_nearly_over_is_not_begun() {
    let mut stage = Stage::new();
    stage.reorder(|order| order.deadline = NOW + 1000);
    for (passed, begins, goes_on) in [
        (0, None, None),
        (30, None, None),
        (31, Some(Rule::PlanExpired), None),
        (59, Some(Rule::PlanExpired), None),
        (60, Some(Rule::PlanExpired), Some(Rule::PlanExpired)),
        (1_000, Some(Rule::PlanExpired), Some(Rule::PlanExpired)),
    ] {
        // A second clock that is behind does not make the plan younger.
        stage.now = Now {
            wall: at(NOW),
            chain: at(NOW + passed),
        };
        let refused = |phase| stage.admit_in(phase).err().map(|refusal| refusal.rule);
        assert_eq!(
            (refused(Phase::Begin), refused(Phase::GoOn)),
            (begins, goes_on),
            "{passed}"
        );
    }
}

/// Attack 34: the public record states the pinned values, and `present` only for a policy that was
/// read back now.
#[test]
fn the_public_record_has_five_members_and_fails_closed() {
    let stage = Stage::new();
    let json = |read_back: &ReadBack| serde_json::to_value(stage.fence.status(read_back)).unwrap();
    let present = json(&stage.read_back);
    assert_eq!(present["present"], true);
    assert_eq!(present["per_swap_cap_usd"], 5000);
    let policy = fence_policy();
    for read_back in [
        ReadBack::Unreadable,
        ReadBack::Installed {
            name: Name::new("other").unwrap(),
            digest: policy.digest(),
        },
        ReadBack::Installed {
            name: policy.name().clone(),
            digest: B256::ZERO,
        },
    ] {
        let absent = json(&read_back);
        let members: Vec<_> = absent
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let expected = [
            "per_swap_cap_usd",
            "policy_name",
            "present",
            "project_id",
            "rules_digest",
        ];
        let mut sorted = members.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
        assert_eq!(absent["present"], false);
        for member in members.into_iter().filter(|member| *member != "present") {
            assert_eq!(absent[member], present[member]);
        }
    }
}

/// The confirmations have an order: of several that fail, the first one names the refusal.
#[test]
fn the_first_confirmation_that_does_not_hold_has_the_name() {
    let mut stage = Stage::new();
    // From the last to the first, each in addition to the others.
    stage.peg = Some(delegation_fence::Peg {
        usd: "1.05".parse().unwrap(),
        max_deviation: calldata_checks::BasisPoints::new(100).unwrap(),
    });
    assert_eq!(stage.refused_by(), Rule::FencePeg);
    let limit = delegation_fence::Limit {
        per_swap_cap: alloy_primitives::U256::ONE,
        ..crate::attacks::stage::limit()
    };
    let received = instance()
        .receive_limit(sign(limit, &owner()), OWNER, now())
        .unwrap();
    stage.account.tighten(&received).unwrap();
    assert_eq!(stage.refused_by(), Rule::FenceApproveCap);
    stage.envelope = stage.envelope.replace("sushiswap", "sushiswop");
    assert_eq!(stage.refused_by(), Rule::EnvelopeUnverified);
    stage.owner = stranger().address();
    assert_eq!(stage.refused_by(), Rule::AccountNotOwned);
    stage.order = sign(stage.order.message().clone(), &stranger());
    assert_eq!(stage.refused_by(), Rule::OrderNotByDelegate);
    let received = instance()
        .receive_revocation(sign(revocation(), &owner()), OWNER, now())
        .unwrap();
    stage.account.revoke(&received).unwrap();
    assert_eq!(stage.account.revoked_at(GRANT_ID), Some(NOW));
    assert_eq!(stage.refused_by(), Rule::GrantRevoked);
    stage.read_back = ReadBack::Unreadable;
    assert_eq!(stage.refused_by(), Rule::FenceUnreadable);
}
