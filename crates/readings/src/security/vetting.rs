//! The verdict over a token as a whole: its contract, its holders and its market.

use super::{Holding, Judgement, RiskLevel, Scan, Sign, TradeSide, Trades};
use crate::Figure;

/// A verdict over the contract, the holders and the market together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vetting {
    /// The verdict over all three.
    pub judgement: Judgement,
    /// The verdict over the contract only.
    pub contract: Judgement,
}

/// Judges a token by its contract, its holders (with the creator's share in percent, and the number
/// of holders) and its market.
///
/// The verdict is never better than the verdict over only the contract. It is never `safe` without
/// a quoted sale, a quoted round trip, and known largest holders.
#[must_use]
pub fn vet(
    scans: &[Scan],
    holding: &Holding,
    creator_pct: Option<Figure>,
    holder_count: Option<u64>,
    trades: &Trades,
) -> Vetting {
    let contract = Judgement::of(scans);
    let market = trades.signs();
    let trapped = market.iter().any(|sign| sign.name == "honeypot");
    let unsold = (trades.possible(TradeSide::Sell) != Some(true)).then_some(Sign {
        level: RiskLevel::Medium,
        name: "sale_not_shown",
    });
    let mut probes = trades.probes.iter();
    let unmeasured = probes
        .any(|probe| probe.round_trip_loss_pct().is_none())
        .then_some(Sign {
            level: RiskLevel::Medium,
            name: "loss_not_shown",
        });
    let signs = holding
        .signs(creator_pct, holder_count)
        .into_iter()
        .chain(market)
        .chain(unsold)
        .chain(unmeasured);
    let judgement = contract.and(signs, !trapped);
    Vetting {
        judgement,
        contract,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use alloy_primitives::{Address, U256};
    use proptest::prelude::*;

    use super::*;
    use crate::security::{Basis, Check, Holder, Probe, Quoted, Rating, Traded, Verdict};

    /// Makes a scan that made every severe check, with these findings.
    fn scan(word: &str, findings: &[(Check, bool)]) -> Scan {
        let severe = Check::SEVERE.map(|check| (check, false));
        Scan {
            source: "okx.token-scan",
            complete: true,
            rating: Some(Rating::read(Some(word))),
            findings: severe.into_iter().chain(findings.iter().copied()).collect(),
            ..Scan::default()
        }
    }

    fn sold(back: u64) -> Traded {
        Traded::Quoted(Quoted {
            amount_in_atoms: U256::from(77),
            amount_out_atoms: U256::from(back),
            price_impact_pct: None,
            hops: Some(1),
            honeypot: None,
            received_decimals: None,
        })
    }

    fn market(sell: Traded) -> Trades {
        let buy = Traded::Quoted(Quoted {
            amount_in_atoms: U256::from(10_000_000),
            amount_out_atoms: U256::from(77),
            price_impact_pct: None,
            hops: Some(1),
            honeypot: None,
            received_decimals: None,
        });
        Trades {
            probes: vec![Probe { usd: 10, buy, sell }],
            atoms_per_usd: 1_000_000,
        }
    }

    /// Makes a list of two holders, of which the first has this share.
    fn holders(share: &str) -> Holding {
        let holder = |byte, share: &str| Holder {
            address: Address::repeat_byte(byte),
            share_pct: share.parse().unwrap(),
            kind: None,
        };
        let listed = [holder(0x11, share), holder(0x12, "0.5")];
        Holding::of(&[], &listed, &BTreeSet::new())
    }

    fn verdict(scan: Scan, holding: &Holding, trades: &Trades) -> (Verdict, Vec<&'static str>) {
        let vetting = vet(&[scan], holding, None, Some(2), trades);
        (vetting.judgement.verdict, vetting.judgement.flags())
    }

    #[test]
    fn a_safe_verdict_needs_contract_holders_and_market() {
        let clean = || scan("LOW", &[(Check::Honeypot, false)]);
        let (fine, few) = (market(sold(9_950_000)), holders("12"));
        assert_eq!(verdict(clean(), &few, &fine), (Verdict::Safe, vec![]));
        assert_eq!(
            verdict(clean(), &holders("80"), &fine),
            (Verdict::Caution, vec!["holders_concentrated"])
        );
        assert_eq!(
            verdict(clean(), &few, &market(Traded::NoRoute)),
            (
                Verdict::Danger,
                vec!["cannot_sell", "loss_not_shown", "sale_not_shown"]
            )
        );
        assert_eq!(
            verdict(clean(), &few, &market(sold(1))),
            (Verdict::Danger, vec!["round_trip_loss"])
        );
        // A trade that could not be tried is no sign of safety or of danger.
        let down = Traded::Unavailable("upstream_timeout".to_owned());
        assert_eq!(
            verdict(clean(), &few, &market(down)),
            (Verdict::Caution, vec!["loss_not_shown", "sale_not_shown"])
        );
        // A sale that works today does not rule out a honeypot that no scanner looked for.
        assert_eq!(
            verdict(scan("LOW", &[]), &few, &fine),
            (Verdict::Unknown, vec![])
        );
    }

    #[test]
    fn severe_checks_that_no_scanner_made_do_not_count_as_passed() {
        let (fine, few) = (market(sold(9_950_000)), holders("12"));
        let without = |left_out: &[Check]| {
            let mut scan = scan("LOW", &[(Check::Honeypot, false)]);
            scan.findings.retain(|check, _| !left_out.contains(check));
            vet(&[scan], &few, None, Some(2), &fine).judgement
        };
        for check in Check::SEVERE {
            let judged = without(&[check]);
            assert_eq!(
                (judged.verdict, judged.score, judged.flags()),
                (Verdict::Caution, Some(85), vec!["severe_checks_unknown"]),
                "{check}"
            );
            assert_eq!(judged.severe_unknown, [check]);
        }
        let none = without(&Check::SEVERE);
        assert_eq!((none.verdict, none.score), (Verdict::Caution, Some(44)));
        // An unfinished scan has not made these checks either.
        let partial = Scan {
            complete: false,
            source: "goplus.token-security",
            ..scan("LOW", &[])
        };
        let mut bare = scan("LOW", &[(Check::Honeypot, false)]);
        bare.findings
            .retain(|check, _| !Check::SEVERE.contains(check));
        let judged = vet(&[bare.clone(), partial], &few, None, Some(2), &fine).judgement;
        assert_eq!((judged.verdict, judged.score), (Verdict::Caution, Some(44)));
        // A risk that was found is a sign of its own, and is not better than an unknown one.
        let mut found = bare;
        found.findings.insert(Check::Blacklist, true);
        let judged = vet(&[found], &few, None, Some(2), &fine).judgement;
        assert_eq!(judged.score, Some(44));
        assert!(judged.flags().contains(&"blacklist"));
    }

    #[test]
    fn holders_that_are_not_listed_are_not_ignored() {
        let clean = [scan("LOW", &[(Check::Honeypot, false)])];
        let fine = market(sold(9_950_000));
        let flags = |holding: &Holding, count| {
            let judged = vet(&clean, holding, None, count, &fine).judgement;
            (judged.verdict, judged.flags())
        };
        let missing = (Verdict::Caution, vec!["holders_not_shown"]);
        // Two rows are the two largest holders only when there are no others.
        let two = holders("12");
        assert_eq!(flags(&two, Some(2)), (Verdict::Safe, vec![]));
        assert_eq!(flags(&two, Some(5120)), missing);
        assert_eq!(flags(&two, None), missing);
        assert_eq!(flags(&Holding::default(), Some(2)), missing);
    }

    #[test]
    fn a_verdict_names_its_basis() {
        let clean = [scan("LOW", &[(Check::Honeypot, false)])];
        let trades = market(sold(9_950_000));
        let judged = Judgement::of(&clean);
        let basis = Basis::of(&clean, &judged).with_market(
            holders("12").concentration.as_ref(),
            Some(2),
            &trades,
        );
        assert_eq!(
            serde_json::to_value(basis).unwrap(),
            serde_json::json!({
                "scanners": ["okx.token-scan"],
                "checks_made": 8,
                "checks_total": 36,
                "severe_unknown": [],
                "holders_counted": 2,
                "holders_complete": true,
                "sales_quoted_usd": ["10"],
                "round_trips_quoted_usd": ["10"],
            })
        );
    }

    proptest! {
        #[test]
        fn the_vetting_is_never_better_than_the_contract(
            word in prop::sample::select(vec!["LOW", "MEDIUM", "HIGH", "CRITICAL", "?"]),
            honeypot in prop::option::of(any::<bool>()),
            share in 0u8..=100,
            creator in prop::option::of(0u8..=100),
            back in 0u64..20_000_000,
            outcome in 0u8..3,
        ) {
            let findings: Vec<_> = honeypot.map(|found| (Check::Honeypot, found)).into_iter().collect();
            let trades = market(match outcome {
                0 => sold(back),
                1 => Traded::NoRoute,
                _ => Traded::Unavailable("upstream_timeout".to_owned()),
            });
            let creator = creator.map(|pct| pct.to_string().parse().unwrap());
            let vetting = vet(&[scan(word, &findings)], &holders(&share.to_string()), creator, Some(2), &trades);
            prop_assert!(vetting.judgement.verdict >= vetting.contract.verdict);
            if let (Some(all), Some(contract)) = (vetting.judgement.score, vetting.contract.score) {
                prop_assert!(all <= contract);
            }
            if vetting.judgement.verdict == Verdict::Safe {
                prop_assert_eq!(outcome, 0);
                prop_assert_eq!(honeypot, Some(false));
            }
        }
    }
}
