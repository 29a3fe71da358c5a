//! `GET /token-security`, and the parts that other vetting routes share.

pub(super) mod holders;
pub(super) mod scans;
pub(super) mod trading;

use alloy_primitives::Address;
use data_sources::NATIVE_COIN;
use readings::security::{Check, Holding, SecurityReport, Verdict};
use route_catalog::{ErrorCode, HOME_CHAIN};

use self::{holders::Held, scans::Scanned};
use crate::answer::{Answered, Method, Origin};
use crate::call::Call;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::source_report::SourceReport;
use crate::sources::Security;

/// The seconds for which a scan counts as fresh.
const FRESH_SECONDS: u64 = 600;

pub(super) async fn answer(
    context: &Context,
    security: &Security,
    call: &Call,
) -> Result<Answered, ErrorReply> {
    let token = contract(call)?;
    let chain_id = call
        .parameters
        .chain("chain")
        .map_or(HOME_CHAIN.id, |chain| chain.id);
    audit(context, security, chain_id, token, call.max_age()).await
}

/// The complete answer about one token.
///
/// # Errors
/// The error when no scanner knows the token.
pub(super) async fn audit(
    context: &Context,
    security: &Security,
    chain_id: u64,
    token: Address,
    max_age: Option<std::time::Duration>,
) -> Result<Answered, ErrorReply> {
    let home = chain_id == HOME_CHAIN.id;
    let held = async {
        match home {
            true => holders::held(&security.okx, token, max_age).await,
            false => Held::default(),
        }
    };
    let list = async {
        match home {
            true => Some(security.okx.tokens(None).await),
            false => None,
        }
    };
    let (scanned, held, list) = tokio::join!(
        scans::of(context, security, chain_id, token, max_age),
        held,
        list
    );
    let scanned = scanned?;
    let mut report = SourceReport::default();
    let mut findings = merged(&mut report, context, &scanned, &held);
    if let Some(Ok(list)) = list
        && let Some(listed) = list
            .value
            .tokens
            .iter()
            .find(|listed| listed.address == token)
        && findings.token.symbol.is_none()
    {
        findings.token.symbol = Some(listed.symbol.clone());
        findings.token.name = findings.token.name.or_else(|| listed.name.clone());
        // A name does not age a scan.
        let named = data_sources::Sourced {
            value: (),
            sources: list.sources,
        };
        report.accept(named.as_reference());
    }
    unknowns(&mut report, &findings, &scanned, "");
    left_out(&mut report, &findings, "");
    let origins = origins(&findings, &scanned, "");
    let none: &[&str] = if findings.ownership.renounced == Some(true) {
        &["owner"]
    } else {
        &[]
    };
    let mut answered = Answered::new(findings, FRESH_SECONDS).with_report(report);
    answered.origins = origins;
    answered.none = none;
    Ok(answered)
}

/// The token of the call.
pub(super) fn contract(call: &Call) -> Result<Address, ErrorReply> {
    let token = call.parameters.address("address").unwrap_or_default();
    if token.is_zero() || token == NATIVE_COIN {
        return Err(ErrorReply::new(
            ErrorCode::Unsupported,
            "there is no contract at this address: it means the native coin or nothing",
        )
        .detail("reason", "no_contract"));
    }
    Ok(token)
}

/// Merges the findings and completes them with the holders in the chain's own market.
pub(super) fn merged(
    report: &mut SourceReport,
    context: &Context,
    scanned: &Scanned,
    held: &Held,
) -> SecurityReport {
    for provenance in &scanned.sources {
        report.accept(data_sources::Sourced {
            value: (),
            sources: vec![provenance.clone()],
        });
    }
    let holding = held.holding(&scanned.scans);
    held.list(report, context);
    let scans = held.with_origin(&scanned.scans);
    let mut findings = SecurityReport::new(scanned.chain_id, scanned.token, &scans, &holding);
    held.complete(&mut findings);
    let list = match scanned.chain_id == HOME_CHAIN.id {
        true => holders::SOURCE,
        false => scanned.core(),
    };
    explain_holding(report, &holding, list);
    findings
}

/// Lists why there is no concentration.
fn explain_holding(report: &mut SourceReport, holding: &Holding, list: &'static str) {
    let Some(reason) = holding.missing else {
        return;
    };
    for member in ["top10_pct", "top10_counted"] {
        report.missing(&format!("holders.{member}"), reason, list);
    }
}

/// Lists every missing check and every figure that the verdict leaves open, with the failure of the
/// source that would have provided it. `at` is the place of the findings in `data`, with a final
/// dot.
pub(super) fn unknowns(
    report: &mut SourceReport,
    findings: &SecurityReport,
    scanned: &Scanned,
    at: &str,
) {
    let (reason, source) = scanned.why_missing();
    for check in Check::ALL {
        if findings.check(check).is_none() {
            report.missing(&format!("{at}checks.{check}.value"), reason.clone(), source);
        }
    }
    if findings.verdict == Verdict::Unknown {
        for member in ["score", "risk_level"] {
            report.missing(&format!("{at}{member}"), "honeypot_not_ruled_out", source);
        }
    }
}

/// Records how many pools are listed. `at` is as in [`unknowns`].
pub(super) fn left_out(report: &mut SourceReport, findings: &SecurityReport, at: &str) {
    let listed = &findings.liquidity;
    let place = format!("{at}liquidity.pools");
    report.cut(&place, listed.pools.len(), listed.pools_total);
}

/// The source of each member.
pub(super) fn origins(findings: &SecurityReport, scanned: &Scanned, at: &str) -> Vec<Origin> {
    let core = scanned.core();
    let derived = |member: &str| Origin::new(format!("{at}{member}"), core, Method::Derived);
    let mut origins = vec![derived("verdict"), derived("score"), derived("risk_level")];
    for (check, reading) in &findings.checks {
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
