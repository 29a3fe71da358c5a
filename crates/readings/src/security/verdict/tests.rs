//! Tests of the rules, by examples and by properties.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rust_decimal::Decimal;

use super::*;
use crate::{Figure, security::Rating};

/// Makes a scan that made every severe check, with these findings.
fn rated(word: &str, findings: &[(Check, bool)]) -> Scan {
    Scan {
        source: "okx.token-scan",
        complete: true,
        rating: Some(Rating::read(Some(word))),
        findings: with_severe(findings),
        ..Scan::default()
    }
}

fn with_severe(findings: &[(Check, bool)]) -> BTreeMap<Check, bool> {
    let severe = Check::SEVERE.map(|check| (check, false));
    severe.into_iter().chain(findings.iter().copied()).collect()
}

fn unrated(findings: &[(Check, bool)], sell_tax: Option<&str>) -> Scan {
    Scan {
        source: "goplus.token-security",
        complete: true,
        findings: with_severe(findings),
        sell_tax_pct: sell_tax.map(|tax| tax.parse().unwrap()),
        ..Scan::default()
    }
}

fn check(scans: &[Scan], verdict: Verdict, score: Option<u32>, flags: &[&str]) {
    let judged = Judgement::of(scans);
    assert_eq!(
        (judged.verdict, judged.score),
        (verdict, score),
        "{judged:?}"
    );
    assert_eq!(judged.flags(), flags);
}

#[test]
fn each_verdict_has_an_example() {
    let clean = (Check::Honeypot, false);
    check(&[rated("LOW", &[clean])], Verdict::Safe, Some(100), &[]);
    check(
        &[rated("LOW", &[clean, (Check::Whitelist, true)])],
        Verdict::Safe,
        Some(98),
        &["whitelist"],
    );
    let stable = [clean, (Check::Mintable, true), (Check::Blacklist, true)];
    check(
        &[rated("MEDIUM", &stable)],
        Verdict::Caution,
        Some(70),
        &["blacklist", "mintable", "rated_medium"],
    );
    check(
        &[rated("MEDIUM", &[clean])],
        Verdict::Caution,
        Some(85),
        &["rated_medium"],
    );
    check(
        &[rated("HIGH", &[clean])],
        Verdict::Danger,
        Some(35),
        &["rated_high"],
    );
    check(
        &[rated("CRITICAL", &[clean])],
        Verdict::Danger,
        Some(0),
        &["rated_critical"],
    );
    check(
        &[rated("LOW", &[(Check::Honeypot, true)])],
        Verdict::Danger,
        Some(0),
        &["honeypot"],
    );
}

#[test]
fn an_unchecked_risk_is_not_safe() {
    check(&[], Verdict::Unknown, None, &["severe_checks_unknown"]);
    check(&[rated("LOW", &[])], Verdict::Unknown, None, &[]);
    check(
        &[rated("LOW", &[(Check::Mintable, false)])],
        Verdict::Unknown,
        None,
        &[],
    );
    // A milder risk does not settle whether the token is a honeypot.
    check(
        &[rated("LOW", &[(Check::Mintable, true)])],
        Verdict::Unknown,
        None,
        &["mintable"],
    );
    let closed = unrated(&[(Check::NotOpenSource, true)], None);
    check(&[closed], Verdict::Danger, Some(35), &["not_open_source"]);
    // An unfinished scan clears nothing.
    let partial = Scan {
        complete: false,
        ..rated("LOW", &[(Check::Honeypot, false)])
    };
    let unknown = ["severe_checks_unknown"];
    check(&[partial], Verdict::Unknown, None, &unknown);
}

#[test]
fn a_severe_check_that_no_scanner_made_does_not_count_as_passed() {
    let mut scan = rated("LOW", &[(Check::Honeypot, false)]);
    scan.findings.remove(&Check::Proxy);
    let unknown = ["severe_checks_unknown"];
    check(&[scan.clone()], Verdict::Caution, Some(85), &unknown);
    for check in Check::SEVERE {
        scan.findings.remove(&check);
    }
    check(&[scan.clone()], Verdict::Caution, Some(44), &unknown);
    // The other scanner made these checks.
    let other = unrated(&[], None);
    check(&[scan, other], Verdict::Safe, Some(100), &[]);
}

#[test]
fn a_level_that_cannot_be_read_counts_as_high() {
    for word in ["", "safe", "5"] {
        let scan = rated(word, &[(Check::Honeypot, false)]);
        check(&[scan], Verdict::Danger, Some(35), &["rating_unreadable"]);
    }
}

#[test]
fn one_source_that_sees_the_trap_is_enough() {
    let seen = unrated(
        &[(Check::Honeypot, true), (Check::NotOpenSource, false)],
        Some("100"),
    );
    let missed = rated("LOW", &[(Check::Honeypot, false)]);
    check(
        &[missed.clone(), seen.clone()],
        Verdict::Danger,
        Some(0),
        &["honeypot", "sell_tax"],
    );
    check(
        &[seen, missed],
        Verdict::Danger,
        Some(0),
        &["honeypot", "sell_tax"],
    );
}

#[test]
fn a_tax_is_a_separate_risk() {
    let clean = [(Check::Honeypot, false), (Check::NotOpenSource, false)];
    check(&[unrated(&clean, Some("0"))], Verdict::Safe, Some(100), &[]);
    check(
        &[unrated(&clean, Some("5"))],
        Verdict::Caution,
        Some(85),
        &["sell_tax"],
    );
    check(
        &[unrated(&clean, Some("99"))],
        Verdict::Danger,
        Some(0),
        &["sell_tax"],
    );
    check(&[unrated(&clean, None)], Verdict::Unknown, None, &[]);
}

fn any_findings() -> impl Strategy<Value = BTreeMap<Check, bool>> {
    let one = (prop::sample::select(Check::ALL.to_vec()), any::<bool>());
    prop::collection::vec(one, 0..8).prop_map(|found| found.into_iter().collect())
}

fn any_rating() -> impl Strategy<Value = Option<Rating>> {
    let words = [
        None,
        Some(""),
        Some("LOW"),
        Some("MEDIUM"),
        Some("HIGH"),
        Some("CRITICAL"),
    ];
    let words = prop::sample::select(words.to_vec());
    prop::option::of(words.prop_map(Rating::read))
}

fn any_tax() -> impl Strategy<Value = Option<Figure>> {
    prop::option::of((0i64..12_000).prop_map(|bps| Figure(Decimal::new(bps, 2))))
}

fn any_scan(source: &'static str) -> impl Strategy<Value = Scan> {
    (
        any::<bool>(),
        any_rating(),
        any_findings(),
        any_tax(),
        any_tax(),
    )
        .prop_map(
            move |(complete, rating, findings, buy_tax_pct, sell_tax_pct)| Scan {
                source,
                complete,
                rating,
                findings,
                buy_tax_pct,
                sell_tax_pct,
                ..Scan::default()
            },
        )
}

fn any_scans() -> impl Strategy<Value = Vec<Scan>> {
    let sources = ["a", "b", "c"].map(|source| prop::option::of(any_scan(source)));
    sources.prop_map(|scans| scans.into_iter().flatten().collect())
}

proptest! {
    #[test]
    fn a_token_with_an_unknown_honeypot_is_never_safe(scans in any_scans()) {
        let judged = Judgement::of(&scans);
        let ruled_out = scans.iter().any(|scan| scan.complete && scan.finding(Check::Honeypot) == Some(false));
        let seen = scans.iter().any(|scan| scan.finding(Check::Honeypot) == Some(true));
        if judged.verdict == Verdict::Safe {
            let made = |check| scans.iter().any(|scan| scan.complete && scan.finding(check) == Some(false));
            prop_assert!(Check::SEVERE.into_iter().all(made));
        }
        if judged.verdict == Verdict::Safe || judged.verdict == Verdict::Caution {
            prop_assert!(ruled_out && !seen);
        }
        if seen {
            prop_assert_eq!(judged.verdict, Verdict::Danger);
        }
        prop_assert_eq!(judged.score.is_none(), judged.verdict == Verdict::Unknown);
    }

    #[test]
    fn the_order_of_scans_does_not_matter(scans in any_scans(), by in 0usize..3) {
        let mut turned = scans.clone();
        if !turned.is_empty() {
            let by = by % turned.len();
            turned.rotate_left(by);
        }
        prop_assert_eq!(Judgement::of(&scans), Judgement::of(&turned));
        turned.reverse();
        prop_assert_eq!(Judgement::of(&scans), Judgement::of(&turned));
    }

    #[test]
    fn one_risk_more_never_improves_anything(
        scans in any_scans(),
        which in any::<prop::sample::Index>(),
        check in prop::sample::select(Check::ALL.to_vec()),
    ) {
        prop_assume!(!scans.is_empty());
        let before = Judgement::of(&scans);
        let mut worse = scans;
        let which = which.index(worse.len());
        worse[which].findings.insert(check, true);
        let after = Judgement::of(&worse);
        prop_assert!(after.verdict >= before.verdict, "{:?} {:?}", before, after);
        if let (Some(before), Some(after)) = (before.score, after.score) {
            prop_assert!(after <= before);
        }
        prop_assert!(after.flags().contains(&check.name()));
    }

    #[test]
    fn a_higher_tax_or_level_never_improves_anything(scans in any_scans(), which in any::<prop::sample::Index>(), tax in 0i64..=100) {
        prop_assume!(!scans.is_empty());
        let before = Judgement::of(&scans);
        let which = which.index(scans.len());
        let mut taxed = scans.clone();
        let tax = Figure(Decimal::from(tax));
        let known = taxed[which].sell_tax_pct;
        // When no tax was known, a known tax can also complete the findings.
        if known.is_some_and(|known| known <= tax) {
            taxed[which].sell_tax_pct = Some(tax);
            // A figure above a hundred percent did not count as a tax.
            if pct(known).is_some() {
                prop_assert!(Judgement::of(&taxed).verdict >= before.verdict);
            }
        }
        let mut rated = scans;
        if let Some(rating) = rated[which].rating.filter(|rating| rating.readable) {
            let next = RiskLevel::ALL.into_iter().find(|level| *level > rating.level);
            rated[which].rating = Some(Rating { level: next.unwrap_or(rating.level), readable: true });
            let after = Judgement::of(&rated);
            prop_assert!(after.verdict >= before.verdict);
        }
    }

    #[test]
    fn an_unfinished_scan_never_makes_a_token_better(scans in any_scans(), extra in any_scan("d")) {
        prop_assume!(!extra.complete);
        let before = Judgement::of(&scans);
        let mut more = scans;
        more.push(extra);
        prop_assert!(Judgement::of(&more).verdict >= before.verdict);
    }
}
