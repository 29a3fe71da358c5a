//! The scans of one token by the scanners that cover its chain. One scan is enough; `readings`
//! merges several into a verdict.

use std::time::Duration;

use alloy_primitives::Address;
use data_sources::{Error, Provenance, SourceStatus, Sourced};
use readings::security::Scan;
use route_catalog::HOME_CHAIN;
use serde_json::{Map, Value};

use super::super::fault;
use crate::context::Context;
use crate::reply::ErrorReply;
use crate::sources::Security;

const OKX: &str = "okx.token-scan";
const GOPLUS: &str = "goplus.token-security";

/// The answers of the scanners, and the scanners without an answer.
#[derive(Debug)]
pub(in crate::operations) struct Scanned {
    pub(in crate::operations) chain_id: u64,
    pub(in crate::operations) token: Address,
    /// The scans, the core source first.
    pub(in crate::operations) scans: Vec<Scan>,
    /// The sources that were asked, the core source first.
    pub(in crate::operations) sources: Vec<Provenance>,
    /// The sources without an answer, with the reasons.
    unanswered: Vec<(&'static str, String)>,
}

impl Scanned {
    /// The failure of the first scanner without an answer. If all answered, the reason that none
    /// checked.
    pub(in crate::operations) fn why_missing(&self) -> (String, &'static str) {
        match self.unanswered.first() {
            Some((source, reason)) => (reason.clone(), source),
            None => ("not_named_by_source".to_owned(), self.core()),
        }
    }

    /// The first scanner that answered.
    pub(in crate::operations) fn core(&self) -> &'static str {
        self.scans.first().map_or("", |scan| scan.source)
    }
}

/// Asks both scanners at once. OKX comes first on the home chain, GoPlus elsewhere. One scan is
/// enough for an answer.
///
/// # Errors
/// `core_data_missing` when there is no scan at all.
pub(in crate::operations) async fn of(
    context: &Context,
    security: &Security,
    chain_id: u64,
    token: Address,
    max_age: Option<Duration>,
) -> Result<Scanned, ErrorReply> {
    let home = chain_id == HOME_CHAIN.id;
    let okx = security.okx.token_scan(chain_id, token, max_age);
    let goplus = async {
        let covered = security
            .goplus
            .supported_chains()
            .await
            .map(|chains| chains.value.contains(&chain_id));
        match covered {
            Ok(true) => {}
            // On other chains GoPlus is the first choice and is asked even if its list of chains is
            // unavailable.
            Err(_) if !home => {}
            Ok(false) => return Err(NoAnswer::NotCovered),
            Err(error) => return Err(NoAnswer::Failed(error)),
        }
        security
            .goplus
            .token_security(chain_id, token, max_age)
            .await
            .map_err(NoAnswer::Failed)
    };
    let (okx, goplus) = tokio::join!(okx, goplus);
    let mut answers = [(OKX, okx.map_err(NoAnswer::Failed)), (GOPLUS, goplus)];
    if !home {
        answers.reverse();
    }
    collect(context, chain_id, token, answers)
}

/// The reason why a scanner did not answer.
#[derive(Debug)]
enum NoAnswer {
    NotCovered,
    Failed(Error),
}

impl NoAnswer {
    fn reason(&self) -> String {
        match self {
            Self::NotCovered => "chain_not_covered".to_owned(),
            Self::Failed(error) => error.reason(),
        }
    }
}

fn collect(
    context: &Context,
    chain_id: u64,
    token: Address,
    answers: [(&'static str, Result<Sourced<Scan>, NoAnswer>); 2],
) -> Result<Scanned, ErrorReply> {
    let mut scanned = Scanned {
        chain_id,
        token,
        scans: Vec::new(),
        sources: Vec::new(),
        unanswered: Vec::new(),
    };
    for (source, answer) in answers {
        match answer {
            Ok(found) => {
                scanned.scans.push(found.value);
                scanned.sources.extend(found.sources);
            }
            Err(unanswered) => {
                let reason = unanswered.reason();
                scanned.sources.push(Provenance {
                    source,
                    status: SourceStatus::Unavailable {
                        reason: reason.clone(),
                    },
                    as_of: None,
                    fetched_at: context.now(),
                    latency_ms: 0,
                    mode: context.mode_of(source),
                    cached: false,
                    reference: false,
                });
                scanned.unanswered.push((source, reason));
            }
        }
    }
    if scanned.scans.is_empty() {
        return Err(nothing(&scanned.unanswered));
    }
    Ok(scanned)
}

/// The error without a scan: no scanner knows the token, or none could be asked.
fn nothing(unanswered: &[(&'static str, String)]) -> ErrorReply {
    let asked = unanswered
        .iter()
        .map(|(source, reason)| ((*source).to_owned(), Value::from(reason.clone())));
    let reason = unanswered
        .first()
        .map(|(_, reason)| reason.clone())
        .unwrap_or_default();
    let answered = |reason: &str| matches!(reason, "no_scan" | "chain_not_covered");
    fault::core_missing("security_scan", reason)
        .detail("sources", Value::Object(asked.collect::<Map<_, _>>()))
        .retryable(!unanswered.iter().all(|(_, reason)| answered(reason)))
}
