//! The command line: parses the arguments, runs one command, and maps its end to an exit code. The
//! commands do the work in their own modules.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use data_sources::{Clock as _, SystemClock};
use recorder::{ProbeArguments, UpstreamsCommand};
use route_catalog::{Catalog, CatalogConfig};
use server_process::{
    DemoArguments, Failure, ServeArguments, block_on, print, show, show_findings,
};
use x402_wire::{Asset, Network, Terms};

use crate::Sources;
use crate::config::Config;
use crate::ledger_cli::{LedgerCliError, LedgerCommand};
use crate::wallets_cli::{WalletsCliError, WalletsCommand};
use crate::{check, serve};

/// The paid HTTP API: market, token, DeFi, news, derivatives, macro, AI and wallet data. Every call
/// is paid separately with x402 v2 on chain 196.
#[derive(Debug, Parser)]
#[command(name = "api-server", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a configuration until SIGTERM or Ctrl-C.
    Serve(ServeArguments),
    /// Show a paid call from end to end on an embedded chain, then keep serving. Needs nothing
    /// else.
    #[command(mut_arg("listen", |listen| listen.default_value("127.0.0.1:8402")))]
    Demo(DemoArguments),
    /// Print every paid operation.
    Routes {
        /// As JSON, with counts, parameters and prices.
        #[arg(long)]
        json: bool,
    },
    /// Print the OpenAPI 3.1 document.
    Openapi {
        /// The base URL that the document shows.
        #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8402")]
        public_url: String,
    },
    /// Check a configuration without serving it, and print who is paid what. If keys are unusable,
    /// name each of them and exit with 2.
    CheckConfig {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Also ask the facilitator and every node whether they match the configuration. Exits with
        /// 2 if an answer contradicts it, with 1 if something cannot be reached.
        #[arg(long)]
        online: bool,
    },
    /// List, export and sum up payments, look at those whose result is unknown, and decide those
    /// whose result the server cannot determine.
    Ledger {
        #[command(subcommand)]
        command: LedgerCommand,
    },
    /// Manage the keys of sub-wallets that this machine holds.
    Wallets {
        #[command(subcommand)]
        command: WalletsCommand,
    },
    /// Check the upstreams of a configuration.
    Upstreams {
        #[command(subcommand)]
        command: UpstreamsCommand,
    },
}

impl From<LedgerCliError> for Failure {
    fn from(error: LedgerCliError) -> Self {
        match error {
            unreached if unreached.is_unreached() => Self::other(unreached),
            LedgerCliError::NoLedger(_)
            | LedgerCliError::NoTables
            | LedgerCliError::OldTables(_)
            | LedgerCliError::IntoFile
            | LedgerCliError::NoSource(_)
            | LedgerCliError::Source(_)
            | LedgerCliError::Store(_)
            | LedgerCliError::Ledger(_)
            | LedgerCliError::Wallets(_) => Self::config(error),
            LedgerCliError::NotUndecidable(_)
            | LedgerCliError::Damaged { .. }
            | LedgerCliError::NoEntry(_)
            | LedgerCliError::NoIdentifier(_)
            | LedgerCliError::Output(_) => Self::other(error),
        }
    }
}

impl From<WalletsCliError> for Failure {
    fn from(error: WalletsCliError) -> Self {
        Self::config(error)
    }
}

/// Runs the command on the process's command line.
pub fn run_cli() -> ExitCode {
    server_process::forbid_core_dumps();
    server_process::end("api-server", run(Cli::parse().command))
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Serve(arguments) => {
            let config = Config::load(&arguments.config, server_config::environment())?;
            server_config::start_log(&config.log);
            // Some problems show only when a part is opened, such as a damaged ledger or a wrong
            // token name. They are configuration problems, too.
            let served = block_on(serve::serve(&config))?;
            served.map_err(Failure::config)?;
            Ok(())
        }
        Command::Demo(arguments) => demo(&arguments),
        Command::Routes { json: true } => print(&route_catalog::routes_json().to_string()),
        Command::Routes { json: false } => print(&route_catalog::routes_table()),
        Command::Openapi { public_url } => {
            let catalog = Catalog::new(&CatalogConfig {
                public_url,
                brand: crate::config::ServerSection::default().brand,
                contact: None,
                terms: Terms {
                    network: Network::X_LAYER,
                    pay_to: alloy_primitives::Address::ZERO,
                    max_timeout_seconds: 300,
                    assets: Asset::chain_196().to_vec(),
                },
                bazaar_in_header: false,
            });
            let catalog = catalog.map_err(Failure::config)?;
            print(&catalog.openapi_text())
        }
        Command::CheckConfig { config, online } => {
            let config = Config::load(&config, server_config::environment())?;
            let (terms, offering) = serve::check(&config).map_err(Failure::config)?;
            print(&check::report(&config, &terms, &offering))?;
            if online {
                return show_findings(&block_on(check::online::ask(&config, &terms))?);
            }
            Ok(())
        }
        Command::Upstreams {
            command: UpstreamsCommand::Probe(arguments),
        } => probe(&arguments),
        Command::Ledger { command } => {
            let config = Config::load(command.config(), server_config::environment())?;
            if command.asks_others() {
                server_config::start_log(&config.log);
            }
            let mut out = std::io::stdout().lock();
            Ok(block_on(command.run(&config, &mut out))??)
        }
        Command::Wallets { command } => {
            let config = Config::load(command.config(), server_config::environment())?;
            let printed = block_on(command.run(&config))??;
            print(&printed.text)?;
            match printed.is_good {
                true => Ok(()),
                false => Err(Failure::Found(1)),
            }
        }
    }
}

#[cfg(feature = "demo")]
fn demo(arguments: &DemoArguments) -> Result<(), Failure> {
    block_on(crate::demo::run(arguments.listen, arguments.once))?.map_err(Failure::other)
}

#[cfg(not(feature = "demo"))]
fn demo(_: &DemoArguments) -> Result<(), Failure> {
    Err(Failure::no_demo("api-server"))
}

/// `upstreams probe`.
fn probe(arguments: &ProbeArguments) -> Result<(), Failure> {
    let config = Config::load(&arguments.config, server_config::environment())?;
    let sources = Sources::connect(&config, Arc::new(SystemClock)).map_err(Failure::config)?;
    let found = block_on(sources.probe())?;
    let mut secrets = config.upstreams.secrets();
    secrets.extend(config.chains.secrets());
    let printed = arguments
        .print(&found, &secrets, SystemClock.now())
        .map_err(Failure::other)?;
    show(&printed.text, printed.kept.as_deref(), printed.exit_code)
}

#[cfg(not(feature = "demo"))]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_the_demo_has_its_command() {
        let cli = Cli::try_parse_from(["api-server", "demo", "--once"]).unwrap();
        assert_eq!(run(cli.command), Err(Failure::no_demo("api-server")));
    }
}
