//! `GET /token-security`, and what the other routes that vet a token share with it.

pub(super) mod holders;
pub(super) mod scans;
pub(super) mod trading;

use alloy_primitives::Address;
use data_sources::{NATIVE_COIN, TokenList};
use readings::security::{Check, Concentration, Holding, SecurityReport, Verdict};
use route_catalog::{ErrorCode, HOME_CHAIN};

use self::{holders::Held, scans::Scanned};
use super::{Call, legs::Legs};
use crate::Sources;
use crate::answer::{Answered, Method, Origin};
use crate::reply::ErrorReply;

/// How long a scan counts as fresh.
const FRESH_SECONDS: u64 = 600;

pub(super) async fn answer(sources: &Sources, call: &Call) -> Result<Answered, ErrorReply> {
    let token = contract(call)?;
    let chain_id = call
        .parameters
        .chain("chain")
        .map_or(HOME_CHAIN.id, |chain| chain.id);
    audit(sources, chain_id, token, call.max_age()).await
}

/// The whole answer over one token.
///
/// # Errors
/// What a caller is told when no scanner knows the token.
pub(super) async fn audit(
    sources: &Sources,
    chain_id: u64,
    token: Address,
    max_age: Option<std::time::Duration>,
) -> Result<Answered, ErrorReply> {
    let home = chain_id == HOME_CHAIN.id;
    let held = async {
        match home {
            true => holders::held(sources, token, max_age).await,
            false => Held::default(),
        }
    };
    let list = async {
        match home {
            true => Some(sources.okx.tokens(None).await),
            false => None,
        }
    };
    let (scanned, held, list) =
        tokio::join!(scans::of(sources, chain_id, token, max_age), held, list);
    let scanned = scanned?;
    let mut legs = Legs::default();
    let mut report = report(&mut legs, sources, &scanned, &held);
    if let Some(Ok(list)) = list
        && let Some(listed) = list
            .value
            .tokens
            .iter()
            .find(|listed| listed.address == token)
        && report.token.symbol.is_none()
    {
        report.token.symbol = Some(listed.symbol.clone());
        report.token.name = report.token.name.or_else(|| listed.name.clone());
        // A name does not age a scan.
        let named = data_sources::Sourced {
            value: (),
            sources: list.sources,
        };
        legs.got(named.as_reference());
    }
    unknowns(&mut legs, &report, &scanned, "");
    let origins = origins(&report, &scanned, "");
    let none: &[&str] = if report.ownership.renounced == Some(true) {
        &["owner"]
    } else {
        &[]
    };
    let mut answered = Answered::new(report, FRESH_SECONDS).with_legs(legs);
    answered.origins = origins;
    answered.none = none;
    Ok(answered)
}

/// The token that the call is about.
pub(super) fn contract(call: &Call) -> Result<Address, ErrorReply> {
    let token = call.parameters.address("address").unwrap_or_default();
    if token.is_zero() || token == NATIVE_COIN {
        return Err(ErrorReply::new(
            ErrorCode::Unsupported,
            "there is no contract at this address: it stands for the native coin or for nobody",
        )
        .detail("reason", "no_contract"));
    }
    Ok(token)
}

/// The merged report; what the chain's own market knows of the holders completes it.
pub(super) fn report(
    legs: &mut Legs,
    sources: &Sources,
    scanned: &Scanned,
    held: &Held,
) -> SecurityReport {
    for provenance in &scanned.sources {
        legs.got(data_sources::Sourced {
            value: (),
            sources: vec![provenance.clone()],
        });
    }
    let holding = held.holding(&scanned.scans);
    held.list(legs, sources);
    let scans = held.with_origin(&scanned.scans);
    let mut report = SecurityReport::new(scanned.chain_id, scanned.token, &scans, &holding);
    held.complete(&mut report);
    let list = match scanned.chain_id == HOME_CHAIN.id {
        true => holders::SOURCE,
        false => scanned.core(),
    };
    explain_holding(legs, &holding, list);
    report
}

/// Names why there is no concentration.
fn explain_holding(legs: &mut Legs, holding: &Holding, list: &'static str) {
    let Some(reason) = holding.missing else {
        return;
    };
    for member in ["top10_pct", "top10_counted"] {
        legs.missing(&format!("holders.{member}"), reason, list);
    }
}

/// Names every check that nobody could make and every figure that the verdict leaves open, with what
/// kept the source from it that would have known. `at` is the place of the report in `data`, with a
/// final point.
pub(super) fn unknowns(legs: &mut Legs, report: &SecurityReport, scanned: &Scanned, at: &str) {
    let (reason, source) = scanned.gap();
    for check in Check::ALL {
        if report.check(check).is_none() {
            legs.missing(&format!("{at}checks.{check}.value"), reason.clone(), source);
        }
    }
    if report.verdict == Verdict::Unknown {
        for member in ["score", "risk_level"] {
            legs.missing(&format!("{at}{member}"), "honeypot_not_ruled_out", source);
        }
    }
}

/// Which source each member is from.
pub(super) fn origins(report: &SecurityReport, scanned: &Scanned, at: &str) -> Vec<Origin> {
    let core = scanned.core();
    let derived = |member: &str| Origin::new(format!("{at}{member}"), core, Method::Derived);
    let mut origins = vec![derived("verdict"), derived("score"), derived("risk_level")];
    for (check, reading) in &report.checks {
        if let Some(source) = reading.source {
            origins.push(Origin::new(
                format!("{at}checks/{check}/value"),
                source,
                Method::Direct,
            ));
        }
    }
    origins
}

/// Whether a figure is a lower bound: fewer than ten holders were counted of more that there are.
pub(super) fn is_lower_bound(concentration: &Concentration, count: Option<u64>) -> bool {
    let counted = u64::try_from(concentration.counted).unwrap_or(u64::MAX);
    counted < 10 && count.is_none_or(|count| count > counted)
}
