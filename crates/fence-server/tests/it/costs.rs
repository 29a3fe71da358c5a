//! The service's cost of a request: nothing for bytes that no key has signed, and no gas for a plan
//! that cannot end well.

use std::sync::{Arc, Mutex, atomic::Ordering};

use alloy_primitives::{B256, U256};
use calldata_checks::StepKind;
use delegation_fence::{Budget, Domain, Foresight};
use fence_server::{Delegations, Parts};

use crate::{
    sample::{BASE, NOW},
    stage::{BUDGET, GRANT_ID, grant, owner, revocation, sign, sign_in},
    world::{Oracle, World, code, desk_parts, ordered},
};

const AMOUNT: u64 = 1_000_000_007;

async fn granted() -> World {
    let world = World::new().await;
    let received = world.desk.receive_grant(sign(grant(GRANT_ID), &owner()));
    assert_eq!(received.await.unwrap().state, "active");
    world
}

/// A caller without a key is refused before any read of records and custody.
#[tokio::test]
async fn custody_is_not_asked_for_what_no_key_has_signed_for_this_service() {
    let world = World::new().await;
    let elsewhere = Domain::new(BASE, B256::ZERO);
    let granted = sign_in(elsewhere.clone(), grant(GRANT_ID), &owner());
    let granted = world.desk.receive_grant(granted);
    assert_eq!(code(granted.await), "domain_salt_mismatch");
    let revoked = revocation(GRANT_ID, NOW).message().clone();
    let revoked = world
        .desk
        .receive_revocation(sign_in(elsewhere, revoked, &owner()));
    assert_eq!(code(revoked.await), "domain_salt_mismatch");
    assert_eq!(world.custody.asked.load(Ordering::SeqCst), 0);
}

/// The service pays for gas, and sends no plan that cannot end well: submission and dry run refuse
/// it by name, and a dry run leaves no record.
#[tokio::test]
async fn a_plan_that_is_too_small_too_dear_or_cannot_succeed_is_refused() {
    let world = granted().await;
    let enough = Foresight {
        balance: U256::from(AMOUNT),
        reverts: None,
    };
    let lacking = Foresight {
        balance: U256::from(AMOUNT - 1),
        ..enough
    };
    let reverting = Foresight {
        reverts: Some(StepKind::Call),
        ..enough
    };
    let small = Budget {
        least_amount: U256::from(AMOUNT + 1),
        ..BUDGET
    };
    let of_account = Budget {
        of_account: BUDGET.of_plan - 1,
        ..BUDGET
    };
    let of_all = Budget {
        of_all: BUDGET.of_plan - 1,
        ..BUDGET
    };
    for (budget, foresight, refused_by) in [
        (small, Some(enough), "order_too_small"),
        (of_account, Some(enough), "gas_budget_exhausted"),
        (of_all, Some(enough), "gas_budget_exhausted"),
        (BUDGET, Some(lacking), "balance_too_low"),
        (BUDGET, Some(reverting), "plan_would_revert"),
        (BUDGET, None, "chain_unavailable"),
    ] {
        let store = world.store();
        let parts = desk_parts(store, 1, &world.clock, &world.custody, None);
        let desk = Delegations::install(Parts {
            budget,
            chain: Some(Arc::new(Oracle(Arc::new(Mutex::new(foresight))))),
            ..parts
        });
        let desk = desk.await.unwrap();
        let before = world.log(GRANT_ID).await;
        let plan = ordered(AMOUNT, GRANT_ID);
        assert_eq!(code(desk.try_out(&plan).await), refused_by);
        assert_eq!(world.log(GRANT_ID).await, before, "{refused_by}");
        assert_eq!(code(desk.submit(&plan).await), refused_by);
        assert_eq!(
            code(desk.submission(plan.order.message().payload_digest).await),
            "fence_store_unavailable"
        );
    }
    let parts = desk_parts(world.store(), 1, &world.clock, &world.custody, None);
    let desk = Delegations::install(Parts {
        chain: Some(Arc::new(Oracle(Arc::new(Mutex::new(Some(enough)))))),
        ..parts
    });
    let submitted = desk.await.unwrap().submit(&ordered(AMOUNT, GRANT_ID)).await;
    assert!(!submitted.unwrap().again);
}
