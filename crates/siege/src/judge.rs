//! Judges whether the promises were kept, from the observations alone.

mod findings;
mod quotas;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use crate::bank::Charge;
use crate::payment::Key;
use crate::record::Seen;
use crate::upstreams::{Quota, UpstreamCall};

/// All material of the judgement.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The callers' observations.
    pub seen: Seen,
    /// The payments on the chain.
    pub charges: Vec<Charge>,
    /// The account of each server of the paid API at the end, in the order in which they ask
    /// upstreams.
    pub testimonies: Vec<Testimony>,
    /// The requests that upstreams got.
    pub calls: Vec<UpstreamCall>,
    /// The limits of the upstreams.
    pub quotas: Vec<Quota>,
    /// Settlement transactions that moved nothing.
    pub failed_transactions: u64,
    /// The total budget of each server's pool for newcomers, in millionths of a dollar.
    pub pool: u64,
    /// The memory and descriptors of the servers' processes.
    pub footprints: Vec<Footprint>,
    /// The tolerated deviations.
    pub tolerance: Tolerance,
}

/// The state of the payments according to a server of the paid API.
#[derive(Debug, Clone, Default)]
pub struct Testimony {
    /// Its number, from 1.
    pub server: u8,
    /// The state of every authorization.
    pub states: BTreeMap<Key, String>,
    /// `svc_payments_open` by state.
    pub open: BTreeMap<String, u64>,
}

/// A server's memory and descriptors when it was warm, and at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    /// The server.
    pub server: String,
    /// Under the crowd, after all code was used once.
    pub warm: Held,
    /// After the crowd.
    pub end: Held,
}

/// The memory and descriptors of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Resident memory in bytes.
    pub memory: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

/// The tolerated deviations. Promises about money have no tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerance {
    /// Bytes of memory that a server may use more at the end than when it was warm.
    pub memory: u64,
    /// Descriptors that it may use more.
    pub descriptors: u64,
    /// How many times as long as without a crowd the 99th percentile of honest calls may take.
    pub ratio: Option<u64>,
    /// The longest 99th percentile.
    pub p99: Option<Duration>,
    /// Whether purchases may be left waiting, because the siege does not wait for the windows of
    /// all payments.
    pub waiting: bool,
}

/// A promise, its measurement, and its breaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The promise.
    pub promise: &'static str,
    /// The measurement.
    pub measured: String,
    /// Each breach, with the authorization and the observation.
    pub broken: Vec<String>,
}

impl Finding {
    /// Whether the promise was kept.
    pub fn is_kept(&self) -> bool {
        self.broken.is_empty()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_kept() { "kept  " } else { "BROKEN" };
        write!(f, "{verdict}  {:<44} {}", self.promise, self.measured)?;
        for breach in self.broken.iter().take(10) {
            write!(f, "\n        {breach}")?;
        }
        let more = self.broken.len().saturating_sub(10);
        if more > 0 {
            write!(f, "\n        and {more} more")?;
        }
        Ok(())
    }
}

/// Judges every promise.
pub fn judge(evidence: &Evidence) -> Vec<Finding> {
    let charged: BTreeMap<Key, Vec<&Charge>> =
        evidence
            .charges
            .iter()
            .fold(BTreeMap::new(), |mut charged, charge| {
                charged
                    .entry(charge.key)
                    .or_insert_with(Vec::new)
                    .push(charge);
                charged
            });
    let sent: &BTreeSet<Key> = &evidence.seen.keys;
    let mut findings = vec![
        findings::charged_once(&evidence.seen.purchases, &charged),
        findings::charges_answered(&evidence.seen.purchases, &charged),
        findings::purchases_ended(&evidence.seen.purchases, evidence.tolerance.waiting),
        findings::served_is_paid(&evidence.seen.served, &charged),
        findings::one_answer(&evidence.seen.served),
        findings::charges_known(sent, &charged, &evidence.testimonies),
        findings::owners(sent, &evidence.testimonies),
        quotas::quotas(&evidence.calls, &evidence.quotas),
        findings::idle_work(evidence),
        findings::plans(&evidence.seen.plans),
    ];
    for footprint in &evidence.footprints {
        findings.push(findings::flat(footprint, evidence.tolerance));
    }
    findings.push(findings::patience(
        &evidence.seen.peace,
        &evidence.seen.siege,
        evidence.tolerance,
    ));
    findings
}
