//! A whole order, and the obstacles that stop one.

use std::sync::atomic::Ordering;
use std::time::Duration;

use alloy_primitives::U256;
use calldata_checks::StepKind;
use delegation_fence::{ClearObstacle, Event, Rule, State, Transaction};
use serde_json::json;
use test_support::{Fuse, pass};

use crate::stage::{AMOUNT, World, edited_policy, reverts, wallet};

#[tokio::test(start_paused = true)]
async fn a_whole_order_is_sealed_in_three_steps() {
    let world = World::new();
    let plan = world.accept();
    let _process = world.process(Fuse::eternal()).await;
    assert_eq!(world.ended(plan).await, State::Done);

    let report = world.report(plan);
    let blocks = report.steps.map(|step| step.unwrap().1.number);
    assert!(blocks[0] < blocks[1] && blocks[1] < blocks[2], "{blocks:?}");
    assert_eq!(report.landed, Some((world.weth(), true)));
    assert!(world.weth() > U256::ZERO);
    assert!(report.allowance_cleared());
    assert_eq!((world.allowance(), world.swaps()), (U256::ZERO, 1));
    let sent = world.chain.transactions();
    assert_eq!(sent.len(), 3);
    assert!(sent.iter().all(|sent| sent.from == wallet().address()));
    // A second turn does nothing.
    for _ in 0..20 {
        world.block().await;
    }
    assert_eq!(world.chain.transactions().len(), 3);
}

/// The progress of a plan at an accident.
const MOMENTS: [(&str, StepKind); 3] = [
    ("before the first", StepKind::ApproveReset),
    ("before the second", StepKind::Approve),
    ("before the third", StepKind::Call),
];

/// Drives a plan until this step would be ordered next, runs the accident, and drives the plan to
/// its end.
async fn interrupted(
    at: StepKind,
    happens: impl Fn(&World),
) -> (World, State, alloy_primitives::B256) {
    let world = World::new();
    let plan = world.accept();
    let fuse = Fuse::eternal();
    let before = StepKind::ALL
        .into_iter()
        .take_while(|kind| *kind < at)
        .last();
    let process = world.process(fuse).await;
    match before {
        None => happens(&world),
        Some(before) => {
            // The step before is ordered and is in no block yet.
            let ordered = delegation_fence::Event::Ordered(Transaction::Step(before));
            world
                .until("the step before", |world| {
                    world.store.kept(plan).unwrap().events.contains(&ordered)
                })
                .await;
            world
                .until("its block", |world| {
                    let steps = world.report(plan).steps;
                    steps[before as usize].is_some() || !world.chain.waiting().is_empty()
                })
                .await;
            happens(&world);
        }
    }
    let state = world.ended(plan).await;
    drop(process);
    (world, state, plan)
}

#[tokio::test(start_paused = true)]
async fn a_revocation_between_any_two_steps_halts_and_clears() {
    for (moment, at) in MOMENTS {
        let (world, state, plan) = interrupted(at, World::revoke).await;
        let report = world.report(plan);
        assert_eq!(state, State::HaltedClean, "{moment}");
        assert_eq!(report.reason, Some("grant_revoked"), "{moment}");
        assert!(report.allowance_cleared(), "{moment}: {report:?}");
        assert_eq!(
            (world.allowance(), world.swaps()),
            (U256::ZERO, 0),
            "{moment}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn each_confirmation_that_fails_halts_under_its_name() {
    type Happens = fn(&World);
    let cases: [(Rule, Happens); 4] = [
        (Rule::FenceUnreadable, |world| world.store.set_policy(None)),
        (Rule::FenceDigestMismatch, |world| {
            let other = edited_policy(|document| document["environment"] = "testnet".into());
            world.store.set_policy(Some(other));
        }),
        (Rule::FenceNameMismatch, |world| {
            let other = edited_policy(|document| document["version"] = 7.into());
            world.store.set_policy(Some(other));
        }),
        (Rule::AccountNotOwned, |world| {
            *world.route.owner.lock().unwrap() = Some(wallet().address());
        }),
    ];
    for (rule, happens) in cases {
        for (moment, at) in MOMENTS {
            let (world, state, plan) = interrupted(at, happens).await;
            let report = world.report(plan);
            assert_eq!(state, State::HaltedClean, "{rule} {moment}");
            assert_eq!(report.reason, Some(rule.as_str()), "{moment}");
            assert!(report.allowance_cleared(), "{rule} {moment}");
            assert_eq!(
                (world.allowance(), world.swaps()),
                (U256::ZERO, 0),
                "{rule} {moment}"
            );
        }
    }
}

/// For two minutes no node answers: the plan is over when one answers again.
#[tokio::test(start_paused = true)]
async fn a_plan_that_is_over_halts_and_is_cleared() {
    for (moment, at) in MOMENTS {
        let (world, state, plan) = interrupted(at, |world| world.chain.advance_time(120)).await;
        let report = world.report(plan);
        assert_eq!(state, State::HaltedClean, "{moment}");
        assert!(
            matches!(
                report.reason,
                Some("plan_expired" | "order_deadline_passed")
            ),
            "{moment}: {report:?}"
        );
        assert!(report.allowance_cleared(), "{moment}");
        assert_eq!(
            (world.allowance(), world.swaps()),
            (U256::ZERO, 0),
            "{moment}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_node_nothing_goes_out_and_the_halt_is_written() {
    let world = World::new();
    let plan = world.accept();
    world
        .node
        .up
        .store(false, std::sync::atomic::Ordering::SeqCst);
    let _process = world.process(Fuse::eternal()).await;
    pass(Duration::from_secs(100)).await;
    // The machine's clock alone decides.
    assert_eq!(world.state(plan), State::Halting);
    world
        .node
        .up
        .store(true, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(world.ended(plan).await, State::HaltedClean);
    assert!(world.chain.transactions().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_allowance_that_the_service_cannot_clear_is_reported_with_the_bytes_that_can() {
    let world = World::new();
    *world.route.clears.lock().unwrap() = Err(ClearObstacle::Paused);
    let plan = world.accept();
    let _process = world.process(Fuse::eternal()).await;
    world
        .until("the approval", |world| {
            world.allowance() == U256::from(AMOUNT)
        })
        .await;
    world.revoke();
    world
        .until("the report", |world| {
            world.state(plan) == State::HaltedDirty
        })
        .await;
    let report = world.report(plan);
    assert!(!report.allowance_cleared());
    assert_eq!(report.allowance_read_back.unwrap().0, U256::from(AMOUNT));
    let clear = report.clear_transaction.unwrap();
    assert_eq!((clear.to, clear.value), (crate::sample::USDC, U256::ZERO));
    // After the obstacle's end, the service clears by itself.
    *world.route.clears.lock().unwrap() = Ok(());
    assert_eq!(world.ended(plan).await, State::HaltedClean);
    assert_eq!(world.allowance(), U256::ZERO);
    assert!(world.report(plan).allowance_cleared());
}

/// A plan whose call reverts: the venue has no rate for it.
fn accept_reverting(world: &World) -> alloy_primitives::B256 {
    world.accept_edited(|draft| {
        let leg = &mut draft.call._swapData[1];
        leg.callData = [&[0x5f, 0x3b, 0xd1, 0xc8][..], &[0; 32 * 8]]
            .concat()
            .into();
    })
}

/// A plan that would revert costs no approval.
#[tokio::test(start_paused = true)]
async fn a_plan_whose_call_would_revert_does_not_begin() {
    let world = World::new();
    let plan = accept_reverting(&world);
    let _process = world.process(Fuse::eternal()).await;
    assert_eq!(world.ended(plan).await, State::HaltedClean);
    let report = world.report(plan);
    assert_eq!(report.reason, Some("step_would_revert"));
    assert_eq!(report.halted_at, Some(StepKind::ApproveReset));
    assert!(world.chain.transactions().is_empty());
}

/// Where no node simulates, each step is still estimated before it is signed.
#[tokio::test(start_paused = true)]
async fn a_call_that_would_revert_is_not_signed_and_the_allowance_is_cleared() {
    let world = World::new();
    world.instead(|request| {
        let unknown = json!({ "error": { "code": -32601, "message": "no such method" } });
        (request["method"] == "eth_simulateV1").then_some(unknown)
    });
    let plan = accept_reverting(&world);
    let _process = world.process(Fuse::eternal()).await;
    assert_eq!(world.ended(plan).await, State::HaltedClean);
    let report = world.report(plan);
    assert_eq!(report.reason, Some("step_would_revert"));
    assert_eq!(report.halted_at, Some(StepKind::Call));
    assert_eq!((world.allowance(), world.swaps()), (U256::ZERO, 0));
}

/// The obstacle is on the chain: the token is paused, or has barred the account. The report says so
/// once, the driver looks again, and clears the allowance after the obstacle's end.
#[tokio::test(start_paused = true)]
async fn a_clearing_that_reverts_is_reported_once_and_tried_again() {
    let world = World::new();
    let plan = world.accept();
    let _process = world.process(Fuse::eternal()).await;
    world
        .until("the approval", |world| {
            world.allowance() == U256::from(AMOUNT)
        })
        .await;
    world.instead(|request| {
        let is_estimate = request["method"] == "eth_estimateGas";
        let data = request["params"][0]["data"].as_str().unwrap_or_default();
        let clears = data.starts_with("0x095ea7b3") && data.ends_with(&"0".repeat(64));
        (is_estimate && clears).then(reverts)
    });
    world.revoke();
    world
        .until("the report", |world| {
            world.state(plan) == State::HaltedDirty
        })
        .await;
    let recorded = |world: &World| {
        let events = world.store.kept(plan).unwrap().events;
        let obstacles = events
            .iter()
            .filter(|event| matches!(event, Event::ClearImpossible(_)))
            .count();
        (obstacles, events.len())
    };
    let before = recorded(&world);
    assert_eq!(before.0, 1);
    for _ in 0..600 {
        world.block().await;
    }
    assert_eq!(recorded(&world), before);
    assert_eq!(world.state(plan), State::HaltedDirty);

    *world.node.instead.lock().unwrap() = None;
    assert_eq!(world.ended(plan).await, State::HaltedClean);
    assert_eq!(world.allowance(), U256::ZERO);
}

/// The account's key is gone while its approval is on its way: the driver follows signed
/// transactions to their end, and reports the remaining allowance.
async fn left_behind(lose: impl Fn(&mut World)) {
    let mut world = World::new();
    let plan = world.accept();
    let process = world.process(Fuse::eternal()).await;
    let approve = Transaction::Step(StepKind::Approve);
    world
        .until("the approval", |world| {
            let events = world.store.kept(plan).unwrap().events;
            events.contains(&Event::Ordered(approve)) && !world.chain.waiting().is_empty()
        })
        .await;
    process.fuse.blow();
    drop(process);
    lose(&mut world);
    pass(Duration::from_secs(15)).await;
    let _process = world.process(Fuse::eternal()).await;
    world
        .until("the report", |world| {
            world.state(plan) == State::HaltedDirty
        })
        .await;
    let report = world.report(plan);
    assert_eq!(report.allowance_read_back.unwrap().0, U256::from(AMOUNT));
    assert!(report.clear_transaction.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_allowance_is_reported_when_the_key_is_gone() {
    left_behind(|world| world.route.keyless.store(true, Ordering::SeqCst)).await;
}

#[tokio::test(start_paused = true)]
async fn an_allowance_is_reported_when_the_account_has_no_route() {
    left_behind(|world| world.routed = false).await;
}

/// The folder of the keys is not mounted when the process starts, and comes later.
#[tokio::test(start_paused = true)]
async fn a_plan_goes_on_when_its_key_comes_back() {
    let world = World::new();
    let plan = world.accept();
    let process = world.process(Fuse::eternal()).await;
    let approve = Transaction::Step(StepKind::Approve);
    world
        .until("the approval", |world| {
            let events = world.store.kept(plan).unwrap().events;
            events.contains(&Event::Ordered(approve)) && !world.chain.waiting().is_empty()
        })
        .await;
    process.fuse.blow();
    drop(process);
    world.route.keyless.store(true, Ordering::SeqCst);
    let _process = world.process(Fuse::eternal()).await;
    pass(Duration::from_secs(3)).await;
    world.route.keyless.store(false, Ordering::SeqCst);
    assert_eq!(world.ended(plan).await, State::Done);
}
