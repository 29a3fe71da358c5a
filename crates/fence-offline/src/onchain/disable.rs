//! `onchain disable`: prints the transaction that ends a permission on the chain. The account sends
//! it with any wallet.

use std::path::PathBuf;

use alloy_primitives::B256;
use clap::Args;
use serde_json::json;

use super::{of_file, transaction};
use crate::{CommandOutcome, Exit, Failure, policy::PolicyArguments};

/// `onchain disable`.
#[derive(Debug, Args)]
pub struct Disable {
    /// The grant with its delegations (`-`: standard input)
    #[arg(long, value_name = "FILE")]
    pub grant: PathBuf,
    /// The policy of the grant
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// A delegation that is disabled already: the manager refuses it a second time; may be repeated
    #[arg(long, value_name = "HASH")]
    pub already: Vec<B256>,
    /// One transaction for each delegation, for an account that has given its code up
    #[arg(long)]
    pub each: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the transaction that ends the permission on the chain. The account sends it with any
/// wallet.
///
/// # Errors
/// A file that cannot be used; `delegations_missing`, `delegation_*`.
pub fn disable(arguments: &Disable) -> Result<CommandOutcome, Failure> {
    let (chain, _) = of_file(&arguments.grant, &arguments.policy)?;
    let calls = match arguments.each {
        true => chain.disable_each(&arguments.already),
        false => chain.disable(&arguments.already).into_iter().collect(),
    };
    if calls.is_empty() {
        let nothing = "nothing is left to be disabled\n";
        return Ok(match arguments.json {
            true => CommandOutcome::json(&json!({"transactions": []}), Exit::Ok),
            false => CommandOutcome::ok("").with_note(nothing),
        });
    }
    let transactions: Vec<_> = calls.iter().map(transaction).collect();
    if arguments.json {
        return Ok(CommandOutcome::json(
            &json!({"transactions": transactions, "delegations": chain.ending()}),
            Exit::Ok,
        ));
    }
    let lines: String = transactions
        .iter()
        .map(|transaction| format!("{transaction}\n"))
        .collect();
    let said = format!(
        "The end of the permission on the chain, sent by {}, for example:\n  cast send TO DATA --rpc-url URL --account NAME\n\
         Revoke at the service first (fence-cli revoke now): that counts at once. Then read back: fence-cli onchain read-back\n",
        chain.account()
    );
    Ok(CommandOutcome::ok(lines).with_note(&said))
}
