//! The concentration of the holders of a token.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use alloy_primitives::Address;
use rust_decimal::Decimal;
use serde::Serialize;

use super::{Holder, HolderKind, RiskLevel, Scan, Sign};
use crate::Figure;

/// The number of holders whose shares make up the concentration.
const TOP: usize = 10;
/// The factor by which the shares of one holder in two lists may differ. Beyond it, one of them is
/// wrong.
const AGREEMENT: Decimal = Decimal::from_parts(3, 0, 0, false, 0);
/// Smaller shares, in percent, are not compared, because small balances change often.
const COMPARED_PCT: Decimal = Decimal::ONE;
/// The highest sum of the shares, in percent, that rounding can explain.
const WHOLE_PCT: Decimal = Decimal::from_parts(1005, 0, 0, false, 1);

/// The concentration of the holders.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Holding {
    /// The figure, if the lists give one.
    pub concentration: Option<Concentration>,
    /// Why there is none: `no_holder_list`, `holder_lists_disagree` or
    /// `holder_shares_exceed_whole`.
    pub missing: Option<&'static str>,
}

/// The share of the largest holders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Concentration {
    /// The share of the ten largest holders in percent of the supply, without burned, pooled and
    /// locked tokens. When fewer than ten are listed, the share of all of them.
    pub top10_pct: Figure,
    /// How many holders these are. Below ten the figure is a lower bound, unless there are no more
    /// holders.
    pub counted: usize,
    /// The holders that were left out, the largest first.
    pub excluded: Vec<Excluded>,
}

impl Concentration {
    /// Whether the figure is a lower bound. It is when fewer than ten holders were counted, and
    /// there are more holders than were listed or their number is unknown.
    #[must_use]
    pub fn is_lower_bound(&self, holder_count: Option<u64>) -> bool {
        let listed = self.counted.saturating_add(self.excluded.len());
        let listed = u64::try_from(listed).unwrap_or(u64::MAX);
        self.counted < TOP && holder_count.is_none_or(|count| count > listed)
    }
}

/// A holder that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// Its address, with the checksum.
    pub address: String,
    /// Why it was left out.
    pub kind: HolderKind,
    /// Its share of the supply in percent.
    pub share_pct: Figure,
}

impl Holding {
    /// Computes the concentration from the lists of all `scans` and the `further` list. `pools` are
    /// pools that are known in addition.
    #[must_use]
    pub fn of(scans: &[Scan], further: &[Holder], pools: &BTreeSet<Address>) -> Self {
        let known_pools = scans.iter().flat_map(|scan| &scan.liquidity.pools);
        let pools: BTreeSet<_> = known_pools
            .map(|pool| pool.address)
            .chain(pools.iter().copied())
            .collect();
        let mut held: BTreeMap<Address, (Decimal, Option<HolderKind>)> = BTreeMap::new();
        for holder in scans.iter().flat_map(|scan| &scan.holders).chain(further) {
            let share = holder.share_pct.get();
            let kind = match holder.address {
                address if HolderKind::is_burn(address) => Some(HolderKind::Burn),
                address if pools.contains(&address) => Some(HolderKind::Pool),
                _ => holder.kind,
            };
            match held.get_mut(&holder.address) {
                None => {
                    held.insert(holder.address, (share, kind));
                }
                Some((known, _)) if disagree(*known, share) => {
                    return Self::missing("holder_lists_disagree");
                }
                Some((known, known_kind)) => {
                    *known = share.max(*known);
                    *known_kind = kind.max(*known_kind);
                }
            }
        }
        Self::over(held)
    }

    fn over(held: BTreeMap<Address, (Decimal, Option<HolderKind>)>) -> Self {
        if held.is_empty() {
            return Self::missing("no_holder_list");
        }
        let total = sum(held.values().map(|(share, _)| *share));
        if total.is_none_or(|total| total > WHOLE_PCT) {
            return Self::missing("holder_shares_exceed_whole");
        }
        let mut excluded = Vec::new();
        let mut counted = Vec::new();
        for (address, (share, kind)) in held {
            match kind {
                Some(kind) => excluded.push((Reverse(share), address, kind)),
                None => counted.push(share),
            }
        }
        excluded.sort_unstable();
        counted.sort_unstable_by_key(|share| Reverse(*share));
        counted.truncate(TOP);
        let top10 = sum(counted.iter().copied()).unwrap_or_default();
        let excluded = excluded
            .into_iter()
            .map(|(Reverse(share), address, kind)| Excluded {
                address: address.to_string(),
                kind,
                share_pct: Figure(share),
            });
        Self {
            concentration: Some(Concentration {
                top10_pct: Figure(top10.min(Decimal::ONE_HUNDRED)),
                counted: counted.len(),
                excluded: excluded.collect(),
            }),
            missing: None,
        }
    }

    fn missing(reason: &'static str) -> Self {
        Self {
            concentration: None,
            missing: Some(reason),
        }
    }

    /// Returns the signs that the shares of the largest holders and of the creator (in percent)
    /// give: half of the supply with ten holders, a fifth or half with the creator, and unknown
    /// largest holders. `holder_count` is the number of all holders.
    #[must_use]
    pub fn signs(&self, creator_pct: Option<Figure>, holder_count: Option<u64>) -> Vec<Sign> {
        let half = Decimal::from(50);
        let mut signs = Vec::new();
        let shown = self
            .concentration
            .as_ref()
            .is_some_and(|found| !found.is_lower_bound(holder_count));
        if !shown {
            signs.push(Sign {
                level: RiskLevel::Medium,
                name: "holders_not_shown",
            });
        }
        let top10 = self
            .concentration
            .as_ref()
            .map(|found| found.top10_pct.get());
        if top10.is_some_and(|top10| top10 >= half) {
            signs.push(Sign {
                level: RiskLevel::Medium,
                name: "holders_concentrated",
            });
        }
        let creator = creator_pct.map(Figure::get).unwrap_or_default();
        if creator >= half {
            signs.push(Sign {
                level: RiskLevel::High,
                name: "creator_holds_half",
            });
        } else if creator >= Decimal::from(20) {
            signs.push(Sign {
                level: RiskLevel::Medium,
                name: "creator_holds_much",
            });
        }
        signs
    }
}

fn sum(mut shares: impl Iterator<Item = Decimal>) -> Option<Decimal> {
    shares.try_fold(Decimal::ZERO, |sum, share| sum.checked_add(share))
}

/// Whether two shares of one holder cannot both be right. That is so when one source states a
/// percentage and the other a fraction.
fn disagree(a: Decimal, b: Decimal) -> bool {
    let (less, more) = (a.min(b), a.max(b));
    more > COMPARED_PCT && less.checked_mul(AGREEMENT).is_none_or(|bound| more > bound)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::address;

    use super::*;

    fn holder(last: u8, share: &str, kind: Option<HolderKind>) -> Holder {
        Holder {
            address: Address::repeat_byte(last),
            share_pct: share.parse().unwrap(),
            kind,
        }
    }

    fn concentration(holders: &[Holder], pools: &[Address]) -> Holding {
        Holding::of(&[], holders, &pools.iter().copied().collect())
    }

    #[test]
    fn burned_pooled_and_locked_tokens_do_not_count() {
        let mut holders = vec![
            holder(0x11, "10", None),
            holder(0x22, "4.5", None),
            holder(0x33, "20", Some(HolderKind::Locker)),
            holder(0x44, "8", None),
        ];
        holders.push(Holder {
            address: address!("000000000000000000000000000000000000dEaD"),
            ..holder(0, "30", None)
        });
        holders.push(Holder {
            address: Address::ZERO,
            ..holder(0, "2", None)
        });
        let found = concentration(&holders, &[Address::repeat_byte(0x44)])
            .concentration
            .unwrap();
        assert_eq!(
            (found.top10_pct.to_string().as_str(), found.counted),
            ("14.5", 2)
        );
        let kinds: Vec<_> = found
            .excluded
            .iter()
            .map(|e| (e.kind, e.share_pct.to_string()))
            .collect();
        let expected = [
            (HolderKind::Burn, "30"),
            (HolderKind::Locker, "20"),
            (HolderKind::Pool, "8"),
            (HolderKind::Burn, "2"),
        ];
        assert_eq!(
            kinds,
            expected.map(|(kind, share)| (kind, share.to_owned()))
        );
    }

    #[test]
    fn ten_are_counted_and_the_order_does_not_matter() {
        let mut holders: Vec<_> = (1..=14u8)
            .map(|n| holder(n, &n.to_string(), None))
            .collect();
        for holder in &mut holders {
            holder.share_pct = Figure(holder.share_pct.get() / Decimal::TWO);
        }
        let found = concentration(&holders, &[]).concentration.unwrap();
        // The sum 14 + 13 + … + 5, halved.
        assert_eq!(
            (found.top10_pct.to_string().as_str(), found.counted),
            ("47.5", 10)
        );
        holders.reverse();
        assert_eq!(concentration(&holders, &[]).concentration.unwrap(), found);
        // A row that is repeated is still one holder.
        holders.extend(holders.clone());
        assert_eq!(concentration(&holders, &[]).concentration.unwrap(), found);
    }

    #[test]
    fn shares_that_cannot_be_right_give_no_figure() {
        let missing = |holders: &[Holder]| concentration(holders, &[]).missing;
        assert_eq!(missing(&[]), Some("no_holder_list"));
        // One list has percentages, and the other fractions.
        let both = [holder(0x11, "31.2", None), holder(0x11, "0.312", None)];
        assert_eq!(missing(&both), Some("holder_lists_disagree"));
        let moved = [holder(0x11, "31.2", None), holder(0x11, "29", None)];
        assert_eq!(missing(&moved), None);
        let much = [holder(0x11, "60", None), holder(0x22, "55", None)];
        assert_eq!(missing(&much), Some("holder_shares_exceed_whole"));
        let whole = [holder(0x11, "60.02", None), holder(0x22, "40.01", None)];
        assert_eq!(
            concentration(&whole, &[])
                .concentration
                .unwrap()
                .top10_pct
                .to_string(),
            "100"
        );
    }

    #[test]
    fn concentration_is_a_risk() {
        let signs = |share: &str, creator: Option<&str>| {
            let holding = concentration(&[holder(0x11, share, None)], &[]);
            let signs = holding.signs(creator.map(|pct| pct.parse().unwrap()), Some(1));
            signs.iter().map(|sign| sign.name).collect::<Vec<_>>()
        };
        assert!(signs("49.9", None).is_empty());
        assert_eq!(
            signs("50", Some("20")),
            ["holders_concentrated", "creator_holds_much"]
        );
        assert_eq!(signs("1", Some("50")), ["creator_holds_half"]);
    }
}
