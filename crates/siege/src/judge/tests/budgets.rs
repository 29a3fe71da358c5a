//! Tests of breaches of the upstreams' limits, and of the budget for unpaid work.

use super::*;
use crate::judge::quotas::QUOTAS;

#[test]
fn a_quota_that_is_exceeded_in_any_window_is_caught() {
    let broken_by = |extra: UpstreamCall| broken(|evidence| evidence.calls.push(extra));
    let one_more = UpstreamCall {
        at: Duration::from_millis(1_550),
        ..call(0)
    };
    assert_eq!(names(&broken_by(one_more.clone())), [QUOTAS]);
    let of_another_host = UpstreamCall {
        host: "b.example".to_owned(),
        ..one_more.clone()
    };
    assert_eq!(broken_by(of_another_host), []);
    // The eleventh call may arrive a little early: it travelled for a shorter time than the first
    // one.
    let arrives = |at: u64| broken(|evidence| evidence.calls[10].at = Duration::from_millis(at));
    assert_eq!(arrives(985), []);
    assert_eq!(names(&arrives(950)), [QUOTAS]);
    let later = UpstreamCall {
        at: Duration::from_secs(60),
        ..one_more.clone()
    };
    assert_eq!(broken_by(later.clone()), []);
    let heavy = UpstreamCall {
        weight: 11,
        ..later
    };
    assert_eq!(names(&broken_by(heavy)), [QUOTAS]);
}

/// The unused part of one limit of a host is not available for another limit.
#[test]
fn each_limit_of_a_host_is_judged_by_itself() {
    let with = |limits: [u32; 2], families: [&'static str; 2]| {
        broken(|evidence| {
            let quota = evidence.quotas.remove(0);
            let of = |(family, limit)| Quota {
                family,
                limit,
                ..quota.clone()
            };
            evidence.quotas = ["one", "two"].into_iter().zip(limits).map(of).collect();
            for (number, call) in (0_usize..).zip(&mut evidence.calls) {
                call.family = families[number % 2];
            }
        })
    };
    assert_eq!(with([5, 5], ["one", "two"]), []);
    let broken = with([9, 1], ["one", "two"]);
    assert_eq!(names(&broken), [QUOTAS]);
    assert!(broken[0].1[0].contains("(two): 5 of 1"), "{broken:?}");
    // When the limit of a call is unknown, nothing shows that the call is allowed.
    assert_eq!(names(&with([5, 5], ["one", ""])), [QUOTAS]);
}

#[test]
fn unpaid_work_beyond_its_budget_is_caught() {
    let calls = |evidence: &mut Evidence, calls| {
        let model = |number| UpstreamCall {
            host: "models.example".to_owned(),
            is_model: true,
            ..call(number)
        };
        evidence.calls.extend((0..calls).map(model));
    };
    assert_eq!(broken(|evidence| calls(evidence, 4)), []);
    assert_eq!(names(&broken(|evidence| calls(evidence, 5))), [IDLE_WORK]);
    let failed = |evidence: &mut Evidence| {
        calls(evidence, 3);
        evidence.failed_transactions = 6;
    };
    assert_eq!(names(&broken(failed)), [IDLE_WORK]);
    // A payment of the crowd for another call covers one more. A buyer's payment does not.
    let paid = |evidence: &mut Evidence, nonce| {
        let crowds = Charge {
            amount: 25_000,
            ..charge(nonce)
        };
        evidence.charges.retain(|charge| charge.key != key(nonce));
        evidence.charges.push(crowds);
        evidence.seen.keys.insert(key(nonce));
        evidence.testimonies[0]
            .states
            .insert(key(nonce), "settled".to_owned());
        calls(evidence, 5);
    };
    assert_eq!(broken(|evidence| paid(evidence, 9)), []);
    assert_eq!(names(&broken(|evidence| paid(evidence, 1))), [IDLE_WORK]);
}

/// Each of two servers has a pool. Neither may use the pool of the other one.
#[test]
fn each_server_has_a_budget_for_unpaid_work() {
    let calls = |of_first: u64, of_second: u64| {
        broken(|evidence| {
            second(evidence);
            let model = |asked_at| UpstreamCall {
                host: "models.example".to_owned(),
                is_model: true,
                asked_at,
                ..call(0)
            };
            evidence.calls.extend((0..of_first).map(|_| model(0)));
            evidence.calls.extend((0..of_second).map(|_| model(1)));
        })
    };
    assert_eq!(calls(4, 4), []);
    let broken = calls(0, 5);
    assert_eq!(names(&broken), [IDLE_WORK]);
    assert!(broken[0].1[0].starts_with("server 2"), "{broken:?}");
}
