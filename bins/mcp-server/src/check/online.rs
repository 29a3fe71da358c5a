//! `check-config --online`: compares a configuration with the nodes that it names. The output and
//! the exit codes are those of `api-server`.

use calldata_checks::FeePolicy;
use plan_builder::ports::{Accounts, PortErrorReason};
use plan_builder::swap::whitelist::{self, Listing};
use server_config::{Finding, Verdict};

use crate::config::Config;

/// Asks the nodes of every chain that is both reviewed and configured.
pub(crate) async fn ask<A: Accounts>(config: &Config, fees: &FeePolicy, nodes: &A) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in config.chains.0.keys() {
        // Reading the configuration has checked the id.
        let Ok(chain_id) = id.parse::<u64>() else {
            continue;
        };
        let key = format!("chains.{id}.rpc_urls");
        let Some(chain) = fees.chain(chain_id) else {
            findings.push(Finding {
                key,
                verdict: Verdict::Agrees,
                said: "swaps are not reviewed on this chain".to_owned(),
            });
            continue;
        };
        findings.extend(chain_findings(
            key,
            &whitelist::of_chain(nodes, fees, chain).await,
        ));
    }
    findings
}

/// Makes one line for a chain whose legs are all on the router's whitelist; otherwise one line for
/// each other leg.
fn chain_findings(key: String, listings: &[Listing]) -> Vec<Finding> {
    if let Some(failed) = listings
        .iter()
        .find_map(|listing| listing.listed.as_ref().err())
    {
        let verdict = match failed.reason {
            PortErrorReason::Refused { .. } | PortErrorReason::NotConfigured { .. } => {
                Verdict::Contradicts
            }
            _ => Verdict::Unreached,
        };
        let said = failed.to_string();
        return vec![Finding { key, verdict, said }];
    }
    let off = listings.iter().filter_map(off_the_whitelist);
    let mut findings: Vec<Finding> = off
        .map(|(key, said)| Finding {
            key: format!("plans.fee_config {key}"),
            verdict: Verdict::Contradicts,
            said,
        })
        .collect();
    if findings.is_empty() {
        findings.push(Finding {
            key,
            verdict: Verdict::Agrees,
            said: format!("the router accepts all {} reviewed calls", listings.len()),
        });
    }
    findings
}

/// Returns the key of a reviewed call that the router refuses, and the reason why a plan over it
/// would revert.
pub(crate) fn off_the_whitelist(listing: &Listing) -> Option<(String, String)> {
    matches!(listing.listed, Ok(false)).then(|| {
        let said = format!(
            "leg_not_whitelisted: the router on chain {} does not accept {} of {}: a plan over it would revert",
            listing.chain_id, listing.function, listing.contract
        );
        (listing.key.clone(), said)
    })
}
