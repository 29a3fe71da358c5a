//! The promises, checked when everything has come to rest.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use alloy_primitives::{B256, U256};
use bytes::Bytes;
use ledger::{Journal, PaymentRecord, State};

use super::buyer::{Purchase, Record, Signed};
use super::chain::{Transfer, name};
use super::journal::at_once;
use super::payers::Account;
use super::server::{Heard, Process, Server, Wanted};
use super::world::{World, policy};
use crate::payment::{MAX_IN_FLIGHT, MAX_UNPROVEN};

/// Where the last requests of a schedule come from.
const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// What was delivered for each payment.
type Delivered = BTreeMap<B256, (Wanted, Bytes)>;

/// Every promise that concerns callers. The server runs, and nothing goes wrong any more.
pub(super) async fn check<J: Journal>(server: &Server<J>, record: &Record) {
    let world = &server.world;
    let counts = at_once(server.journal.open_counts()).unwrap();
    if counts.in_flight + counts.unknown > 0 {
        world.violation(format!("entries stay open: {counts:?}"));
    }
    let delivered = check_deliveries(world, record);
    for purchase in &record.purchases {
        check_purchase(world, purchase);
        for signed in &purchase.signed {
            check_payment(server, &purchase.account, signed, &delivered).await;
        }
    }
}

/// Nothing was delivered that was not paid, and a payment has bought one answer to one request.
fn check_deliveries(world: &World, record: &Record) -> Delivered {
    let mut delivered = Delivered::new();
    for delivery in &record.deliveries {
        let (nonce, wanted) = (delivery.nonce, delivery.wanted);
        let request = wanted.binding().digest().to_string();
        if !delivery.body.starts_with(request.as_bytes()) {
            world.violation(format!("{} got the answer to another request", name(nonce)));
        }
        if world.chain.transfer(nonce, world.now()).is_none() {
            world.violation(format!("{} was answered and not paid", name(nonce)));
        }
        let this = (wanted, delivery.body.clone());
        if *delivered.entry(nonce).or_insert_with(|| this.clone()) != this {
            world.violation(format!("{} has bought two answers", name(nonce)));
        }
    }
    delivered
}

/// Nobody paid twice for one wanted answer, and in the end everybody has it who could.
fn check_purchase(world: &World, purchase: &Purchase) {
    let transfers: Vec<Transfer> = purchase
        .signed
        .iter()
        .filter_map(|signed| world.chain.transfer(signed.order.nonce, world.now()))
        .collect();
    if transfers.len() > 1 {
        let nonces = purchase.signed.iter().map(|signed| signed.order.nonce);
        let nonces: Vec<String> = nonces.map(name).collect();
        world.violation(format!("paid {} times: {nonces:?}", transfers.len()));
    }
    let misused = purchase
        .signed
        .iter()
        .any(|signed| signed.sent_for.len() > 1);
    let refused = purchase.gave_up.as_deref();
    let on_the_brokers_word = purchase.signed.iter().any(Signed::is_deferred);
    let excused = misused
        || on_the_brokers_word
        || !world.reads_chain
        || !can_pay(world, purchase)
        || refused.is_some_and(|why| why.starts_with("not_found"));
    if purchase.answer.is_none() && !excused {
        let wanted = purchase.wanted;
        world.violation(format!("{wanted:?} was never answered: {refused:?}"));
    }
}

/// Whether the payer has the money for what it signed last.
fn can_pay(world: &World, purchase: &Purchase) -> bool {
    purchase.signed.last().is_none_or(|signed| {
        let option = &signed.order.option;
        let payer = purchase.account.address();
        world.chain.balance(payer, option.asset, world.now()) >= option.amount
    })
}

/// What moved money can be fetched, or waits for the operator; what moved none is not settled.
async fn check_payment<J: Journal>(
    server: &Server<J>,
    account: &Account,
    signed: &Signed,
    delivered: &Delivered,
) {
    let (world, nonce) = (&server.world, signed.order.nonce);
    let reads_chain = world.reads_chain && !signed.is_deferred();
    let key = signed.payment.authorization_key().unwrap();
    let record = at_once(server.journal.look_up(&key)).unwrap();
    let state = record.as_ref().map(|record| record.state);
    let Some(transfer) = world.chain.transfer(nonce, world.now()) else {
        if state == Some(State::Settled) {
            world.violation(format!("{} is settled and moved no money", name(nonce)));
        }
        return;
    };
    if transfer.amount != signed.order.option.amount || account.address() != key.payer {
        world.violation(format!("{} has moved another amount", name(nonce)));
    }
    match state {
        Some(State::Settled) => {
            check_transaction(world, nonce, record.as_ref(), &transfer);
            fetch_again(server, signed, delivered).await;
        }
        Some(State::Undecidable) if !reads_chain => {}
        // Given back on the word of a facilitator.
        Some(State::Released) if !reads_chain => {}
        state => world.violation(format!("{} was charged and is {state:?}", name(nonce))),
    }
}

fn check_transaction(
    world: &World,
    nonce: B256,
    record: Option<&PaymentRecord>,
    transfer: &Transfer,
) {
    let transaction = record.and_then(|record| record.transaction.as_deref());
    if transaction != Some(transfer.transaction.as_str()) {
        world.violation(format!(
            "{} names {transaction:?} as its transaction",
            name(nonce)
        ));
    }
}

/// The header gets the answer that it has bought, and always the same.
async fn fetch_again<J: Journal>(server: &Server<J>, signed: &Signed, delivered: &Delivered) {
    let (world, nonce) = (&server.world, signed.order.nonce);
    for wanted in &signed.sent_for {
        if let Heard::Answer { body, again } = server.send(*wanted, &signed.payment, NOBODY).await {
            let same = delivered.get(&nonce).is_none_or(|before| before.1 == body);
            if !again || !same {
                world.violation(format!("{} has bought another answer", name(nonce)));
            }
            return;
        }
    }
    world.violation(format!("the answer of {} cannot be fetched", name(nonce)));
}

/// What a process has that has stopped: nothing.
pub(super) fn check_stopped<J: Journal>(server: &Server<J>, process: &Process<J>) {
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

/// A process that begins goes on with what is missing of the newcomers' pool, as the journal has
/// it.
pub(super) fn check_pool_at_start<J: Journal>(server: &Server<J>, process: &Process<J>) {
    let world = &server.world;
    let pool = policy().credit.newcomers.pool;
    let missing = at_once(server.journal.missing(world.now())).unwrap().pool;
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

/// What newcomers have spent in one process is missing in the next one, when the journal has taken
/// every write.
pub(super) fn check_pool_goes_on<J: Journal>(
    server: &Server<J>,
    stopped: PoolAtStop,
    process: &Process<J>,
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

/// How far two readings of the pool may be apart in time.
const SECONDS_APART: u64 = 2;

/// What was left in the newcomers' pool when a process had stopped.
#[derive(Debug, Clone, Copy)]
pub(super) struct PoolAtStop {
    pub(super) left: u64,
    /// Unix seconds.
    pub(super) at: u64,
}

/// The credit of a payer, as a process that has stopped has counted it.
pub(super) fn check_credit<J: Journal>(
    server: &Server<J>,
    process: &Process<J>,
    account: &Account,
) {
    let (world, payer) = (&server.world, account.address());
    let kept = at_once(server.journal.credit(payer)).unwrap();
    let Some((credit, held)) = process.processor.credit().account(payer) else {
        return;
    };
    if held != 0 {
        world.violation(format!("{held} of the credit of {payer} are still held"));
    }
    // It may know of less: the journal has taken a write that it called failed, or the credit was
    // read while it changed.
    if credit > kept {
        world.violation(format!(
            "{payer} has a credit of {credit}, the journal says {kept}"
        ));
    }
}

/// The journal's credit is not more than what the payer has paid.
pub(super) fn check_earned<J: Journal>(server: &Server<J>, record: &Record, account: &Account) {
    let (world, payer) = (&server.world, account.address());
    let own = record
        .purchases
        .iter()
        .filter(|p| p.account.address() == payer);
    let signed = own.flat_map(|purchase| &purchase.signed);
    let transfers = signed.filter_map(|s| world.chain.transfer(s.order.nonce, world.now()));
    let paid = transfers.fold(U256::ZERO, |sum, transfer| sum + transfer.amount);
    let summed = at_once(server.journal.paid(payer)).unwrap();
    if U256::from(summed) > paid {
        world.violation(format!(
            "{payer} has paid {paid}, the journal says {summed}"
        ));
    }
    let credit = at_once(server.journal.credit(payer)).unwrap();
    if U256::from(credit) > paid {
        world.violation(format!(
            "{payer} has paid {paid} and has a credit of {credit}"
        ));
    }
}
