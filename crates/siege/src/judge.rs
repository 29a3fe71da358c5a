//! Judges from the observations alone whether the promises were kept.

mod findings;
mod owners;
mod quotas;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use alloy_primitives::Address;

use crate::bank::{Charge, Money};
use crate::payment::Key;
use crate::record::Seen;
use crate::upstreams::{Quota, UpstreamCall};

/// How many revocations of strangers the servers keep. A siege fills this room.
pub const STRANGERS_REVOCATIONS: usize = 40;

/// Everything that the judgement uses.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The observations of the callers.
    pub seen: Seen,
    /// The payments on the chain.
    pub charges: Vec<Charge>,
    /// The statements of each server of the paid API about the payments at the end. The order is
    /// the one of the addresses at which the servers ask upstreams.
    pub testimonies: Vec<Testimony>,
    /// The state of each stranger's revocation that was acknowledged, by the path that shows it.
    pub revocations: BTreeMap<String, String>,
    /// What each owner of a sub-wallet had before the siege and has after it.
    pub purses: Vec<Purse>,
    /// What the account has in whose favour attackers lie.
    pub stolen: Money,
    /// The owners whose wallets have a file.
    pub wallet_owners: Vec<Address>,
    /// The requests that the upstreams got.
    pub calls: Vec<UpstreamCall>,
    /// The limits of the upstreams.
    pub quotas: Vec<Quota>,
    /// How many settlement transactions failed.
    pub failed_transactions: u64,
    /// The whole budget of each server's pool for newcomers, in millionths of a dollar.
    pub pool: u64,
    /// The memory and the descriptors of the servers' processes.
    pub footprints: Vec<Footprint>,
    /// The tolerated deviations.
    pub tolerance: Tolerance,
}

/// The money of an owner, in its account and its sub-wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purse {
    /// The owner.
    pub owner: Address,
    /// What it had before its first call.
    pub at_first: Money,
    /// What it has after it.
    pub at_end: Money,
}

/// The statements of a server of the paid API about the payments.
#[derive(Debug, Clone, Default)]
pub struct Testimony {
    /// The number of the server, from 1.
    pub server: u8,
    /// The state of every authorization.
    pub states: BTreeMap<Key, String>,
    /// The metric `svc_payments_open`, by state.
    pub open: BTreeMap<String, u64>,
}

/// The memory and the descriptors of a server, when it was warm and at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    /// The name of the server.
    pub server: String,
    /// The values when the server was warm: the memory under the crowd, after its code was used
    /// once, and the descriptors before the crowd came.
    pub warm: Held,
    /// The values after the crowd has left.
    pub end: Held,
}

/// The memory and the descriptors of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Resident memory in bytes.
    pub memory: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

/// The tolerated deviations. Promises about money tolerate none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerance {
    /// How many more bytes of memory a server may use at the end than when it was warm.
    pub memory: u64,
    /// How many more descriptors a server may use.
    pub descriptors: u64,
    /// The largest ratio of the honest calls' 99th percentile with a crowd to the one without.
    /// `None` for no limit.
    pub ratio: Option<u64>,
    /// The longest 99th percentile of honest calls. `None` for no limit.
    pub p99: Option<Duration>,
    /// Whether purchases may still be waiting at the end. A short siege does not wait until the
    /// windows of all payments end.
    pub waiting: bool,
}

/// A promise, its measurement, and each breach of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The promise.
    pub promise: &'static str,
    /// The measurement.
    pub measured: String,
    /// Each breach, with the authorization and what was seen.
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
        owners::money(evidence),
        owners::one_wallet(&evidence.seen.told),
        owners::wallets_paid(evidence),
        owners::revocations(&evidence.revocations),
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
