#![doc = include_str!("../README.md")]

mod cli;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::Parser as _;
use fence_offline::{ended, grant, key, limit, log, onchain, order, plan, policy, revoke};

use self::cli::{
    Cli, Command, GrantCommand, KeyCommand, LimitCommand, LogCommand, OnchainCommand, OrderCommand,
    PlanCommand, PolicyCommand, RevokeCommand,
};
pub use fence_offline::{CommandOutcome, Exit};

/// Runs the tool with the process's own arguments, streams and clock.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, everything else is a usage error; clap prints each to
            // the right stream.
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Ok
            };
            return match error.print() {
                Ok(()) => exit,
                Err(error) => unwritten(&error, exit),
            }
            .into();
        }
    };
    let outcome = run(cli.command);
    // A lost message changes nothing, but unwritten data must not look like a success.
    drop(io::stderr().write_all(outcome.stderr.as_bytes()));
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(outcome.stdout.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Ok(()) => outcome.exit,
        Err(error) => unwritten(&error, outcome.exit),
    }
    .into()
}

/// The exit after a failed write: a success becomes a file error, any other exit keeps its code.
fn unwritten(error: &io::Error, exit: Exit) -> Exit {
    drop(writeln!(io::stderr(), "error: standard output: {error}"));
    if exit == Exit::Ok { Exit::File } else { exit }
}

fn run(command: Command) -> CommandOutcome {
    match command {
        Command::Policy { command } => of_policy(&command),
        Command::Grant { command } => of_grant(&command),
        Command::Revoke { command } => of_revocation(&command),
        Command::Limit { command } => of_limit(&command),
        Command::Order { command } => of_order(&command),
        Command::Onchain { command } => of_chain(&command),
        Command::Status(arguments) => ended(fence_online::status(&arguments), arguments.json),
        Command::Log { command } => match command {
            LogCommand::Fetch(arguments) => ended(
                fence_online::fetch_log(&arguments),
                arguments.destination.json,
            ),
            LogCommand::Verify(arguments) => ended(log::verify(&arguments), arguments.json),
        },
        Command::Plan { command } => match command {
            PlanCommand::Show(arguments) => plan::show(&arguments),
            PlanCommand::Verify(arguments) => plan::verify(&arguments),
        },
        Command::Key { command } => of_key(&command),
        Command::Completions(arguments) => text(Ok(arguments.print())),
        Command::Man => text(cli::manual()),
    }
}

fn of_policy(command: &PolicyCommand) -> CommandOutcome {
    match command {
        PolicyCommand::Show(arguments) => ended(policy::show(arguments), arguments.json),
        PolicyCommand::Digest(arguments) => ended(policy::digest(arguments), arguments.json),
        PolicyCommand::Lint(arguments) => ended(policy::lint(arguments), arguments.of.json),
    }
}

fn of_grant(command: &GrantCommand) -> CommandOutcome {
    match command {
        GrantCommand::New(arguments) => ended(grant::new(arguments), arguments.destination.json),
        GrantCommand::Sign(arguments) => ended(grant::sign(arguments), arguments.destination.json),
        GrantCommand::Attach(arguments) => {
            ended(grant::attach(arguments), arguments.destination.json)
        }
        GrantCommand::Inspect(arguments) => ended(grant::inspect(arguments), arguments.json),
        GrantCommand::Verify(arguments) => ended(grant::verify(arguments), arguments.json),
        GrantCommand::Submit(arguments) => {
            ended(fence_online::submit_grant(arguments), arguments.json)
        }
    }
}

fn of_revocation(command: &RevokeCommand) -> CommandOutcome {
    match command {
        RevokeCommand::Now(arguments) => ended(fence_online::revoke_now(arguments), arguments.json),
        RevokeCommand::New(arguments) => ended(revoke::new(arguments), arguments.destination.json),
        RevokeCommand::Sign(arguments) => {
            ended(revoke::sign(arguments), arguments.destination.json)
        }
        RevokeCommand::Attach(arguments) => {
            ended(revoke::attach(arguments), arguments.destination.json)
        }
        RevokeCommand::Submit(arguments) => {
            ended(fence_online::submit_revocation(arguments), arguments.json)
        }
        RevokeCommand::Confirm(arguments) => {
            ended(fence_online::confirm(arguments), arguments.json)
        }
    }
}

fn of_limit(command: &LimitCommand) -> CommandOutcome {
    match command {
        LimitCommand::New(arguments) => ended(limit::new(arguments), arguments.destination.json),
        LimitCommand::Sign(arguments) => {
            ended(limit::sign(arguments), arguments.sign.destination.json)
        }
        LimitCommand::Attach(arguments) => {
            ended(limit::attach(arguments), arguments.destination.json)
        }
        LimitCommand::Submit(arguments) => {
            ended(fence_online::submit_limit(arguments), arguments.json)
        }
    }
}

fn of_order(command: &OrderCommand) -> CommandOutcome {
    match command {
        OrderCommand::New(arguments) => ended(order::new(arguments), arguments.destination.json),
        OrderCommand::Sign(arguments) => ended(order::sign(arguments), arguments.destination.json),
        OrderCommand::Attach(arguments) => {
            ended(order::attach(arguments), arguments.destination.json)
        }
        OrderCommand::Submit(arguments) => {
            ended(fence_online::submit_order(arguments), arguments.json)
        }
    }
}

fn of_chain(command: &OnchainCommand) -> CommandOutcome {
    match command {
        OnchainCommand::Delegation(arguments) => {
            ended(onchain::delegation(arguments), arguments.destination.json)
        }
        OnchainCommand::Auth7702(arguments) => {
            ended(onchain::auth7702(arguments), arguments.destination.json)
        }
        OnchainCommand::Disable(arguments) => ended(onchain::disable(arguments), arguments.json),
        OnchainCommand::ReadBack(arguments) => {
            ended(fence_online::read_back(arguments), arguments.json)
        }
        OnchainCommand::ClearAllowance(arguments) => {
            ended(fence_online::clear_allowance(arguments), arguments.json)
        }
    }
}

fn of_key(command: &KeyCommand) -> CommandOutcome {
    match command {
        KeyCommand::New(arguments) => ended(key::new(arguments), arguments.json),
        KeyCommand::Import(arguments) => ended(key::import(arguments), arguments.json),
        KeyCommand::List(arguments) => ended(key::list(arguments), arguments.json),
        KeyCommand::Address(arguments) => ended(key::address(arguments), arguments.json),
    }
}

fn text(bytes: io::Result<Vec<u8>>) -> CommandOutcome {
    match bytes.map(String::from_utf8) {
        Ok(Ok(text)) => CommandOutcome::ok(text),
        Ok(Err(error)) => CommandOutcome::error(error, Exit::File),
        Err(error) => CommandOutcome::error(error, Exit::File),
    }
}
