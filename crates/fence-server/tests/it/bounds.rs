//! The records of a store are bounded, and replaced policies do not come back.

use alloy_primitives::{B256, U256};
use delegation_fence::{Grant, MOST_GRANTS, MOST_TOMBSTONES};
use fence_server::{Change, Holder};

use crate::{
    sample::{ACCOUNT, NOW},
    stage::{
        GRANT_ID, StoreLocation, at, fence_policy, grant, instance, limit, look, named_policy, now,
        owner, received, revocation, sign, write,
    },
};

fn granted(grant_id: B256) -> Change {
    Change::Grant(Box::new(received(grant(grant_id))), Vec::new())
}

fn ended(grant_id: B256, ended_at: u64) -> Change {
    Change::End {
        grant_id,
        ended_at,
        signed: Some(Box::new(revocation(grant_id, ended_at))),
        holder: Holder::Known,
    }
}

/// A replaced policy does not come back even after a policy of another name, because the grants
/// under it would come back with it.
#[tokio::test]
async fn a_policy_does_not_come_back_after_one_of_another_name() {
    let location = StoreLocation::new();
    let store = location.open();
    store.install(fence_policy(3), at(NOW)).await.unwrap();
    let other = named_policy("another-fence", 1);
    store.install(other.clone(), at(NOW)).await.unwrap();
    for version in [2, 3] {
        let error = store.install(fence_policy(version), at(NOW)).await;
        assert_eq!(error.unwrap_err().code(), "fence_policy_not_newer");
    }
    store.install(other, at(NOW)).await.unwrap();
    store.install(fence_policy(4), at(NOW)).await.unwrap();
    let installed = store.installed().await.unwrap().unwrap();
    assert_eq!(installed.policy().unwrap(), fence_policy(4));
}

/// Each limit is tighter than the one before it by an atom. The stored limits, which every view
/// reads, do not grow.
#[tokio::test]
async fn of_any_number_of_limits_the_tightest_are_kept() {
    let location = StoreLocation::new();
    let store = location.open();
    let granted = write(&look(&*store).await, granted(GRANT_ID));
    store.write(granted).await.unwrap();
    let tighten = async |limit| {
        let received = instance().receive_limit(limit, owner().address(), now());
        let change = Change::Limit(Box::new(received.unwrap()));
        let version = write(&look(&*store).await, change);
        store.write(version).await.unwrap();
    };
    for cap in (1_000..1_200).rev() {
        tighten(limit(cap)).await;
        assert!(look(&*store).await.limits.len() <= 3);
    }
    // A limit that tightens another member stays beside it; the looser ones add nothing.
    let swaps = |max_swaps| {
        let message = delegation_fence::Limit {
            per_swap_cap: U256::from(5_000),
            max_swaps,
            ..limit(1).message().clone()
        };
        sign(message, &owner())
    };
    tighten(swaps(5)).await;
    tighten(swaps(9)).await;
    let view = look(&*store).await;
    assert_eq!(view.limits.len(), 2);
    let account = view.account(&instance()).unwrap();
    let policy = fence_policy(1);
    let standing = account.standing(GRANT_ID, &policy, now()).unwrap();
    let active = standing.require_active().unwrap();
    assert_eq!(active.cap(), U256::from(1_000));
    assert_eq!(active.tightest().max_swaps, Some(5));
}

#[tokio::test]
async fn an_account_has_so_many_grants_and_tombstones() {
    let location = StoreLocation::new();
    let store = location.open();
    let id = |number: u64| B256::from(U256::from(number + 1));
    let put = async |change| {
        let change = write(&look(&*store).await, change);
        store.write(change).await.map_err(|error| error.code())
    };
    for number in 0..MOST_GRANTS {
        put(granted(id(number))).await.unwrap();
    }
    assert_eq!(put(granted(id(900))).await, Err("too_many_grants"));
    put(ended(id(0), NOW)).await.unwrap();
    put(granted(id(900))).await.unwrap();

    for number in 0..MOST_TOMBSTONES {
        put(ended(id(1_000 + number), NOW)).await.unwrap();
    }
    assert_eq!(
        put(ended(id(5_000), NOW)).await,
        Err("too_many_revocations")
    );
    // A received grant can always be ended, and so can all grants at once.
    put(ended(id(1), NOW)).await.unwrap();
    put(ended(B256::ZERO, NOW)).await.unwrap();
    let all = store.view(ACCOUNT, id(900), None).await.unwrap();
    assert_eq!(all.ended.unwrap().at, NOW);
    // Ended grants do not count.
    let later = Grant {
        issued_at: NOW + 1,
        ..grant(id(901))
    };
    put(Change::Grant(Box::new(received(later)), Vec::new()))
        .await
        .unwrap();
}
