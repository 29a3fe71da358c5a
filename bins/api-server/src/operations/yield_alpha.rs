//! `GET /yield-alpha`: the best yield pools by the published rules of selection and grades.

use readings::Extent;
use readings::defi::{
    grade::{Grade, RULES},
    market,
    pool::{MAX_APY_PCT, MIN_DAYS, MIN_TVL_USD},
};
use serde_json::{Value, json};

use super::yields::{NONE, edition};
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::snapshots::yield_pools;
use crate::source_report::SourceReport;
use crate::sources::{Defi, EDITION_FRESH_SECONDS};

pub(super) async fn answer(
    context: &Context,
    defi: &Defi,
    _call: &Call,
    extent: Extent,
) -> Result<Answered, ErrorReply> {
    let edition = edition(defi, context.now()).await?;
    let mut report = SourceReport::default();
    edition.count_in(&mut report);
    let pools = market::ranked(&edition.markets, extent);
    report.cut("pools", pools.len(), edition.markets.len());
    let data = json!({
        "pools": pools,
        "shown": edition.markets.len(),
        "considered": edition.seen(),
        "snapshot_id": edition.snapshot_id(),
        "rules": rules(),
    });
    Ok(Answered {
        none: NONE,
        edition: Some(edition.snapshot_id().to_owned()),
        ..Answered::new(data, EDITION_FRESH_SECONDS)
            .with_report(report)
            .origin("pools", yield_pools::SOURCE, Method::Direct)
            .origin("pools/*/risk_grade", yield_pools::SOURCE, Method::Derived)
    })
}

/// The rules of selection, grades and order.
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
