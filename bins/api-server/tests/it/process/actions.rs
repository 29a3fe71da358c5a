//! Kills the server at any moment of a sub-wallet's action. After a restart on the same files, the
//! server continues without a request. The action takes effect once and as a whole, it is charged
//! once, and the same payment gets the one answer.
//!
//! The variable `KILL_AT_EVERY_REQUEST` makes the tests kill at each request of an action. Without
//! it, they kill only at the important ones.

pub(crate) mod desk;

use dev_chain::{BadAnswer, InjectedFault};

use self::desk::{Act, Desk, invest, swap, withdraw};
use crate::process::buyer::Payment;
use crate::process::eventually;
use crate::process::server::Server;
use crate::process::tripwire::{At, Moment};
use crate::process::world::World;

pub(crate) const SEND: &str = "eth_sendRawTransaction";
const RECEIPT: &str = "eth_getTransactionReceipt";
pub(crate) const VERIFY: &str = "facilitator/verify";
const SETTLE: &str = "facilitator/settle";
const BOTH: [Moment; 2] = [Moment::Before, Moment::After];

/// Makes the server die at the first request with this name.
fn strike_at(desk: &Desk, server: &Server, (name, moment): (&'static str, Moment)) {
    let wire = &desk.world.wire;
    wire.arm(At::Name(name), moment, server.killer());
}

/// Buys an action on a server that may die during it. Returns the next server, which has completed
/// the action, and whether the first one died.
async fn strike(desk: &Desk, server: Server, act: &Act, at: At, moment: Moment) -> (Server, bool) {
    let act = &desk.funded(&server, act).await;
    let before = desk.standing(act);
    let payment = desk.pay(&server, act).await;
    desk.world.wire.arm(at, moment, server.killer());
    let answer = desk.send(&server, act, &payment).await;
    // A request in the background may strike after the answer.
    let struck = !desk.world.wire.disarm() && answer.is_none();
    assert!(struck || answer.is_some(), "{at:?} {moment:?}");
    server.killer().kill();
    desk.assert_paid_only_for_effect(act, &before);
    let server = recover(desk, act, &payment).await;
    let again = desk.answer(&server, act, &payment).await;
    if let Some(answer) = answer {
        assert_eq!(again.text, answer.text, "{at:?} {moment:?}");
    }
    desk.assert_done_once(act, &before, &again);
    (server, struck)
}

/// Starts the next server. It completes and charges an action that an earlier server began, without
/// a request for it. It does not charge an action that was not begun.
async fn recover(desk: &Desk, act: &Act, payment: &Payment) -> Server {
    let known = desk.intent(payment).await;
    let server = desk.start().await;
    let Some(known) = known else {
        assert!(!desk.world.is_settled(payment));
        return server;
    };
    let shown = desk.ended(&server, known.id.as_str()).await;
    assert_eq!(shown["status"], "completed", "{shown}\n{}", server.log());
    eventually("the charge", async || {
        desk.world.is_settled(payment).then_some(())
    })
    .await;
    let again = desk.answer(&server, act, payment).await;
    assert_eq!(again.body()["data"]["intent_id"], known.id.as_str());
    assert_eq!(again.body()["data"]["steps"], shown["steps"]);
    server
}

/// Kills before and after each request that `at` counts, until an action makes no further one.
/// Returns the number of the requests.
async fn strike_each(
    desk: &Desk,
    mut server: Server,
    act: &Act,
    at: impl Fn(u64) -> At,
) -> (Server, u64) {
    let mut number = 1;
    loop {
        for moment in BOTH {
            let struck;
            (server, struck) = strike(desk, server, act, at(number), moment).await;
            if !struck {
                return (server, number - 1);
            }
        }
        number += 1;
    }
}

/// Kills at each transaction that is sent, and at the other requests before and after which a write
/// becomes durable.
async fn strike_where_it_matters(
    desk: Desk,
    mut server: Server,
    act: Act,
    least: u64,
    others: &[(&'static str, Moment)],
) {
    let sends;
    (server, sends) = strike_each(&desk, server, &act, |number| At::Nth(SEND, number)).await;
    assert!(sends >= least, "{sends} transactions were struck");
    for &(name, moment) in others {
        let struck;
        (server, struck) = strike(&desk, server, &act, At::Name(name), moment).await;
        assert!(struck, "no crash at {name}");
    }
    if std::env::var_os("KILL_AT_EVERY_REQUEST").is_some() {
        (server, _) = strike_each(&desk, server, &act, At::Number).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deposit_interrupted_anywhere_is_done_once() {
    let (desk, server) = Desk::open().await;
    desk.earn_gas(&server).await;
    let others = [
        // These moments are before and after the server writes the intent.
        ("eth_simulateV1", Moment::Before),
        ("eth_estimateGas", Moment::Before),
        (RECEIPT, Moment::After),
        (VERIFY, Moment::After),
        // The first moment is between the last block and the settlement, the second between the
        // settlement and the answer.
        (SETTLE, Moment::Before),
        (SETTLE, Moment::After),
    ];
    // The four transactions: coins for gas, the principal, the approval, the deposit.
    strike_where_it_matters(desk, server, invest(), 4, &others).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_swap_interrupted_anywhere_is_done_once() {
    let (desk, server) = Desk::open().await;
    desk.endow();
    let others = BOTH.map(|moment| (SETTLE, moment));
    // The three transactions: the reset, the approval, the swap.
    strike_where_it_matters(desk, server, swap(), 3, &others).await;
}

/// The server that recovers dies as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_recovery_is_continued_by_the_next_server() {
    let (desk, mut server) = Desk::open().await;
    desk.endow();
    let act = withdraw();
    for (first, second) in [
        ((SEND, Moment::Before), (SEND, Moment::After)),
        ((SEND, Moment::After), (RECEIPT, Moment::Before)),
        ((SEND, Moment::After), (SETTLE, Moment::Before)),
        ((SEND, Moment::After), (VERIFY, Moment::After)),
        ((SETTLE, Moment::Before), (SETTLE, Moment::After)),
    ] {
        let before = desk.standing(&act);
        let payment = desk.pay(&server, &act).await;
        strike_at(&desk, &server, first);
        let answer = desk.send(&server, &act, &payment).await;
        assert!(answer.is_none(), "{first:?}: {answer:?}");
        let recovering = desk.spawn();
        strike_at(&desk, &recovering, second);
        recovering.ended().await;
        assert!(!desk.world.wire.disarm(), "no crash at {second:?}");
        server = recover(&desk, &act, &payment).await;
        let again = desk.answer(&server, &act, &payment).await;
        desk.assert_done_once(&act, &before, &again);
    }
    server.stop().await;
}

/// The server has answered that the action had no effect. No restart repeats it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_without_effect_is_not_repeated() {
    let (desk, server) = Desk::open().await;
    server.stop().await;
    desk.give_usdg();
    let act = withdraw();
    let before = desk.standing(&act);
    let server = desk.start_without_gas().await;
    let refused = desk.pay(&server, &act).await;
    let answer = desk.send(&server, &act, &refused).await.unwrap();
    assert_eq!(answer.status, 409, "{}", answer.text);
    assert_eq!(answer.error("reason"), "coin_price_unavailable");
    answer.assert_uncharged();

    // Another action, made later, is executed, interrupted before its charge, and completed.
    desk.give_coins();
    let other = desk.pay(&server, &act).await;
    strike_at(&desk, &server, (SETTLE, Moment::Before));
    assert!(desk.send(&server, &act, &other).await.is_none());
    let server = recover(&desk, &act, &other).await;
    let again = desk.answer(&server, &act, &other).await;
    desk.assert_done_once(&act, &before, &again);
    assert!(!desk.world.is_settled(&refused), "{}", server.log());
    let id = answer.error("intent_id");
    assert!(
        !server.log().contains(id.as_str().unwrap()),
        "{}",
        server.log()
    );

    // The owner may want the action again, with the same payment.
    let before = desk.standing(&act);
    let again = desk.answer(&server, &act, &refused).await;
    desk.assert_done_once(&act, &before, &again);
    server.stop().await;
}

/// An executed action is charged even when the first try cannot settle it and its caller never
/// returns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_charge_that_fails_at_first_is_tried_again() {
    let (desk, server) = Desk::open().await;
    let act = withdraw();
    desk.endow();
    let before = desk.standing(&act);
    let payment = desk.pay(&server, &act).await;
    strike_at(&desk, &server, (RECEIPT, Moment::After));
    assert!(desk.send(&server, &act, &payment).await.is_none());
    let reverted = BadAnswer::Error {
        code: 3,
        message: "execution reverted".to_owned(),
    };
    // The facilitator asks the chain whether the payment would settle.
    let chain = &desk.world.chain;
    chain.inject(InjectedFault::new("eth_estimateGas", reverted));
    let server = recover(&desk, &act, &payment).await;
    let again = desk.answer(&server, &act, &payment).await;
    desk.assert_done_once(&act, &before, &again);
    server.stop().await;
}

/// The server keeps running, and the caller of the failed charge never returns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_charge_that_fails_is_tried_again_while_the_server_runs() {
    let world = World::of_wallets().await;
    let (desk, server) = Desk::open_in(world, "storage.lease_seconds = 3").await;
    let act = withdraw();
    desk.endow();
    let before = desk.standing(&act);
    let payment = desk.pay(&server, &act).await;
    desk.world.wire.refuse_settlement();
    let refused = desk.send(&server, &act, &payment).await.unwrap();
    assert_eq!(refused.status, 402, "{}", refused.text);
    assert!(!desk.world.is_settled(&payment));
    let settled = async || desk.world.is_settled(&payment).then_some(());
    eventually("the charge", settled).await;
    let again = desk.answer(&server, &act, &payment).await;
    desk.assert_done_once(&act, &before, &again);
    server.stop().await;
}
