//! `GET /yield-farming-active`.

use data_sources::aave;
use readings::defi::position::{fill_yields, merged, total_usd};
use serde_json::json;

use super::legs::Legs;
use super::sub_wallet::address_or_own;
use super::{Call, fault};
use crate::Sources;
use crate::answer::{Answered, Method};
use crate::reply::ErrorReply;

const FRESH_SECONDS: u64 = 60;
/// Where OKX knows protocols.
const CHAINS: [u64; 8] = [1, 10, 56, 137, aave::CHAIN_ID, 8453, 42161, 43114];
/// Members whose `null` means that there is none: an account without a debt has no health.
const NONE: &[&str] = &["health"];

pub(super) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let address = address_or_own(call)?;
    let max_age = call.max_age();
    let (indexed, on_chain) = tokio::join!(
        sources.yields.okx.positions(address, &CHAINS, max_age),
        sources.yields.aave.positions(address, max_age),
    );
    if let (Err(indexed), Err(on_chain)) = (&indexed, &on_chain) {
        tracing::debug!(%on_chain, "the chain cannot be read either");
        return Err(fault::core_missing("positions", indexed.reason()));
    }
    let mut legs = Legs::default();
    let complete = indexed.is_ok() && on_chain.is_ok();
    let on_chain = legs
        .take(sources, "positions", on_chain)
        .unwrap_or_default();
    let indexed = legs.take(sources, "positions", indexed).unwrap_or_default();
    let mut positions = merged(on_chain.to_vec(), indexed.to_vec());
    if positions.iter().any(|position| position.apy_pct.is_none()) {
        match sources.yields.edition_if_any(sources.now()).await {
            Some(edition) => fill_yields(&mut positions, &edition.markets),
            None => legs.missing(
                "positions[].apy_pct",
                "yield_snapshot_missing",
                super::yields::dataset::SOURCE,
            ),
        }
    }
    let total = total_usd(&positions);
    let data = json!({
        "address": address.to_string(),
        "positions": positions,
        "total_usd": total,
        "total_usd_complete": complete && total.is_some(),
    });
    let answered = Answered::new(data, FRESH_SECONDS).with_legs(legs);
    Ok(Answered {
        none: NONE,
        ..answered
            .origin("positions", "okx.defi", Method::Direct)
            .origin("total_usd", "okx.defi", Method::Derived)
    })
}
