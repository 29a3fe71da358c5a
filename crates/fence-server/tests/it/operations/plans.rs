//! A server's operations on plans that a delegate orders.

use std::sync::Arc;

use alloy_primitives::{B256, U256};
use delegation_fence::Phase;
use fence_server::Prices;

use super::{AMOUNT, OTHER_ID, granted};
use crate::sample::NOW;
use crate::stage::{
    DAY, GRANT_ID, NOBODY, delegate, grant, key, now, owner, plan, revocation, sign,
};
use crate::world::{Market, code, ordered, priced_desk};

#[tokio::test]
async fn a_plan_is_accepted_once() {
    let world = granted().await;
    let plan = ordered(AMOUNT, GRANT_ID);
    world.desk.try_out(&plan).await.unwrap();
    assert_eq!(world.log(GRANT_ID).await, ["granted"]);
    let first = world.desk.submit(&plan).await.unwrap();
    assert!(!first.again && first.kept.is_open);
    // The identical order is accepted again, whatever holds now (attack 45).
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
async fn a_plan_is_compared_with_the_prices_until_it_has_begun() {
    let world = granted().await;
    let plan = ordered(AMOUNT, GRANT_ID);
    let minimum = plan.order.message().min_amount_out;
    // This is the price of a whole output token, in millionths, at which the minimum is exactly
    // worth its input.
    let fair = U256::from(AMOUNT) * U256::from(10).pow(U256::from(18)) / minimum;
    let [near, far] = [99, 97].map(|percent| -> &'static str {
        // The cheaper the output, the higher is a fair minimum.
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
    assert_eq!(code(desk.try_out(&plan).await), "worth_unknown");
    assert_eq!(code(desk.submit(&plan).await), "worth_unknown");
    market.change(Some(near));
    desk.try_out(&plan).await.unwrap();
    let kept = desk.submit(&plan).await.unwrap().kept;
    // The price may move between the acceptance and the first step; after that step nothing is held
    // up.
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
        [
            "granted",
            "refused fence_price",
            "refused worth_unknown",
            "admitted"
        ]
    );
}

#[tokio::test]
async fn a_used_plan_is_refused_before_the_plan_in_flight() {
    let world = granted().await;
    let plan = ordered(AMOUNT, GRANT_ID);
    world.desk.submit(&plan).await.unwrap();
    assert_eq!(code(world.desk.try_out(&plan).await), "order_already_used");
    // Another order over the plan comes, first under the same grant, and then under another one.
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

/// Attack 20: of concurrent plans at several servers, one is accepted.
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

/// Attacks 11, 21, 23, 24, 44 and 46 in a submission.
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
    // A submission without the delegate's signature is not in the log.
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
async fn an_accepted_plan_wakes_the_sender() {
    let world = granted().await;
    world.desk.submit(&ordered(AMOUNT, GRANT_ID)).await.unwrap();
    // The same holds when the account was busy while the plan was accepted.
    world.desk.accepted().await;
}
