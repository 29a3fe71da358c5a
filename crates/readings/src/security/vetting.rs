//! The verdict over a token: its contract, its holders and its market.

use super::{Holding, Judgement, RiskLevel, Scan, Sign, TradeSide, Trades, Verdict};
use crate::Figure;

/// A verdict over contract, holders and market together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vetting {
    /// Over all of it.
    pub judgement: Judgement,
    /// Over the contract alone.
    pub contract: Judgement,
}

/// Judges a token by its contract, its holders (with its creator's share in percent) and its market.
///
/// It is never better than the verdict over the contract alone, and never `safe` while no sale was
/// quoted.
#[must_use]
pub fn vet(
    scans: &[Scan],
    holding: &Holding,
    creator_pct: Option<Figure>,
    trades: &Trades,
) -> Vetting {
    let contract = Judgement::of(scans);
    let market = trades.signs();
    let trapped = market.iter().any(|sign| sign.name == "honeypot");
    let unsold = (trades.possible(TradeSide::Sell) != Some(true)).then_some(Sign {
        level: RiskLevel::Medium,
        name: "sale_not_shown",
    });
    let signs = contract
        .signs
        .iter()
        .copied()
        .chain(holding.signs(creator_pct))
        .chain(market)
        .chain(unsold);
    let cleared = contract.verdict != Verdict::Unknown && !trapped;
    let least = contract.risk_level.unwrap_or(RiskLevel::Low);
    let judgement = Judgement::from_signs(signs, cleared, least);
    Vetting {
        judgement,
        contract,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use alloy_primitives::{Address, U256};
    use proptest::prelude::*;

    use super::*;
    use crate::security::{Check, Holder, Probe, Quoted, Rating, Traded};

    fn scan(word: &str, findings: &[(Check, bool)]) -> Scan {
        Scan {
            source: "okx.token-scan",
            complete: true,
            rating: Some(Rating::read(Some(word))),
            findings: BTreeMap::from_iter(findings.iter().copied()),
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

    fn holders(share: &str) -> Holding {
        let holder = Holder {
            address: Address::repeat_byte(0x11),
            share_pct: share.parse().unwrap(),
            kind: None,
        };
        Holding::of(&[], &[holder], &BTreeSet::new())
    }

    fn verdict(scan: Scan, holding: &Holding, trades: &Trades) -> (Verdict, Vec<&'static str>) {
        let vetting = vet(&[scan], holding, None, trades);
        (vetting.judgement.verdict, vetting.judgement.flags())
    }

    #[test]
    fn all_three_must_be_fine() {
        let clean = || scan("LOW", &[(Check::Honeypot, false)]);
        let (fine, few) = (market(sold(9_950_000)), holders("12"));
        assert_eq!(verdict(clean(), &few, &fine), (Verdict::Safe, vec![]));
        assert_eq!(
            verdict(clean(), &holders("80"), &fine),
            (Verdict::Caution, vec!["holders_concentrated"])
        );
        assert_eq!(
            verdict(clean(), &few, &market(Traded::NoRoute)),
            (Verdict::Danger, vec!["cannot_sell", "sale_not_shown"])
        );
        assert_eq!(
            verdict(clean(), &few, &market(sold(1))),
            (Verdict::Danger, vec!["round_trip_loss"])
        );
        // Nobody could try: that is not safe, and it is not danger.
        let down = Traded::Unavailable("upstream_timeout".to_owned());
        assert_eq!(
            verdict(clean(), &few, &market(down)),
            (Verdict::Caution, vec!["sale_not_shown"])
        );
        // That it can be sold today does not rule out a honeypot that nobody looked for.
        assert_eq!(
            verdict(scan("LOW", &[]), &few, &fine),
            (Verdict::Unknown, vec![])
        );
    }

    proptest! {
        #[test]
        fn never_better_than_the_contract(
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
            let vetting = vet(&[scan(word, &findings)], &holders(&share.to_string()), creator, &trades);
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
