//! The judgements of the promises, one function for each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bench::measure::{Ratio, quantile};

use super::{Evidence, Finding, Footprint, Testimony, Tolerance};
use crate::bank::Charge;
use crate::payment::Key;
use crate::record::{End, Purchase, Served};

pub(super) const CHARGED_ONCE: &str = "an honest purchase is charged at most once";
pub(super) const CHARGES_ANSWERED: &str = "what was charged to a buyer was answered";
pub(super) const PURCHASES_ENDED: &str = "honest purchases come to an end";
pub(super) const SERVED_IS_PAID: &str = "nothing unpaid is served";
pub(super) const ONE_ANSWER: &str = "a payment buys one answer to one request";
pub(super) const CHARGES_KNOWN: &str = "the server knows every charge";
pub(super) const OWNERS: &str = "no payment is in flight without an owner";
pub(super) const IDLE_WORK: &str = "work for nothing has a budget";
pub(super) const PLANS: &str = "honest agents get plans beside a flood";
pub(super) const PATIENCE: &str = "honest p99 beside the crowd";

type Charged<'a> = BTreeMap<Key, Vec<&'a Charge>>;

pub(super) fn charged_once(purchases: &[Purchase], charged: &Charged<'_>) -> Finding {
    let mut broken = Vec::new();
    let mut paid: usize = 0;
    for purchase in purchases {
        let charges: Vec<_> = purchase
            .keys
            .iter()
            .filter_map(|key| charged.get(key))
            .flatten()
            .collect();
        paid = paid.saturating_add(usize::from(!charges.is_empty()));
        if charges.len() > 1 {
            let charges: Vec<_> = charges
                .iter()
                .map(|charge| format!("{} by {}", charge.key, charge.transaction))
                .collect();
            broken.push(format!(
                "{} paid {} times for {}: {}",
                purchase.buyer,
                charges.len(),
                purchase.target,
                charges.join(", ")
            ));
        }
    }
    Finding {
        promise: CHARGED_ONCE,
        measured: format!("{} purchases, {paid} charged", purchases.len()),
        broken,
    }
}

pub(super) fn charges_answered(purchases: &[Purchase], charged: &Charged<'_>) -> Finding {
    let mut broken = Vec::new();
    let mut answered: usize = 0;
    for purchase in purchases {
        if let End::Answered(_) = purchase.end {
            answered = answered.saturating_add(1);
            continue;
        }
        for key in &purchase.keys {
            if let Some(charge) = charged.get(key).and_then(|charges| charges.first()) {
                broken.push(format!(
                    "{key} was charged by {} for {}, and the buyer has: {:?}",
                    charge.transaction, purchase.target, purchase.end
                ));
            }
        }
    }
    Finding {
        promise: CHARGES_ANSWERED,
        measured: format!("{answered} answered"),
        broken,
    }
}

pub(super) fn purchases_ended(purchases: &[Purchase], may_wait: bool) -> Finding {
    let mut broken = Vec::new();
    let mut waiting: usize = 0;
    for purchase in purchases {
        let key = purchase.keys.last().map(Key::to_string);
        let key = key.unwrap_or_else(|| "no authorization".to_owned());
        match &purchase.end {
            End::Answered(_) | End::Declined(_) => {}
            End::Waiting => {
                waiting = waiting.saturating_add(1);
                if !may_wait {
                    broken.push(format!("{key} for {}: still waiting", purchase.target));
                }
            }
            End::Open(last) | End::Refused(last) => {
                broken.push(format!("{key} for {}: {last}", purchase.target));
            }
        }
    }
    let measured = format!("{waiting} were told to wait beyond the end, uncharged");
    Finding {
        promise: PURCHASES_ENDED,
        measured,
        broken,
    }
}

pub(super) fn served_is_paid(served: &[Served], charged: &Charged<'_>) -> Finding {
    let mut broken = Vec::new();
    let mut to_others: usize = 0;
    for answer in served {
        let Served {
            caller,
            key,
            target,
            transaction,
            repeats,
            ..
        } = answer;
        let bought = |(other, charges): (&Key, &Vec<&Charge>)| {
            let mut charges = charges.iter();
            other.payer == key.payer
                && charges.any(|charge| Some(charge.transaction) == *transaction)
        };
        to_others = to_others.saturating_add(usize::from(*caller != "buyer"));
        match charged.get(key).and_then(|charges| charges.first()) {
            // Another payment of the same payer has bought this answer.
            None if *repeats && charged.iter().any(bought) => {}
            None => broken.push(format!(
                "{key}: 200 to {caller} for {target}, and no transfer on chain"
            )),
            Some(charge) if *transaction != Some(charge.transaction) => broken.push(format!(
                "{key}: the receipt of {target} names {transaction:?}, the transfer is in {}",
                charge.transaction
            )),
            Some(_) => {}
        }
    }
    let measured = format!("{} paid answers, {to_others} to the crowd", served.len());
    Finding {
        promise: SERVED_IS_PAID,
        measured,
        broken,
    }
}

pub(super) fn one_answer(served: &[Served]) -> Finding {
    let mut first: BTreeMap<Key, &Served> = BTreeMap::new();
    let mut broken = Vec::new();
    for answer in served {
        let known = *first.entry(answer.key).or_insert(answer);
        if (&known.target, known.body) != (&answer.target, answer.body) {
            broken.push(format!(
                "{}: bought {} ({}) and {} ({})",
                answer.key, known.target, known.body, answer.target, answer.body
            ));
        }
    }
    let again = served.len().saturating_sub(first.len());
    Finding {
        promise: ONE_ANSWER,
        measured: format!("{} payments, {again} answers given again", first.len()),
        broken,
    }
}

/// Judges whether every server knows of all money that moved.
pub(super) fn charges_known(
    sent: &BTreeSet<Key>,
    charged: &Charged<'_>,
    testimonies: &[Testimony],
) -> Finding {
    let mut broken = Vec::new();
    for (key, charges) in charged {
        if !sent.contains(key) {
            broken.push(format!("{key}: charged, and no caller has sent it"));
        } else if charges.len() > 1 {
            broken.push(format!("{key}: charged {} times", charges.len()));
        }
    }
    for Testimony { server, states, .. } in testimonies {
        for key in charged.keys().filter(|key| sent.contains(key)) {
            let state = states.get(key).map_or("not asked", String::as_str);
            if state != "settled" {
                broken.push(format!(
                    "{key}: charged on chain, {state} at server {server}"
                ));
            }
        }
        for (key, state) in states {
            if state == "settled" && !charged.contains_key(key) {
                broken.push(format!(
                    "{key}: settled at server {server}, and no transfer on chain"
                ));
            }
        }
    }
    if testimonies.is_empty() {
        broken.push("no server was asked".to_owned());
    }
    Finding {
        promise: CHARGES_KNOWN,
        measured: format!(
            "{} charges, {} servers asked",
            charged.len(),
            testimonies.len()
        ),
        broken,
    }
}

pub(super) fn owners(sent: &BTreeSet<Key>, testimonies: &[Testimony]) -> Finding {
    let mut broken = Vec::new();
    let mut measured = format!("{} authorizations", sent.len());
    for Testimony {
        server,
        states,
        open,
    } in testimonies
    {
        for key in sent {
            match states.get(key).map(String::as_str) {
                Some("in_flight") => broken.push(format!("{key}: in_flight at server {server}")),
                None => broken.push(format!("{key}: server {server} does not say")),
                Some(_) => {}
            }
        }
        match open.get("in_flight") {
            Some(0) => {}
            other => broken.push(format!(
                "svc_payments_open{{state=\"in_flight\"}} is {other:?} at server {server}"
            )),
        }
        let in_state = |wanted: &str| states.values().filter(|state| *state == wanted).count();
        let counts = ["settled", "released", "unknown", "undecidable", "not_seen"]
            .map(|state| format!("{} {state}", in_state(state)));
        measured.push_str(&format!("; server {server}: {}", counts.join(", ")));
    }
    Finding {
        promise: OWNERS,
        measured,
        broken,
    }
}

/// The default charge for a model's call that ends uncharged. The payer's credit pays it, or the
/// pool for newcomers.
pub(super) const MODEL_CALL_MICRO_USD: u64 = 25_000;

/// The default charge for a settlement transaction that moves no money.
pub(super) const TRANSACTION_MICRO_USD: u64 = 5_000;

/// Judges the cost of work for which nobody paid. Only the crowd asks models for work or causes
/// failing transactions. A pool and the crowd's own payments cover the cost. The bound is generous,
/// because it also counts payments for other calls.
///
/// Each server has a pool, and a payer may spend its credit once at each. Failed transactions cost
/// the service something only when it settles itself. They are not charged to one server, because
/// any server sends for all.
pub(super) fn idle_work(evidence: &Evidence) -> Finding {
    let honest: BTreeSet<Key> = evidence
        .seen
        .purchases
        .iter()
        .flat_map(|purchase| purchase.keys.iter().copied())
        .collect();
    let crowds = evidence.charges.iter();
    let crowds = crowds.filter(|charge| !honest.contains(&charge.key));
    let earned = crowds
        .map(|charge| charge.amount)
        .fold(0, u64::saturating_add);
    let allowed = evidence.pool.saturating_add(earned);
    let failed = evidence.failed_transactions;
    let mut measured = format!(
        "{failed} failed transactions; micro-USD at most {allowed} ({} of the pool, {earned} of the crowd's payments)",
        evidence.pool
    );
    let mut broken = Vec::new();
    let mut cost = failed.saturating_mul(TRANSACTION_MICRO_USD);
    for (place, Testimony { server, .. }) in evidence.testimonies.iter().enumerate() {
        let calls = evidence.calls.iter();
        let calls = calls.filter(|call| call.is_model && call.asked_at == place);
        let calls = u64::try_from(calls.count()).unwrap_or(u64::MAX);
        let of_models = calls.saturating_mul(MODEL_CALL_MICRO_USD);
        cost = cost.saturating_add(of_models);
        measured.push_str(&format!("; server {server}: {calls} model calls"));
        if of_models > allowed {
            broken.push(format!(
                "server {server}: {of_models} for models are more than {allowed} micro-USD"
            ));
        }
    }
    let servers = u64::try_from(evidence.testimonies.len()).unwrap_or(u64::MAX);
    let of_all = allowed.saturating_mul(servers);
    measured.push_str(&format!("; {cost} of at most {of_all} micro-USD in all"));
    if cost > of_all {
        broken.push(format!("{cost} are more than {of_all} micro-USD"));
    }
    Finding {
        promise: IDLE_WORK,
        measured,
        broken,
    }
}

pub(super) fn plans(plans: &[String]) -> Finding {
    let refused = plans.iter().filter(|got| !got.is_empty());
    let mut broken: Vec<String> = refused.cloned().collect();
    let got = plans.len().saturating_sub(broken.len());
    if plans.is_empty() {
        broken.push("no honest agent got a plan or a refusal of the rail's own".to_owned());
    }
    Finding {
        promise: PLANS,
        measured: format!("{got} of {}", plans.len()),
        broken,
    }
}

pub(super) fn flat(footprint: &Footprint, tolerance: Tolerance) -> Finding {
    let Footprint { server, warm, end } = footprint;
    let mut broken = Vec::new();
    let memory = end.memory.saturating_sub(warm.memory);
    if memory > tolerance.memory {
        broken.push(format!(
            "{server}: {} KiB of memory more at the end, {} are tolerated",
            memory >> 10,
            tolerance.memory >> 10
        ));
    }
    let descriptors = end.descriptors.saturating_sub(warm.descriptors);
    if descriptors > tolerance.descriptors {
        broken.push(format!(
            "{server}: {descriptors} descriptors more at the end, {} are tolerated",
            tolerance.descriptors
        ));
    }
    Finding {
        promise: match server.starts_with("api-server") {
            true => "api-server: memory and descriptors are flat",
            false => "mcp-server: memory and descriptors are flat",
        },
        measured: format!(
            "{server}: {} -> {} KiB (at most {} more), {} -> {} descriptors (at most {} more)",
            warm.memory >> 10,
            end.memory >> 10,
            tolerance.memory >> 10,
            warm.descriptors,
            end.descriptors,
            tolerance.descriptors
        ),
        broken,
    }
}

pub(super) fn patience(peace: &[Duration], siege: &[Duration], tolerance: Tolerance) -> Finding {
    let (peace_times, siege_times) = (micros(peace), micros(siege));
    let p99 = |times: &[u64]| quantile(times, 990).unwrap_or_default();
    let p50 = |times: &[u64]| quantile(times, 500).unwrap_or_default();
    let (before, beside) = (p99(&peace_times), p99(&siege_times));
    let ratio = Ratio::of(beside, before);
    let mut broken = Vec::new();
    if peace.is_empty() || siege.is_empty() {
        broken.push("nothing was measured".to_owned());
    }
    if let Some(most) = tolerance.ratio
        && beside > before.saturating_mul(most)
    {
        broken.push(format!(
            "{beside} us are more than {most} times {before} us"
        ));
    }
    if let Some(most) = tolerance.p99
        && u128::from(beside) > most.as_micros()
    {
        broken.push(format!("{beside} us are more than {} ms", most.as_millis()));
    }
    Finding {
        promise: PATIENCE,
        measured: format!(
            "{beside} us against {before} us in peace: {} times (p50 {} against {} us; {} and {} calls)",
            ratio.map_or("no".to_owned(), |ratio| ratio.to_string()),
            p50(&siege_times),
            p50(&peace_times),
            siege.len(),
            peace.len()
        ),
        broken,
    }
}

fn micros(times: &[Duration]) -> Vec<u64> {
    let micros = times.iter().map(Duration::as_micros);
    let mut micros: Vec<u64> = micros
        .map(|micros| u64::try_from(micros).unwrap_or(u64::MAX))
        .collect();
    micros.sort_unstable();
    micros
}
