//! The promises, one function each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bench::measure::{Ratio, quantile};

use super::{Evidence, Finding, Footprint, Tolerance};
use crate::bank::Charge;
use crate::payment::Key;
use crate::record::{End, Purchase, Served};
use crate::upstreams::{Quota, UpstreamCall};

pub(super) const CHARGED_ONCE: &str = "an honest purchase is charged at most once";
pub(super) const CHARGES_ANSWERED: &str = "what was charged to a buyer was answered";
pub(super) const PURCHASES_ENDED: &str = "honest purchases come to an end";
pub(super) const SERVED_IS_PAID: &str = "nothing unpaid is served";
pub(super) const ONE_ANSWER: &str = "a payment buys one answer to one request";
pub(super) const CHARGES_KNOWN: &str = "the server knows every charge";
pub(super) const OWNERS: &str = "no payment is in flight without an owner";
pub(super) const QUOTAS: &str = "no upstream is asked more often than allowed";
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
            End::Answered(_) => {}
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
            ..
        } = answer;
        to_others = to_others.saturating_add(usize::from(*caller != "buyer"));
        match charged.get(key).and_then(|charges| charges.first()) {
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

/// The server knows of all money that moved.
pub(super) fn charges_known(
    sent: &BTreeSet<Key>,
    charged: &Charged<'_>,
    states: &BTreeMap<Key, String>,
) -> Finding {
    let mut broken = Vec::new();
    for (key, charges) in charged {
        let state = states.get(key).map_or("not asked", String::as_str);
        if !sent.contains(key) {
            broken.push(format!("{key}: charged, and nobody has sent it"));
        } else if charges.len() > 1 {
            broken.push(format!("{key}: charged {} times", charges.len()));
        } else if state != "settled" {
            broken.push(format!("{key}: charged on chain, {state} at the server"));
        }
    }
    for (key, state) in states {
        if state == "settled" && !charged.contains_key(key) {
            broken.push(format!(
                "{key}: settled at the server, and no transfer on chain"
            ));
        }
    }
    Finding {
        promise: CHARGES_KNOWN,
        measured: format!("{} charges", charged.len()),
        broken,
    }
}

pub(super) fn owners(
    sent: &BTreeSet<Key>,
    states: &BTreeMap<Key, String>,
    open: &BTreeMap<String, u64>,
) -> Finding {
    let mut broken = Vec::new();
    for key in sent {
        match states.get(key).map(String::as_str) {
            Some("in_flight") => broken.push(format!("{key}: in_flight")),
            None => broken.push(format!("{key}: the server does not say")),
            Some(_) => {}
        }
    }
    match open.get("in_flight") {
        Some(0) => {}
        other => broken.push(format!(
            "svc_payments_open{{state=\"in_flight\"}} is {other:?}"
        )),
    }
    let in_state = |wanted: &str| states.values().filter(|state| *state == wanted).count();
    let counts = ["settled", "released", "unknown", "undecidable", "not_seen"]
        .map(|state| format!("{} {state}", in_state(state)));
    Finding {
        promise: OWNERS,
        measured: format!("{} authorizations: {}", sent.len(), counts.join(", ")),
        broken,
    }
}

pub(super) fn quotas(calls: &[UpstreamCall], quotas: &[Quota]) -> Finding {
    let mut broken = Vec::new();
    let mut most = (0_u64, String::from("none was asked"));
    for quota in quotas {
        let mut asked: Vec<(Duration, u32)> = calls
            .iter()
            .filter(|call| call.host == quota.host && counts_in(call, quota))
            .map(|call| (call.at, call.weight))
            .collect();
        asked.sort_unstable();
        // Calls arrive later than they leave, and with different delays: arrivals at the edge of a
        // full window do not exceed it.
        let transit = (quota.window / 50).min(Duration::from_secs(1));
        let seen = heaviest(&asked, quota.window.saturating_sub(transit));
        let family = match quota.family {
            "" => String::new(),
            family => format!(" ({family})"),
        };
        let text = format!(
            "{}{family}: {seen} of {} in {} s",
            quota.host,
            quota.limit,
            quota.window.as_secs()
        );
        if seen > u64::from(quota.limit) {
            broken.push(text.clone());
        }
        let share = seen.saturating_mul(1_000) / u64::from(quota.limit.max(1));
        if seen > 0 && share >= most.0 {
            most = (share, text);
        }
    }
    let known: BTreeSet<&str> = quotas.iter().map(|quota| quota.host.as_str()).collect();
    let strange: BTreeSet<&str> = calls
        .iter()
        .map(|call| call.host.as_str())
        .filter(|host| !known.contains(host))
        .collect();
    Finding {
        promise: QUOTAS,
        measured: format!(
            "{} calls of {} hosts, {} without a quota; nearest {}",
            calls.len(),
            calls
                .iter()
                .map(|call| &call.host)
                .collect::<BTreeSet<_>>()
                .len(),
            strange.len(),
            most.1
        ),
        broken,
    }
}

/// Whether a limit covers a call of its host. A call without a known family counts everywhere.
fn counts_in(call: &UpstreamCall, quota: &Quota) -> bool {
    quota.family.is_empty() || call.family.is_empty() || call.family == quota.family
}

/// The most weight in any stretch of time of this length; `asked` is in the order of time.
fn heaviest(asked: &[(Duration, u32)], window: Duration) -> u64 {
    let mut oldest = asked.iter();
    let mut inside = 0_u64;
    let mut most = 0;
    for (at, weight) in asked {
        inside = inside.saturating_add((*weight).into());
        while let Some((first, gone)) = oldest.as_slice().first() {
            if at.saturating_sub(*first) < window {
                break;
            }
            inside = inside.saturating_sub((*gone).into());
            oldest.next();
        }
        most = most.max(inside);
    }
    most
}

/// The default charge to a payer's credit, or to the newcomers' pool, for a model's call that ends
/// uncharged.
pub(super) const MODEL_CALL_MICRO_USD: u64 = 25_000;

/// The default charge for a settlement transaction that moves no money.
pub(super) const TRANSACTION_MICRO_USD: u64 = 5_000;

/// Only the crowd asks for models' work or causes failing transactions. The pool and the crowd's
/// own payments cover the cost, including images that were sold among other calls, so the bound is
/// generous. Failed transactions are the server's own only where it settles itself.
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
    let calls = evidence.calls.iter().filter(|call| call.is_model).count();
    let calls = u64::try_from(calls).unwrap_or(u64::MAX);
    let failed = evidence.failed_transactions;
    let cost = calls
        .saturating_mul(MODEL_CALL_MICRO_USD)
        .saturating_add(failed.saturating_mul(TRANSACTION_MICRO_USD));
    let measured = format!(
        "{calls} model calls, {failed} failed transactions, {cost} of at most {allowed} micro-USD ({} of the pool, {earned} of the crowd's payments)",
        evidence.pool
    );
    let broken = (cost > allowed).then(|| format!("{cost} are more than {allowed} micro-USD"));
    Finding {
        promise: IDLE_WORK,
        measured,
        broken: broken.into_iter().collect(),
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

pub(super) fn flat(footprint: Footprint, tolerance: Tolerance) -> Finding {
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
        promise: match server {
            "api-server" => "api-server: memory and descriptors are flat",
            _ => "mcp-server: memory and descriptors are flat",
        },
        measured: format!(
            "{} -> {} KiB (at most {} more), {} -> {} descriptors (at most {} more)",
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
