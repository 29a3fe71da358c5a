//! `GET /defi-analytics`: protocols and chains ranked by the value locked in them, or one protocol.

use readings::Extent;
use readings::defi::tvl::{self, Analytics};
use route_catalog::ErrorCode;

use super::fault;
use crate::answer::{Answered, Method};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Defi;

const FRESH_SECONDS: u64 = 900;
const PROTOCOLS: &str = "defillama.protocols";
const CHAINS: &str = "defillama.chains";
/// Members whose `null` means that there is none.
const NONE: &[&str] = &["chain_id"];

pub(super) async fn answer(
    context: &Context,
    defi: &Defi,
    call: &Call,
    extent: Extent,
) -> Result<Answered, ErrorReply> {
    let llama = &defi.defillama;
    let max_age = call.max_age();
    let mut report = SourceReport::default();
    if let Some(name) = call.parameters.text("protocol") {
        let protocols = llama.protocols(max_age).await;
        let protocols = report.accept(protocols.map_err(|error| fault::reply(&error))?);
        let found = tvl::of_protocol(&protocols, name).ok_or_else(|| {
            let message = "no protocol has this slug or name";
            ErrorReply::new(ErrorCode::NotFound, message).detail("reason", "protocol_not_found")
        })?;
        cuts(&mut report, &found);
        let answered = Answered::new(found, FRESH_SECONDS).with_report(report);
        return Ok(Answered {
            none: NONE,
            ..answered.origin("protocols", PROTOCOLS, Method::Direct)
        });
    }
    let (protocols, chains) = tokio::join!(llama.protocols(max_age), llama.chains(max_age));
    let protocols = report.accept(protocols.map_err(|error| fault::reply(&error))?);
    let chains = match chains {
        Ok(chains) => Some(report.accept(chains)),
        Err(error) => {
            report.failed(context, &error);
            for field in ["chains", "total_tvl_usd"] {
                report.missing(field, error.reason(), CHAINS);
            }
            None
        }
    };
    let ranked = tvl::rank(&protocols, chains.as_deref().map(Vec::as_slice), extent);
    cuts(&mut report, &ranked);
    let mut answered = Answered::new(ranked, FRESH_SECONDS)
        .with_report(report)
        .origin("protocols", PROTOCOLS, Method::Direct)
        .origin("gainers", PROTOCOLS, Method::Derived)
        .origin("losers", PROTOCOLS, Method::Derived);
    if chains.is_some() {
        answered = answered.origin("chains", CHAINS, Method::Direct).origin(
            "total_tvl_usd",
            CHAINS,
            Method::Derived,
        );
    }
    answered.none = NONE;
    Ok(answered)
}

/// Records how many rows each ranking shows.
fn cuts(report: &mut SourceReport, found: &Analytics) {
    let totals = found.totals;
    let chains = found.chains.as_ref().map_or(totals.chains, Vec::len);
    for (place, shown, total) in [
        ("chains", chains, totals.chains),
        ("protocols", found.protocols.len(), totals.protocols),
        ("gainers", found.gainers.len(), totals.gainers),
        ("losers", found.losers.len(), totals.losers),
    ] {
        report.cut(place, shown, total);
    }
}
