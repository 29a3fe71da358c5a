//! `GET /yield-farming-active`: the open yield positions of an account.

use data_sources::aave;
use readings::defi::position::{fill_yields, lacks_health, merged, total_usd};
use serde_json::json;

use super::fault;
use crate::answer::{Answered, Method, Part, Warning};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::snapshots::yield_pools;
use crate::source_report::SourceReport;
use crate::sources::Defi;

const FRESH_SECONDS: u64 = 60;
const OKX: &str = "okx.defi";
/// The chains on which OKX knows protocols.
const CHAINS: [u64; 8] = [1, 10, 56, 137, aave::CHAIN_ID, 8453, 42161, 43114];
/// Members whose `null` means that there is none: an account without a debt has no health, and an
/// unknown yield has no source.
const NONE: &[&str] = &["health", "apy_source"];

pub(super) async fn answer(
    context: &Context,
    defi: &Defi,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let address = call.address_or_own()?;
    let max_age = call.max_age();
    let (indexed, on_chain) = tokio::join!(
        defi.okx.positions(address, &CHAINS, max_age),
        defi.aave.positions(address, max_age),
    );
    if let (Err(indexed), Err(on_chain)) = (&indexed, &on_chain) {
        tracing::debug!(%on_chain, "the chain cannot be read either");
        return Err(fault::core_missing("positions", indexed.reason()));
    }
    let mut report = SourceReport::default();
    let both = indexed.is_ok() && on_chain.is_ok();
    let on_chain = report.take(context, "positions", on_chain);
    let covered = on_chain.as_ref().is_none_or(|read| read.complete);
    let on_chain = on_chain.as_deref().cloned().unwrap_or_default();
    let indexed = report
        .take(context, "positions", indexed)
        .unwrap_or_default();
    let core = report.core();
    let now = context.now();
    let mut parts = vec![Part::of("positions", &report.sources, FRESH_SECONDS)];
    let mut positions = merged(on_chain, indexed.to_vec());
    if lacks_health(&positions) {
        report.missing("positions[].health", "not_named_by_source", OKX);
    }
    if positions.iter().any(|position| position.apy_pct.is_none()) {
        match defi.edition(now).await {
            Ok(edition) => {
                if fill_yields(&mut positions, &edition.markets) {
                    edition.count_in(&mut report);
                    parts.push(edition.part("apy_pct"));
                }
            }
            Err(_) => report.missing(
                "positions[].apy_pct",
                "yield_snapshot_missing",
                yield_pools::SOURCE,
            ),
        }
    }
    let total = total_usd(&positions);
    let origins: Vec<_> = positions
        .iter()
        .map(|position| (position.source, position.apy_source))
        .collect();
    let data = json!({
        "address": address.to_string(),
        "positions": positions,
        "total_usd": total,
        "total_usd_complete": both && covered && total.is_some(),
    });
    let mut answered = Answered::of_parts(data, parts).with_report(report).origin(
        "total_usd",
        core,
        Method::Derived,
    );
    for (at, (source, apy_source)) in origins.into_iter().enumerate() {
        answered = answered.origin(format!("positions/{at}"), source, Method::Direct);
        if let Some(apy_source) = apy_source {
            let field = format!("positions/{at}/apy_pct");
            answered = answered.origin(field, apy_source, Method::Direct);
        }
    }
    if !covered {
        answered.warnings.push(Warning {
            code: "positions_incomplete",
            message: "the account has more at aave-v3 on chain 196 than the reserves that are read: positions and \
                      total_usd lack it unless okx.defi knows it"
                .to_owned(),
        });
    }
    answered.none = NONE;
    Ok(answered)
}
