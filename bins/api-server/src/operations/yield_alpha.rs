//! `GET /yield-alpha`.

use readings::defi::{
    grade::{Grade, RULES},
    market,
    pool::{MAX_APY_PCT, MIN_DAYS, MIN_TVL_USD},
};
use serde_json::{Value, json};

use super::Call;
use super::legs::Legs;
use super::yields::{FRESH_SECONDS, NONE};
use crate::Sources;
use crate::answer::{Answered, Method};
use crate::reply::ErrorReply;

pub(super) async fn answer(sources: &Sources, _call: &Call) -> Result<Answered, ErrorReply> {
    let edition = sources.yields.edition(sources.now()).await?;
    let mut legs = Legs::default();
    edition.count_in(&mut legs);
    let data = json!({
        "pools": market::ranked(&edition.markets),
        "shown": edition.markets.len(),
        "considered": edition.seen(),
        "snapshot_id": edition.snapshot_id(),
        "rules": rules(),
    });
    Ok(Answered {
        none: NONE,
        edition: Some(edition.snapshot_id().to_owned()),
        ..Answered::new(data, FRESH_SECONDS)
            .with_legs(legs)
            .origin("pools", super::yields::dataset::SOURCE, Method::Direct)
            .origin(
                "pools/*/risk_grade",
                super::yields::dataset::SOURCE,
                Method::Derived,
            )
    })
}

/// What is shown, how it is graded and how it is ordered.
pub(super) fn rules() -> Value {
    let grades = [Grade::A, Grade::B, Grade::C, Grade::D];
    let weights = grades.map(|grade| json!({"grade": grade, "weight_pct": grade.weight_pct()}));
    json!({
        "shown": {
            "min_tvl_usd": MIN_TVL_USD.to_string(),
            "min_days": MIN_DAYS,
            "max_apy_pct": MAX_APY_PCT.to_string(),
            "outliers": false,
            "rewards": "counted only when every reward token is on the reviewed list of liquid ones",
        },
        "grade": "A up to 1 point, B up to 3, C up to 5, D above",
        "points": RULES,
        "order": weights,
    })
}
