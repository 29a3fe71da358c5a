//! Tests of premiums, labels, missing figures, order and the macro core.

use super::*;

const OPEN: &str = "2026-11-20T16:00:00Z";
const WEEKEND: &str = "2026-11-21T12:00:00Z";

fn of(text: &str) -> Option<Decimal> {
    text.parse::<Figure>().ok().map(Figure::get)
}

fn market(coin: &str) -> PerpContext {
    PerpContext {
        coin: coin.to_owned(),
        dex: coin.split(':').next().unwrap().to_owned(),
        mark: of("183.5"),
        mid: of("183.5"),
        oracle: of("183.4"),
        open_interest: of("10"),
        volume_24h: of("5"),
        funding: of("0.0000125"),
        ..PerpContext::default()
    }
}

fn pulse(markets: &[PerpContext], now: &str) -> (Tokenized, Vec<Omitted>) {
    tokenized(markets, &[], now.parse().unwrap())
}

#[test]
fn a_premium_is_claimed_only_while_the_market_is_open() {
    let (rows, omitted) = pulse(&[market("xyz:NVDA")], OPEN);
    assert_eq!(rows.equities[0].premium_bps.unwrap().to_string(), "5.45");
    assert_eq!(
        (rows.equities[0].oracle_state, omitted),
        (OracleState::Open, Vec::new())
    );
    let (rows, omitted) = pulse(&[market("xyz:NVDA")], WEEKEND);
    assert_eq!(
        (rows.equities[0].premium_bps, rows.equities[0].oracle_state),
        (None, OracleState::MarketClosed)
    );
    assert_eq!(
        omitted,
        [Omitted::new(
            "tokenized.equities[].premium_bps",
            "market_closed"
        )]
    );
    let json = serde_json::to_value(&rows.equities[0]).unwrap();
    assert_eq!(json["oracle_state"], "market_closed");
    assert_eq!(json["oracle_state_basis"], "calendar");
}

#[test]
fn a_mark_without_trades_is_labelled() {
    let dead = PerpContext {
        volume_24h: of("0"),
        mid: None,
        ..market("xyz:GOLD")
    };
    let (rows, _) = pulse(&[dead], OPEN);
    assert_eq!(rows.commodities[0].labels, ["no_volume", "one_sided_book"]);
    assert_eq!(rows.commodities[0].premium_bps, None);
}

#[test]
fn figures_without_a_source_are_left_out_and_named() {
    let markets = [
        PerpContext {
            mark: None,
            ..market("xyz:TSLA")
        },
        PerpContext {
            oracle: None,
            ..market("flx:TSLA")
        },
        PerpContext {
            delisted: true,
            ..market("xyz:AAPL")
        },
        market("vntl:SPACEX"),
        market("xyz:NEWCO"),
        market("xyz:OTHERCO"),
    ];
    let (rows, omitted) = pulse(&markets, OPEN);
    assert_eq!(rows, Tokenized::default());
    assert_eq!(
        omitted,
        [
            Omitted::new("tokenized.equities.xyz:TSLA", "no_mark_or_oracle"),
            Omitted::new("tokenized.equities.flx:TSLA", "no_mark_or_oracle"),
            Omitted::new("tokenized.vntl:SPACEX", "no_public_market"),
            Omitted::new("tokenized.xyz", "2_not_classified"),
        ]
    );
}

#[test]
fn rows_come_by_open_interest() {
    let large = PerpContext {
        open_interest: of("11"),
        ..market("xyz:TSLA")
    };
    let blind = PerpContext {
        open_interest: None,
        ..market("xyz:AAPL")
    };
    let (rows, _) = pulse(&[blind, market("xyz:NVDA"), large], OPEN);
    let coins: Vec<_> = rows.equities.iter().map(|row| row.coin.as_str()).collect();
    assert_eq!(coins, ["xyz:TSLA", "xyz:NVDA", "xyz:AAPL"]);
}

#[test]
fn two_of_three_readings_are_enough() {
    use crate::macro_data::{Instrument, Observation};
    let now: Timestamp = WEEKEND.parse().unwrap();
    let reading = |instrument: &'static Instrument, value: &str| {
        let observation = Observation {
            value: of(value).unwrap(),
            previous: None,
            as_of: "2026-11-20T20:30:00Z".parse().unwrap(),
            source: "s",
            delayed_minutes: 0,
            lag_sessions: 0,
            live: false,
        };
        Reading::new(instrument, &observation, now).ok()
    };
    let ten = || reading(&Instrument::US10Y, "4.08");
    let vix = || reading(&Instrument::VIX, "17.4");
    let core = MacroCore::default;
    assert!(!core().is_enough());
    assert!(
        !MacroCore {
            us10y: ten(),
            ..core()
        }
        .is_enough()
    );
    assert!(
        MacroCore {
            us10y: ten(),
            vix: vix(),
            ..core()
        }
        .is_enough()
    );
    assert!(
        MacroCore {
            us2y: reading(&Instrument::US2Y, "3.5"),
            vix: vix(),
            ..core()
        }
        .is_enough()
    );
    // The yield for two years and the slope count as one reading.
    let curve = MacroCore {
        us2y: reading(&Instrument::US2Y, "3.5"),
        spread_2s10s_bp: Some(Figure(Decimal::ONE)),
        ..core()
    };
    assert!(!curve.is_enough());
}

/// `crates/judges/py/figures.py` computes these rows of open and closed markets a second time.
#[test]
fn recorded_premiums_equal_those_of_the_rows() {
    const PATH: &str = "../../fixtures/vectors/basis.json";
    let prices = [
        ("183.5", "183.4"),
        ("183.4", "183.5"),
        ("4081.25", "4081.25"),
        ("0.00001234", "0.00001233"),
        ("1.1", "1"),
        ("99999.99", "100000"),
        ("6880.12", "6794.3381"),
        ("57.031", "58.9"),
    ];
    let mut told = Vec::new();
    for (at, volume) in [(OPEN, "5"), (OPEN, "0"), (WEEKEND, "5")] {
        for (mark, oracle) in prices {
            let of = PerpContext {
                mark: of(mark),
                oracle: of(oracle),
                volume_24h: of(volume),
                ..market("xyz:NVDA")
            };
            let (rows, _) = pulse(&[of], at);
            let row = serde_json::to_value(&rows.equities[0]).unwrap();
            told.push(serde_json::json!({
                "at": at,
                "volume_24h_usd": row["volume_24h_usd"],
                "mark": row["mark"],
                "oracle": row["oracle"],
                "oracle_state": row["oracle_state"],
                "premium_bps": row["premium_bps"],
            }));
        }
    }
    let text = format!("{}\n", serde_json::to_string_pretty(&told).unwrap());
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(PATH);
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == text,
        "{PATH} is out of date: run with UPDATE_VECTORS=1"
    );
}
