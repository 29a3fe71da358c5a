//! Checks the promises when nothing is open any more.

use std::net::{IpAddr, Ipv4Addr};

use alloy_primitives::U256;
use ledger::Journal as _;

use super::buyer::{Purchase, Signed};
use super::history::{self, History, Moved, judge};
use super::journal::at_once;
use super::payers::Account;
use super::server::{Heard, Process, Server};
use super::store::Store;
use super::world::{World, policy};
use crate::payment::{MAX_IN_FLIGHT, MAX_UNPROVEN};

/// The client address of the last requests of a schedule.
const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Checks every promise to callers. The servers run, and no more faults happen.
pub(super) async fn check<S: Store>(server: &Server<S>, purchases: &[Purchase]) {
    let world = &server.world;
    let counts = at_once(server.journal().open_counts()).unwrap();
    if counts.in_flight + counts.unknown > 0 {
        world.violation(format!("entries stay open: {counts:?}"));
    }
    let rest = world.now_ms();
    for signed in purchases.iter().flat_map(|purchase| &purchase.signed) {
        fetch_again(server, signed).await;
    }
    let transfers = world.chain.transfers(world.now()).into_iter();
    let history = History {
        calls: server.calls.lock().unwrap().clone(),
        transfers: transfers
            .map(|(nonce, transfer)| Moved {
                nonce,
                transaction: transfer.transaction,
                amount: transfer.amount,
            })
            .collect(),
        purchases: purchases
            .iter()
            .map(|purchase| recorded(server, purchase))
            .collect(),
        rest,
    };
    for breach in judge(&history) {
        let said = purchases
            .iter()
            .map(|purchase| (purchase.wanted, purchase.gave_up.as_deref()));
        let said: Vec<_> = said.collect();
        world.violation(format!("{breach:?}; the last refusals are {said:?}"));
    }
}

/// Adds the ledger's state to a purchase, for the judgement.
fn recorded<S: Store>(server: &Server<S>, purchase: &Purchase) -> history::Purchase {
    let world = &server.world;
    let signed = purchase.signed.iter().map(|signed| {
        let key = signed.payment.authorization_key().unwrap();
        let record = at_once(server.journal().look_up(&key)).unwrap();
        history::Signed {
            nonce: signed.order.nonce,
            amount: signed.order.option.amount,
            is_misused: world.servers > 1 && signed.sent_for.len() > 1,
            chain_decides: world.reads_chain && !signed.is_deferred(),
            ledger: record.map(|record| (record.state, record.transaction)),
        }
    });
    let misused = purchase
        .signed
        .iter()
        .any(|signed| signed.sent_for.len() > 1);
    let refused = purchase.gave_up.as_deref();
    let on_the_brokers_word = purchase.signed.iter().any(Signed::is_deferred);
    let is_excused = misused
        || on_the_brokers_word
        || !world.reads_chain
        || !can_pay(world, purchase)
        || refused.is_some_and(|why| why.starts_with("not_found"));
    history::Purchase {
        signed: signed.collect(),
        is_answered: purchase.is_answered,
        must_be_answered: !is_excused,
    }
}

/// Whether the payer has the money for the payment that it signed last.
fn can_pay(world: &World, purchase: &Purchase) -> bool {
    purchase.signed.last().is_none_or(|signed| {
        let option = &signed.order.option;
        let payer = purchase.account.address();
        world.chain.balance(payer, option.asset, world.now()) >= option.amount
    })
}

/// Asks every server for the answer to a charged payment.
async fn fetch_again<S: Store>(server: &Server<S>, signed: &Signed) {
    let world = &server.world;
    let transfer = world.chain.transfer(signed.order.nonce, world.now());
    if transfer.is_none() {
        return;
    }
    for place in 0..world.servers {
        for wanted in &signed.sent_for {
            let payment = &signed.payment;
            let heard = server.send_to(place, *wanted, payment, NOBODY).await;
            if matches!(heard, Heard::Answer { .. }) {
                break;
            }
        }
    }
}

/// Checks that a stopped process has given back its places and has no calls in flight.
pub(super) fn check_stopped<S: Store>(server: &Server<S>, process: &Process<S>) {
    let (world, shared) = (&server.world, &process.processor.shared);
    let places = (
        shared.places.available_permits(),
        shared.unproven_places.available_permits(),
    );
    if places != (MAX_IN_FLIGHT, MAX_UNPROVEN) {
        world.violation(format!("places are not given back: {places:?}"));
    }
    if !shared.in_flight.is_empty() {
        world.violation("calls are counted as in flight that have ended".to_owned());
    }
}

/// Checks that a new process begins with the missing sum of the newcomers' pool in the journal.
pub(super) fn check_pool_at_start<S: Store>(server: &Server<S>, process: &Process<S>) {
    let world = &server.world;
    let pool = policy().credit.newcomers.pool;
    let missing = at_once(server.journal().missing(world.now())).unwrap().pool;
    let left = process.left_in_pool(world);
    if missing > 0 {
        world.note(|| format!("newcomers: {missing} are missing at the start"));
    }
    // The journal counts in whole seconds, and a moment may have passed since it was read.
    let capacity = pool.capacity.as_micro_usd();
    let most = capacity.saturating_sub(missing) + SECONDS_APART * pool.per_second.as_micro_usd();
    if left > most {
        world.violation(format!(
            "the newcomers' pool has {left} at the start, and {missing} of {capacity} are missing"
        ));
    }
}

/// Checks that the next process misses the sum that newcomers have spent in the last one, if the
/// journal has taken every write.
pub(super) fn check_pool_goes_on<S: Store>(
    server: &Server<S>,
    stopped: PoolAtStop,
    process: &Process<S>,
) {
    let world = &server.world;
    let per_second = policy().credit.newcomers.pool.per_second.as_micro_usd();
    let since = world.now().saturating_sub(stopped.at) + SECONDS_APART;
    let (left, most) = (
        process.left_in_pool(world),
        stopped.left + since * per_second,
    );
    if left > most {
        world.violation(format!(
            "the newcomers' pool had {} when a process stopped, and {left} in the next one",
            stopped.left
        ));
    }
}

/// How many seconds may lie between two readings of the pool.
const SECONDS_APART: u64 = 2;

/// The rest of the newcomers' pool when a process had stopped.
#[derive(Debug, Clone, Copy)]
pub(super) struct PoolAtStop {
    pub(super) left: u64,
    /// The time in Unix seconds.
    pub(super) at: u64,
}

/// Checks the credit of a payer as a stopped process has counted it.
pub(super) fn check_credit<S: Store>(server: &Server<S>, process: &Process<S>, account: &Account) {
    let (world, payer) = (&server.world, account.address());
    let kept = at_once(server.journal().credit(payer)).unwrap();
    let Some((credit, held)) = process.processor.credit().account(payer) else {
        return;
    };
    if held != 0 {
        world.violation(format!("{held} of the credit of {payer} are still held"));
    }
    // Another server may have spent some of the credit that this one knows.
    if world.servers > 1 {
        return;
    }
    // The process may know less than the journal: the journal has taken a write that it reported as
    // failed, or the credit was read while it changed.
    if credit > kept {
        world.violation(format!(
            "{payer} has a credit of {credit}, the journal says {kept}"
        ));
    }
}

/// Checks that the journal's credit is at most the sum that the payer has paid.
pub(super) fn check_earned<S: Store>(
    server: &Server<S>,
    purchases: &[Purchase],
    account: &Account,
) {
    let (world, payer) = (&server.world, account.address());
    let own = purchases.iter().filter(|p| p.account.address() == payer);
    let signed = own.flat_map(|purchase| &purchase.signed);
    let transfers = signed.filter_map(|s| world.chain.transfer(s.order.nonce, world.now()));
    let paid = transfers.fold(U256::ZERO, |sum, transfer| sum + transfer.amount);
    let summed = at_once(server.journal().paid(payer)).unwrap();
    if U256::from(summed) > paid {
        world.violation(format!(
            "{payer} has paid {paid}, the journal says {summed}"
        ));
    }
    let credit = at_once(server.journal().credit(payer)).unwrap();
    if U256::from(credit) > paid {
        world.violation(format!(
            "{payer} has paid {paid} and has a credit of {credit}"
        ));
    }
}
