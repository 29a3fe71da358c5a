//! What a server does with what it receives.

use std::sync::{Arc, atomic::Ordering};

use alloy_primitives::{Address, B256, U256};
use delegation_fence::{
    AccountKind, Domain, Grant, Message, Novelty, Phase, RevocationReceipt, Signature, Signed,
    TypedData, verify_log,
};
use fence_server::{Delegations, Prices, StoreError};

use crate::{
    sample::{ACCOUNT, BASE, NOW, STRANGER},
    stage::{
        DAY, GRANT_ID, NOBODY, delegate, fence_policy, grant, key, limit, look, now, order, owner,
        plan, revocation, sign,
    },
    world::{Market, World, code, ordered, priced_desk},
};

const OTHER_ID: B256 = B256::repeat_byte(0x23);
const AMOUNT: u64 = 1_000_000_007;

async fn granted() -> World {
    let world = World::new().await;
    let received = world.desk.receive_grant(sign(grant(GRANT_ID), &owner()));
    assert_eq!(received.await.unwrap().state, "active");
    world
}

async fn state(desk: &Delegations, grant_id: B256) -> &'static str {
    desk.grant_state(ACCOUNT, grant_id)
        .await
        .map_or_else(|error| error.code(), |state| state.state)
}

fn in_domain<M: Message>(domain: Domain, message: M) -> Signed<M> {
    use alloy_signer::SignerSync as _;
    let typed_data = TypedData::new(domain, message).unwrap();
    let signature = owner().sign_hash_sync(&typed_data.digest()).unwrap();
    Signed::new(
        typed_data,
        Signature::from_bytes(&signature.as_bytes()).unwrap(),
    )
}

#[tokio::test]
async fn a_grant_is_received_once_and_reads_back() {
    let world = World::new().await;
    assert_eq!(state(&world.desk, GRANT_ID).await, "grant_not_found");
    let signed = sign(grant(GRANT_ID), &owner());
    let first = world.desk.receive_grant(signed.clone()).await.unwrap();
    assert_eq!((first.novelty, first.state), (Novelty::New, "active"));
    let again = world.another(1).await.receive_grant(signed).await.unwrap();
    assert_eq!(again.novelty, Novelty::Again);
    let read = world.desk.grant_state(ACCOUNT, GRANT_ID).await.unwrap();
    assert_eq!(
        (read.state, read.kind),
        ("active", Some(AccountKind::SubWallet))
    );
    assert_eq!(read.expires_at.unwrap().unix(), grant(GRANT_ID).expires_at);
    assert_eq!(world.log(GRANT_ID).await, ["granted"]);

    let later = Grant {
        not_before: NOW + 100,
        ..grant(OTHER_ID)
    };
    let received = world
        .desk
        .receive_grant(sign(later, &owner()))
        .await
        .unwrap();
    assert_eq!(received.state, "not_yet_valid");
    world.clock.pass(100);
    assert_eq!(state(&world.desk, OTHER_ID).await, "active");
    world.clock.pass(90 * DAY);
    assert_eq!(state(&world.desk, OTHER_ID).await, "expired");
}

/// Attacks 1 to 6, 10, 11, 24 and 25, as far as they are made by a grant that is sent to a server.
#[tokio::test]
async fn a_grant_that_is_not_the_accounts_own_is_refused() {
    let world = granted().await;
    let changed = |edit: fn(&mut Grant)| {
        let mut message = grant(OTHER_ID);
        edit(&mut message);
        sign(message, &owner())
    };
    for (signed, refused_by) in [
        (
            in_domain(Domain::new(BASE, B256::ZERO), grant(OTHER_ID)),
            "domain_salt_mismatch",
        ),
        (sign(grant(OTHER_ID), &key(0x77)), "grant_not_by_account"),
        (changed(|grant| grant.per_swap_cap = U256::from(7)), "ok"),
        (changed(|grant| grant.delegate = STRANGER), "grant_id_taken"),
        (
            changed(|grant| grant.grant_id = B256::ZERO),
            "grant_id_zero",
        ),
        (changed(|grant| grant.account = NOBODY), "account_not_owned"),
        (
            changed(|grant| grant.account_kind = AccountKind::Eoa),
            "account_kind_unsupported",
        ),
        (
            changed(|grant| grant.account_kind = AccountKind::Safe),
            "account_kind_unsupported",
        ),
        (
            changed(|grant| grant.account_kind = AccountKind::Eoa7702),
            "account_kind_unsupported",
        ),
        (
            changed(|grant| grant.expires_at = grant.issued_at + 181 * DAY),
            "grant_lifetime_too_long",
        ),
        (
            changed(|grant| grant.per_swap_cap += U256::ONE),
            "grant_cap_above_policy",
        ),
        (
            changed(|grant| grant.rules_digest = B256::ZERO),
            "grant_policy_digest_mismatch",
        ),
    ] {
        let received = world.desk.receive_grant(signed).await;
        assert_eq!(code(received), refused_by);
    }
    assert_eq!(world.log(OTHER_ID).await, ["granted"]);
}

/// Attack 8.
#[tokio::test]
async fn a_revocation_is_for_ever_and_reads_back() {
    let world = granted().await;
    let signed = revocation(GRANT_ID, NOW - 5);
    let receipt = world.desk.receive_revocation(signed.clone()).await.unwrap();
    assert_eq!(receipt.revoked_at().unix(), NOW - 5);
    let (records, next) = world.desk.log(ACCOUNT, GRANT_ID, 0).await.unwrap();
    let texts: Vec<String> = records.iter().map(|record| record.to_json()).collect();
    let log = verify_log([format!("[{}]", texts.join(",")).as_str()]).unwrap();
    receipt.require_in(&log).unwrap();
    assert_eq!((next, log.is_revoked()), (None, true));
    assert_eq!(
        RevocationReceipt::parse(&receipt.to_json()),
        Ok(receipt.clone())
    );
    assert_eq!(state(&world.desk, GRANT_ID).await, "revoked");

    // Again, by another server, much later, and with another time: the first one counts.
    world.clock.pass(DAY);
    let again = world.another(1).await.receive_revocation(signed).await;
    assert_eq!(again.unwrap(), receipt);
    let other = world
        .desk
        .receive_revocation(revocation(GRANT_ID, NOW))
        .await;
    assert_eq!(other.unwrap().revoked_at(), receipt.revoked_at());
    assert_eq!(world.log(GRANT_ID).await, ["granted", "revoked"]);

    // The same grant again.
    let replayed = world
        .desk
        .receive_grant(sign(grant(GRANT_ID), &owner()))
        .await;
    assert_eq!(code(replayed), "grant_revoked");
    let submitted = world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await;
    assert_eq!(code(submitted), "grant_revoked");
}

/// Attacks 8 and 9.
#[tokio::test]
async fn a_revocation_before_its_grant_is_kept() {
    let world = World::new().await;
    world
        .desk
        .receive_revocation(revocation(GRANT_ID, NOW))
        .await
        .unwrap();
    let read = world.desk.grant_state(ACCOUNT, GRANT_ID).await.unwrap();
    assert_eq!((read.state, read.expires_at), ("revoked", None));
    let late = world
        .desk
        .receive_grant(sign(grant(GRANT_ID), &owner()))
        .await;
    assert_eq!(code(late), "grant_revoked");
    assert_eq!(world.log(GRANT_ID).await, ["revoked"]);
    // Another grant is another one.
    let other = world
        .desk
        .receive_grant(sign(grant(OTHER_ID), &owner()))
        .await;
    assert_eq!(code(other), "ok");
}

#[tokio::test]
async fn a_revocation_of_all_ends_what_was_issued_until_then() {
    let world = granted().await;
    let receipt = world
        .desk
        .receive_revocation(revocation(B256::ZERO, NOW))
        .await
        .unwrap();
    let (records, _) = world.desk.log(ACCOUNT, B256::ZERO, 0).await.unwrap();
    let log = format!("[{}]", records[0].to_json());
    receipt
        .require_in(&verify_log([log.as_str()]).unwrap())
        .unwrap();
    assert_eq!(state(&world.desk, GRANT_ID).await, "revoked");
    assert_eq!(world.log(GRANT_ID).await, ["granted", "revoked"]);
    // One that comes later and was issued before.
    let late = world
        .desk
        .receive_grant(sign(grant(OTHER_ID), &owner()))
        .await;
    assert_eq!(code(late), "grant_revoked");
    let new = Grant {
        issued_at: NOW + 1,
        not_before: NOW + 1,
        ..grant(OTHER_ID)
    };
    assert_eq!(
        code(world.desk.receive_grant(sign(new, &owner())).await),
        "ok"
    );
    // It does not go back.
    let earlier = world
        .desk
        .receive_revocation(revocation(B256::ZERO, NOW - 9))
        .await;
    assert_eq!(earlier.unwrap().revoked_at().unix(), NOW);
}

#[tokio::test]
async fn a_revocation_of_somebody_else_changes_nothing() {
    let world = granted().await;
    let message = revocation(GRANT_ID, NOW).message().clone();
    let foreign = delegation_fence::Revocation {
        account: NOBODY,
        ..message.clone()
    };
    let skewed = |revoked_at| delegation_fence::Revocation {
        revoked_at,
        ..message.clone()
    };
    for (signed, refused_by) in [
        (
            sign(message.clone(), &delegate()),
            "revocation_not_by_account",
        ),
        (sign(foreign, &owner()), "account_not_owned"),
        (
            in_domain(Domain::new(BASE, B256::ZERO), message.clone()),
            "domain_salt_mismatch",
        ),
        (sign(skewed(NOW - 301), &owner()), "revocation_time_skewed"),
        (sign(skewed(NOW + 301), &owner()), "revocation_time_skewed"),
    ] {
        let received = world.desk.receive_revocation(signed).await;
        assert_eq!(code(received), refused_by);
    }
    assert_eq!(state(&world.desk, GRANT_ID).await, "active");
    let edge = sign(skewed(NOW - 300), &owner());
    assert_eq!(code(world.desk.receive_revocation(edge).await), "ok");
}

#[tokio::test]
async fn a_limit_only_tightens() {
    let world = granted().await;
    for (cap, counts) in [
        (9_000_000, 9_000_000),
        (10_000_000, 9_000_000),
        (8_000_000, 8_000_000),
    ] {
        let (tightest, effective) = world.desk.receive_limit(limit(cap)).await.unwrap();
        assert_eq!(tightest.per_swap_cap, Some(U256::from(counts)));
        assert_eq!(effective, U256::from(counts));
    }
    assert_eq!(world.log(GRANT_ID).await, ["granted", "limited", "limited"]);
    let submitted = world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await;
    assert_eq!(code(submitted), "fence_approve_cap");
    let unknown = delegation_fence::Limit {
        grant_id: OTHER_ID,
        ..limit(7).message().clone()
    };
    let received = world.desk.receive_limit(sign(unknown, &owner())).await;
    assert_eq!(code(received), "grant_not_found");
    let foreign = sign(limit(7).message().clone(), &delegate());
    assert_eq!(
        code(world.desk.receive_limit(foreign).await),
        "limit_not_by_account"
    );
}

/// Attack 34: what is not read back is not present, and nothing is granted or sent by it;
/// revocations are taken.
#[tokio::test]
async fn without_the_pinned_policy_only_revocations_are_taken() {
    let world = granted().await;
    assert!(world.desk.status().await.is_present());
    // A newer policy was installed by another server.
    let newer = world.another(2).await;
    assert!(newer.status().await.is_present());
    assert!(!world.desk.status().await.is_present());
    assert_eq!(code(world.desk.policy().await), "fence_name_mismatch");
    assert_eq!(newer.policy().await.unwrap(), fence_policy(2));
    let received = world
        .desk
        .receive_grant(sign(grant(OTHER_ID), &owner()))
        .await;
    assert_eq!(code(received), "fence_name_mismatch");
    let submitted = world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await;
    assert_eq!(code(submitted), "fence_name_mismatch");
    // Both servers say it.
    assert_eq!(state(&world.desk, GRANT_ID).await, "superseded");
    assert_eq!(state(&newer, GRANT_ID).await, "superseded");
    let submitted = newer.submit(&ordered(AMOUNT, GRANT_ID)).await;
    assert_eq!(code(submitted), "grant_superseded");
    assert_eq!(
        code(
            world
                .desk
                .receive_revocation(revocation(GRANT_ID, NOW))
                .await
        ),
        "ok"
    );
    assert_eq!(state(&newer, GRANT_ID).await, "revoked");
    // It does not come back: its grants would.
    let back = world
        .store()
        .install(fence_policy(1), crate::stage::at(NOW))
        .await;
    assert!(
        matches!(back, Err(StoreError::PolicyNotNewer { .. })),
        "{back:?}"
    );
}

#[tokio::test]
async fn a_plan_is_accepted_once() {
    let world = granted().await;
    let plan = ordered(AMOUNT, GRANT_ID);
    world.desk.try_out(&plan).await.unwrap();
    assert_eq!(world.log(GRANT_ID).await, ["granted"]);
    let first = world.desk.submit(&plan).await.unwrap();
    assert!(!first.again && first.kept.is_open);
    // The identical order again, whatever holds now (attack 45).
    world.clock.pass(DAY);
    let again = world.another(1).await.submit(&plan).await.unwrap();
    assert!(again.again);
    assert_eq!(again.kept, first.kept);
    assert_eq!(
        code(world.desk.try_out(&plan).await),
        "order_deadline_passed"
    );
    assert_eq!(world.log(GRANT_ID).await, ["granted", "admitted"]);
}

/// The delegate's key alone cannot order a plan far below the market: `dry_run`, submission and the
/// first step ask the prices.
#[tokio::test]
async fn a_plan_is_held_against_the_prices_until_it_has_begun() {
    let world = granted().await;
    let plan = ordered(AMOUNT, GRANT_ID);
    let minimum = plan.order.message().min_amount_out;
    // The price of a whole output token, in millionths, at which the minimum is exactly worth its
    // input.
    let fair = U256::from(AMOUNT) * U256::from(10).pow(U256::from(18)) / minimum;
    let [near, far] = [99, 97].map(|percent| -> &'static str {
        // The cheaper the output, the more of it is a fair minimum.
        let micro = u64::try_from(fair * U256::from(percent) / U256::from(100)).unwrap();
        format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000).leak()
    });
    let market = Market::new(far);
    let prices: Arc<dyn Prices> = Arc::new(market.clone());
    let store = world.store();
    let desk = priced_desk(store, 1, &world.clock, &world.custody, Some(prices)).await;
    for tried in [
        code(desk.try_out(&plan).await),
        code(desk.submit(&plan).await),
    ] {
        assert_eq!(tried, "fence_price");
    }
    market.change(None);
    assert_eq!(code(desk.try_out(&plan).await), "prices_unavailable");
    assert_eq!(code(desk.submit(&plan).await), "prices_unavailable");
    market.change(Some(near));
    desk.try_out(&plan).await.unwrap();
    let kept = desk.submit(&plan).await.unwrap().kept;
    // Between the acceptance and the first step the price may move; after it nothing is held up.
    for (price, begin) in [
        (Some(near), "ok"),
        (Some(far), "fence_price"),
        (None, "prices_unavailable"),
    ] {
        market.change(price);
        let now = world.desk.now().await;
        let phases = [Phase::Begin, Phase::GoOn];
        for (phase, expected) in phases.into_iter().zip([begin, "ok"]) {
            let confirmed = desk.confirm_again(&kept, phase, now).await;
            assert_eq!(code(confirmed), expected, "{price:?} {phase:?}");
        }
    }
    assert_eq!(
        world.log(GRANT_ID).await,
        ["granted", "refused fence_price", "admitted"]
    );
}

#[tokio::test]
async fn a_used_plan_is_refused_before_the_plan_in_flight() {
    let world = granted().await;
    let plan = ordered(AMOUNT, GRANT_ID);
    world.desk.submit(&plan).await.unwrap();
    assert_eq!(code(world.desk.try_out(&plan).await), "order_already_used");
    // Another order over it, under the same grant and under another one.
    let mut other = plan.clone();
    let mut message = other.order.message().clone();
    message.deadline -= 1;
    other.order = sign(message, &delegate());
    assert_eq!(code(world.desk.submit(&other).await), "order_already_used");
    let second = sign(grant(OTHER_ID), &owner());
    world.desk.receive_grant(second).await.unwrap();
    let moved = ordered(AMOUNT, OTHER_ID);
    assert_eq!(code(world.desk.submit(&moved).await), "order_already_used");
    let next = ordered(AMOUNT + 1, OTHER_ID);
    assert_eq!(code(world.desk.submit(&next).await), "plan_in_flight");
    assert_eq!(
        world.log(OTHER_ID).await,
        [
            "granted",
            "refused order_already_used",
            "refused plan_in_flight"
        ]
    );
}

/// Attack 20: of any number of plans that come at once to several servers one is accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_plans_that_come_at_once_one_is_accepted() {
    let world = granted().await;
    let servers = [
        Arc::new(world.another(1).await),
        Arc::new(world.another(1).await),
    ];
    let mut tasks = Vec::new();
    for number in 0..16 {
        let server = Arc::clone(&servers[number % 2]);
        let amount = AMOUNT + u64::try_from(number / 4).unwrap();
        tasks.push(tokio::spawn(async move {
            let answer = server.submit(&ordered(amount, GRANT_ID)).await;
            (amount, answer.map(|submitted| submitted.again))
        }));
    }
    let mut accepted = Vec::new();
    for task in tasks {
        let (amount, answer) = task.await.unwrap();
        match answer {
            Ok(again) => accepted.push((amount, again)),
            Err(error) => assert_eq!(error.code(), "plan_in_flight"),
        }
    }
    let winner = accepted.iter().find(|(_, again)| !again).unwrap().0;
    assert_eq!(accepted.len(), 4, "{accepted:?}");
    assert!(accepted.iter().all(|(amount, _)| *amount == winner));
    assert_eq!(accepted.iter().filter(|(_, again)| !again).count(), 1);
    let admitted = world.log(GRANT_ID).await;
    assert_eq!(
        admitted.iter().filter(|event| *event == "admitted").count(),
        1
    );
}

/// Attacks 11, 21, 23, 24, 44 and 46 as they come in a submission.
#[tokio::test]
async fn a_submission_that_does_not_hold_has_the_name_of_the_rule() {
    let world = granted().await;
    let usual = ordered(AMOUNT, GRANT_ID);
    let with = |edit: fn(&mut fence_server::Ordered)| {
        let mut changed = usual.clone();
        edit(&mut changed);
        changed
    };
    let by = |signer: u8| {
        let mut changed = usual.clone();
        changed.order = sign(usual.order.message().clone(), &key(signer));
        changed
    };
    for (submitted, refused_by) in [
        (by(0x51), "order_not_by_delegate"),
        (with(|it| it.account = NOBODY), "grant_not_found"),
        (with(|it| it.grant_id = OTHER_ID), "grant_not_found"),
        (
            with(|it| it.request = it.request.replace("1000000007", "1000000008")),
            "envelope_unverified",
        ),
        (
            with(|it| it.envelope = it.envelope.replace("\"steps\"", "\"steps\":[],\"steps\"")),
            "envelope_unverified",
        ),
        (
            with(|it| it.envelope = "[]".to_owned()),
            "envelope_unverified",
        ),
        (
            with(|it| it.envelope = plan(AMOUNT + 1).1),
            "envelope_unverified",
        ),
        (
            with(|it| {
                let (request, envelope) = plan(AMOUNT + 1);
                (it.request, it.envelope) = (request, envelope);
            }),
            "order_mismatch",
        ),
    ] {
        assert_eq!(code(world.desk.try_out(&submitted).await), refused_by);
        assert_eq!(code(world.desk.submit(&submitted).await), refused_by);
    }
    // What the delegate's signature is not on is not in the log.
    assert_eq!(
        world.log(GRANT_ID).await,
        [
            "granted",
            "refused envelope_unverified",
            "refused order_mismatch"
        ]
    );
}

#[tokio::test]
async fn custody_is_asked_whose_an_account_is() {
    let world = granted().await;
    *world.custody.owner.lock().unwrap() = STRANGER;
    assert_eq!(
        code(world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await),
        "account_not_owned"
    );
    world.custody.is_away.store(true, Ordering::SeqCst);
    assert_eq!(
        code(world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await),
        "custody_unavailable"
    );
    let received = world
        .desk
        .receive_grant(sign(grant(OTHER_ID), &owner()))
        .await;
    assert_eq!(code(received), "custody_unavailable");
    // Who signed the grant ends it, whatever custody says.
    assert_eq!(
        code(
            world
                .desk
                .receive_revocation(revocation(GRANT_ID, NOW))
                .await
        ),
        "ok"
    );
}

#[tokio::test]
async fn a_plan_is_confirmed_again_before_each_step() {
    let world = granted().await;
    let plan = ordered(AMOUNT, GRANT_ID);
    let kept = world.desk.submit(&plan).await.unwrap().kept;
    let digest = kept.admitted.payload_digest;
    let now = now();
    world
        .desk
        .confirm_again(&kept, Phase::GoOn, now)
        .await
        .unwrap();
    world
        .desk
        .receive_revocation(revocation(GRANT_ID, NOW))
        .await
        .unwrap();
    let kept = world.desk.submission(digest).await.unwrap();
    let refused = world.desk.confirm_again(&kept, Phase::GoOn, now).await;
    assert_eq!(code(refused), "grant_revoked");
    assert_eq!(
        code(world.desk.submission(B256::ZERO).await),
        "fence_store_unavailable"
    );
}

#[tokio::test]
async fn who_sends_is_woken() {
    let world = granted().await;
    world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await.unwrap();
    // Also when it was busy while the plan was accepted.
    world.desk.accepted().await;
}

#[tokio::test]
async fn the_service_ends_what_it_was_permitted() {
    let world = granted().await;
    world
        .desk
        .revoke_by_service(ACCOUNT, GRANT_ID)
        .await
        .unwrap();
    assert_eq!(state(&world.desk, GRANT_ID).await, "revoked");
    assert_eq!(world.log(GRANT_ID).await, ["granted", "revoked"]);
}

#[tokio::test]
async fn a_log_is_read_in_pages() {
    let world = granted().await;
    let unknown = world.desk.log(Address::ZERO, GRANT_ID, 0).await;
    assert_eq!(code(unknown), "grant_not_found");
    assert_eq!(
        world.desk.log(ACCOUNT, GRANT_ID, 99).await.unwrap(),
        (vec![], None)
    );
    let (request, envelope) = plan(AMOUNT);
    let other = ordered(AMOUNT + 1, GRANT_ID);
    let store = world.store();
    for number in 0..u64::from(fence_server::LOG_PAGE) {
        let entry = delegation_fence::Entry {
            payload_digest: Some(B256::from(U256::from(number))),
            refused_by: Some(delegation_fence::Rule::PlanExpired),
            ..delegation_fence::Entry::new(
                crate::stage::at(NOW),
                delegation_fence::LogEvent::Refused,
            )
        };
        store
            .note_refusal(ACCOUNT, GRANT_ID, entry, u32::MAX)
            .await
            .unwrap();
    }
    let (first, next) = world.desk.log(ACCOUNT, GRANT_ID, 0).await.unwrap();
    let (second, end) = world
        .desk
        .log(ACCOUNT, GRANT_ID, next.unwrap())
        .await
        .unwrap();
    assert_eq!((first.len(), second.len(), end), (200, 1, None));
    assert_eq!(world.log(GRANT_ID).await.len(), 201);
    // As many of a day as its delegate can have: one more is not told.
    assert_eq!(
        code(world.desk.submit(&ordered_late(&request, &envelope)).await),
        "order_mismatch"
    );
    assert_eq!(world.log(GRANT_ID).await.len(), 201);
    assert_eq!(code(world.desk.submit(&other).await), "ok");
    assert_eq!(
        look(&*store).await.in_flight.unwrap().0,
        other.order.message().payload_digest
    );
}

/// A plan under an order over another one.
fn ordered_late(request: &str, envelope: &str) -> fence_server::Ordered {
    fence_server::Ordered {
        account: ACCOUNT,
        grant_id: GRANT_ID,
        request: request.to_owned(),
        envelope: envelope.to_owned(),
        order: order(&plan(AMOUNT + 2).1, GRANT_ID),
    }
}
