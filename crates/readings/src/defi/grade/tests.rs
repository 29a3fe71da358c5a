//! Tests of the rules, of their points, and of what each appetite accepts.

use super::*;

fn calm() -> Facts<'static> {
    Facts {
        project: "aave-v3",
        tvl_usd: Decimal::from(512_000_000),
        apy_pct: Decimal::from(4),
        reward_pct: Some(Decimal::ZERO),
        left_out: false,
        il_risk: Some(false),
        days: Some(400),
        mean_30d_pct: Some(Decimal::from(4)),
    }
}

fn judged(facts: Facts<'_>) -> (Grade, Vec<&'static str>) {
    let (grade, why) = grade(&facts);
    (grade, why.iter().map(|rule| rule.says).collect())
}

#[test]
fn the_best_pool_names_its_reasons() {
    assert_eq!(judged(calm()), (Grade::A, vec![DEEP.says, BASE_ONLY.says]));
}

#[test]
fn every_rule_can_apply_and_costs_what_it_says() {
    let d = Decimal::from;
    let cases = [
        (
            Facts {
                tvl_usd: d(99_999_999),
                ..calm()
            },
            MEDIUM,
        ),
        (
            Facts {
                tvl_usd: d(9_999_999),
                ..calm()
            },
            THIN,
        ),
        (
            Facts {
                reward_pct: Some(d(1)),
                ..calm()
            },
            SOME_REWARD,
        ),
        (
            Facts {
                reward_pct: Some(d(2)),
                ..calm()
            },
            MOSTLY_REWARD,
        ),
        (
            Facts {
                reward_pct: None,
                ..calm()
            },
            SPLIT_UNKNOWN,
        ),
        (
            Facts {
                left_out: true,
                ..calm()
            },
            LEFT_OUT,
        ),
        (
            Facts {
                il_risk: Some(true),
                ..calm()
            },
            LOSS,
        ),
        (
            Facts {
                il_risk: None,
                ..calm()
            },
            LOSS_UNKNOWN,
        ),
        (
            Facts {
                apy_pct: d(16),
                mean_30d_pct: Some(d(16)),
                ..calm()
            },
            HIGH,
        ),
        (
            Facts {
                apy_pct: d(31),
                mean_30d_pct: Some(d(31)),
                ..calm()
            },
            VERY_HIGH,
        ),
        (
            Facts {
                apy_pct: d(101),
                mean_30d_pct: Some(d(101)),
                ..calm()
            },
            EXTREME,
        ),
        (
            Facts {
                days: Some(89),
                ..calm()
            },
            YOUNG,
        ),
        (
            Facts {
                days: None,
                ..calm()
            },
            NO_HISTORY,
        ),
        (
            Facts {
                mean_30d_pct: Some(Decimal::new(19, 1)),
                ..calm()
            },
            SPIKE,
        ),
        (
            Facts {
                mean_30d_pct: None,
                ..calm()
            },
            NO_MEAN,
        ),
        (
            Facts {
                project: "aave-v33",
                ..calm()
            },
            NEW_PROTOCOL,
        ),
    ];
    for (facts, rule) in cases {
        let (grade, why) = judged(facts);
        assert!(why.contains(&rule.says), "{why:?}");
        assert_eq!(grade, Grade::of_points(rule.points), "{}", rule.says);
        assert!(RULES.contains(&rule));
    }
}

#[test]
fn points_add_up_and_the_heaviest_come_first() {
    let bait = Facts {
        project: "some-farm",
        tvl_usd: Decimal::from(2_000_000),
        apy_pct: Decimal::from(400),
        reward_pct: Some(Decimal::from(390)),
        il_risk: Some(true),
        ..calm()
    };
    let (grade, why) = judged(bait);
    assert_eq!(grade, Grade::D);
    assert_eq!(why.first(), Some(&EXTREME.says));
}

#[test]
fn each_appetite_accepts_its_grades() {
    let taken = |appetite: Appetite| {
        let grades = [Grade::A, Grade::B, Grade::C, Grade::D];
        grades.map(|grade| appetite.takes_grade(grade))
    };
    assert_eq!(taken(Appetite::Low), [true, true, false, false]);
    assert_eq!(taken(Appetite::Medium), [true, true, true, false]);
    assert_eq!(taken(Appetite::High), [true; 4]);
}

#[test]
fn established_names_are_folded() {
    assert!(ESTABLISHED.iter().all(|name| folded(name) == *name));
    assert!(ESTABLISHED.is_sorted());
}
