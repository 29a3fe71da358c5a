//! `onchain read-back` and `onchain clear-allowance`: read the chain and print the transaction that
//! is left to send. Both send nothing.

use std::{fmt::Write as _, path::PathBuf, thread, time::Instant};

use clap::Args;
use delegation_fence::{Policy, onchain::ChainGrant};
use fence_offline::{
    CommandOutcome, Exit, Failure, Printable,
    onchain::{of_file, transaction},
    policy::PolicyArguments,
    settings::Settings,
};
use serde_json::json;

use crate::{
    confirm::PAUSE,
    node::{ChainState, Endpoint},
};

/// `onchain read-back` and `onchain clear-allowance`.
#[derive(Debug, Args)]
pub struct OnChain {
    /// The grant with its delegations
    #[arg(long, value_name = "FILE")]
    pub grant: PathBuf,
    /// The policy of the grant
    #[command(flatten)]
    pub policy: PolicyArguments,
    /// The endpoint of the chain
    #[command(flatten)]
    pub endpoint: Endpoint,
    /// How long to ask whether it is so, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub timeout: u64,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Reads a grant's delegations in a sealed block. Exit code 0 when all that have to be are
/// disabled, otherwise 5 with the transaction that disables them.
///
/// # Errors
/// A file or an endpoint that cannot be used; `delegations_missing`, `delegation_*`,
/// `chain_mismatch`.
pub fn read_back(arguments: &OnChain) -> Result<CommandOutcome, Failure> {
    let (grant, policy, state) = read(arguments, ChainState::is_over)?;
    let over = state.is_over();
    let exit = if over { Exit::Ok } else { Exit::Unconfirmed };
    let rest = grant.disable(&state.already());
    if arguments.json {
        let rest = rest.as_ref().map(transaction);
        return Ok(CommandOutcome::json(
            &json!({"gone": over, "chain": state, "disable_transaction": rest}),
            exit,
        ));
    }
    let mut said = words(&grant, &policy, &state);
    // Writing to a string cannot fail.
    let _ = match rest {
        None => writeln!(said, "gone: the delegations are disabled in a sealed block"),
        Some(call) => writeln!(
            said,
            "NOT gone: send this from {}: {}",
            grant.account(),
            transaction(&call)
        ),
    };
    Ok(CommandOutcome {
        stdout: said,
        stderr: String::new(),
        exit,
    })
}

/// Reads the router's allowance in a sealed block. Exit code 0 when it is zero, otherwise 5 with
/// the transaction that clears it.
///
/// # Errors
/// As [`read_back`].
pub fn clear_allowance(arguments: &OnChain) -> Result<CommandOutcome, Failure> {
    let (grant, policy, state) = read(arguments, |state| state.allowance.is_zero())?;
    let clear = state.allowance.is_zero();
    let exit = if clear { Exit::Ok } else { Exit::Unconfirmed };
    let call = transaction(&grant.clear_by_account());
    if arguments.json {
        let call = (!clear).then_some(call);
        return Ok(CommandOutcome::json(
            &json!({"allowance": state.allowance.to_string(), "block_number": state.block_number,
                "block_hash": state.block_hash, "clear_transaction": call}),
            exit,
        ));
    }
    let said = if clear {
        format!(
            "clear: the router may take nothing, read in block {} {}\n",
            state.block_number, state.block_hash
        )
    } else {
        format!(
            "NOT clear: the router may take {}, read in block {}; send this from {}: {call}\n",
            amount(&policy, &state),
            state.block_number,
            grant.account()
        )
    };
    Ok(CommandOutcome {
        stdout: said,
        stderr: String::new(),
        exit,
    })
}

/// Asks until the state is reached, or the time is over.
fn read(
    arguments: &OnChain,
    is_so: impl Fn(&ChainState) -> bool,
) -> Result<(ChainGrant, Policy, ChainState), Failure> {
    let (grant, policy) = of_file(&arguments.grant, &arguments.policy)?;
    let node = arguments.endpoint.connect(&Settings::load()?)?;
    let begun = Instant::now();
    loop {
        let state = node.state(&grant)?;
        let patience = std::time::Duration::from_secs(arguments.timeout);
        if is_so(&state) || begun.elapsed().saturating_add(PAUSE) > patience {
            return Ok((grant, policy, state));
        }
        thread::sleep(PAUSE);
    }
}

fn words(grant: &ChainGrant, policy: &Policy, state: &ChainState) -> String {
    let mut said = format!(
        "block             {} {}\naccount           {} ({})\n",
        state.block_number,
        state.block_hash,
        grant.account(),
        if state.code {
            "has the framework's code"
        } else {
            "has NOT the framework's code: nothing can be redeemed while that is so"
        }
    );
    // Writing to a string cannot fail.
    for one in &state.delegations {
        let standing = match (one.disabled, one.has_to_end) {
            (true, _) => "disabled",
            (false, true) => "NOT disabled",
            (false, false) => {
                "not disabled, and need not be: it takes an allowance away and can do nothing else"
            }
        };
        let _ = writeln!(said, "{:18}{} {standing}", one.purpose, one.hash);
    }
    if state.counted_up {
        said.push_str("number            the account has counted up: they count no more\n");
    }
    let _ = writeln!(said, "allowance         {}", amount(policy, state));
    said
}

fn amount(policy: &Policy, state: &ChainState) -> String {
    format!(
        "{} {}",
        exact::format_units(state.allowance, policy.input_decimals()),
        Printable(policy.input_symbol())
    )
}
