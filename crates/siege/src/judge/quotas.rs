//! Judges the limits of upstreams. The calls of all servers count together.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Finding;
use crate::upstreams::{Quota, UpstreamCall};

pub(super) const QUOTAS: &str = "no upstream is asked more often than allowed";

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
        // Calls arrive later than they leave, and with different delays. So the measured window is
        // a little shorter: arrivals at its edge are no breach.
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

/// Whether a limit covers a call to its host. A call without a known family counts in every limit.
fn counts_in(call: &UpstreamCall, quota: &Quota) -> bool {
    quota.family.is_empty() || call.family.is_empty() || call.family == quota.family
}

/// Returns the most weight in any time of this length. `asked` is sorted by time.
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
