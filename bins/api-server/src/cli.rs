//! The command line.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use data_sources::{Clock as _, SystemClock};
use recorder::{LibraryError, ProbeArguments};
use route_catalog::{Catalog, CatalogConfig};
use secrecy::SecretString;
use x402_wire::{Asset, CHAIN_ID, Network, Terms};

use crate::Sources;
use crate::config::{Config, ConfigError};
use crate::ledger_cli::{LedgerCliError, LedgerCommand};
use crate::wallets_cli::{WalletsCliError, WalletsCommand};
use crate::{check, demo, serve};

/// The paid HTTP API: market, token, DeFi, news, derivatives, macro, AI and wallet data, each call
/// paid by itself with x402 v2 on chain 196.
#[derive(Debug, Parser)]
#[command(name = "api-server", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a configuration until SIGTERM or Ctrl-C.
    Serve {
        /// The TOML file. Every key can be overridden by an environment variable SVC__SECTION__KEY.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Show a paid call from end to end on an embedded chain, then keep serving. Needs nothing
    /// else.
    Demo {
        /// Where to listen; port 0 takes a free one.
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8402")]
        listen: SocketAddr,
        /// Exit after the transcript, with 0 only if all of it held.
        #[arg(long)]
        once: bool,
    },
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
    /// Check a configuration without serving it, and print who is paid what. Exits 2 and names
    /// every unusable key otherwise.
    CheckConfig {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Also ask the facilitator and every node whether they are what the configuration says.
        /// Exits 2 when something contradicts it, 1 when something could not be reached.
        #[arg(long)]
        online: bool,
    },
    /// Payments whose outcome no server can find out any more.
    Ledger {
        #[command(subcommand)]
        command: LedgerCommand,
    },
    /// The keys of sub-wallets that this machine holds.
    Wallets {
        #[command(subcommand)]
        command: WalletsCommand,
    },
    /// The upstreams of a configuration.
    Upstreams {
        #[command(subcommand)]
        command: UpstreamsCommand,
    },
}

#[derive(Debug, Subcommand)]
enum UpstreamsCommand {
    /// Ask each upstream one harmless question for each endpoint that is used, and print how it
    /// stands: reachable, key taken, answer read, age of the data, quota left, what it serves. What
    /// has changed is named by its JSON path. Exits 2 when something contradicts, 1 when something
    /// could not be reached. Models are not asked, because each question costs money.
    Probe(ProbeArguments),
}

/// Why a command failed, by exit code.
enum Failure {
    /// 2: the configuration cannot be used.
    Config(String),
    /// 1: anything else.
    Other(String),
    /// What the lines on standard output say.
    Found(u8),
}

impl From<LibraryError> for Failure {
    fn from(error: LibraryError) -> Self {
        Self::Other(error.to_string())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Config(error.to_string())
    }
}

impl From<LedgerCliError> for Failure {
    fn from(error: LedgerCliError) -> Self {
        match error {
            LedgerCliError::NoLedger(_) | LedgerCliError::Ledger(_) => {
                Self::Config(error.to_string())
            }
            LedgerCliError::NotUndecidable(_) | LedgerCliError::Damaged { .. } => {
                Self::Other(error.to_string())
            }
        }
    }
}

impl From<WalletsCliError> for Failure {
    fn from(error: WalletsCliError) -> Self {
        Self::Config(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Other(error.to_string())
    }
}

/// Runs the command that the process was given.
pub fn run_cli() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader such as `head` that closes early is no failure worth words.
        Err(Failure::Other(message)) if message.contains("Broken pipe") => ExitCode::FAILURE,
        Err(failure) => {
            let (message, code) = match failure {
                Failure::Config(message) => (message, 2),
                Failure::Other(message) => (message, 1),
                Failure::Found(code) => return ExitCode::from(code),
            };
            drop(writeln!(io::stderr(), "api-server: {message}"));
            ExitCode::from(code)
        }
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Serve { config } => {
            let config = Config::load(&config, server_config::environment())?;
            server_config::start_log(&config.log);
            // A key that only opening can judge (a damaged ledger, a wrong token name) is a
            // configuration problem, too.
            let served = block_on(serve::serve(&config))?;
            served.map_err(|error| Failure::Config(error.to_string()))?;
            Ok(())
        }
        Command::Demo { listen, once } => {
            let shown = block_on(demo::run(listen, once))?;
            shown.map_err(|error| Failure::Other(error.to_string()))
        }
        Command::Routes { json: true } => print(&route_catalog::routes_json().to_string()),
        Command::Routes { json: false } => print(&route_catalog::routes_table()),
        Command::Openapi { public_url } => {
            let catalog = Catalog::new(&CatalogConfig {
                public_url,
                brand: crate::config::ServerSection::default().brand,
                contact: None,
                terms: Terms {
                    network: Network::evm(CHAIN_ID),
                    pay_to: alloy_primitives::Address::ZERO,
                    max_timeout_seconds: 300,
                    assets: Asset::chain_196().to_vec(),
                },
            });
            let catalog = catalog.map_err(|error| Failure::Config(error.to_string()))?;
            print(&catalog.openapi_text())
        }
        Command::CheckConfig { config, online } => {
            let config = Config::load(&config, server_config::environment())?;
            let (terms, offering) =
                serve::check(&config).map_err(|error| Failure::Config(error.to_string()))?;
            print(&check::report(&config, &terms, &offering))?;
            if online {
                return ask_around(&config, &terms);
            }
            Ok(())
        }
        Command::Upstreams {
            command: UpstreamsCommand::Probe(arguments),
        } => probe(&arguments),
        Command::Ledger { command } => {
            let config = Config::load(command.config(), server_config::environment())?;
            print(&block_on(command.run(&config))??)
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

/// `check-config --online`: a line for each thing that was asked.
fn ask_around(config: &Config, terms: &Terms) -> Result<(), Failure> {
    let findings = block_on(check::online::ask(config, terms))?;
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    print(&lines.join("\n"))?;
    match server_config::exit_code(&findings) {
        0 => Ok(()),
        1 => Err(Failure::Other("something could not be reached".to_owned())),
        _ => Err(Failure::Config(
            "something contradicts the configuration".to_owned(),
        )),
    }
}

/// `upstreams probe`.
fn probe(arguments: &ProbeArguments) -> Result<(), Failure> {
    let config = Config::load(&arguments.config, server_config::environment())?;
    let sources = Sources::connect(&config, Arc::new(SystemClock))
        .map_err(|error| Failure::Config(error.to_string()))?;
    let found = block_on(sources.probe())?;
    let printed = arguments.print(&found, &secrets(&config), SystemClock.now())?;
    print(&printed.text)?;
    if let Some(kept) = printed.kept {
        writeln!(io::stderr(), "{kept}")?;
    }
    match printed.exit_code {
        0 => Ok(()),
        code => Err(Failure::Found(code)),
    }
}

/// What no recording may hold.
fn secrets(config: &Config) -> Vec<SecretString> {
    let nodes = config.chains.0.values().flat_map(|table| &table.rpc_urls);
    let nodes = nodes.map(|url| SecretString::from(url.clone()));
    config
        .upstreams
        .secrets()
        .into_iter()
        .chain(nodes)
        .collect()
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.trim_end())?;
    Ok(out.flush()?)
}

fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(future))
}
