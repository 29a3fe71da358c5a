//! The command line: parses the arguments, runs one command, and maps its end to an exit code. The
//! commands do the work in their own modules.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use data_sources::{Clock, SystemClock};
use http_edge::{announce, shutdown_signal};
use recorder::{ProbeArguments, UpstreamsCommand};
use server_config::{environment, start_log};
use server_process::{
    DemoArguments, Failure, ServeArguments, block_on, print, runtime, show, show_findings,
};
use tokio::io::BufReader;

use crate::check;
use crate::config::Config;
use crate::policy::{self, PolicyError};
use crate::serve::{McpServer, Parts, ServeError, dispatcher};
use crate::stdio;
use crate::tools::{self, Tools};
use crate::upstreams::Upstreams;

/// The agent rail: unsigned, checked execution plans over the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "mcp-server", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a configuration at POST /mcp until SIGTERM or Ctrl-C.
    Serve(ServeArguments),
    /// Serve the same tools over standard input and output, for an agent that starts the server
    /// itself.
    Stdio {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Show a swap plan from the request to its execution on an embedded chain, then keep serving.
    /// Needs nothing else.
    Demo(DemoArguments),
    /// Print every tool.
    Tools {
        /// As JSON, with descriptions and schemas.
        #[arg(long)]
        json: bool,
    },
    /// Check a configuration without serving it, and print who is paid what. If keys are unusable,
    /// name each of them and exit with 2.
    CheckConfig {
        /// The TOML file.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Also ask the nodes of the configuration whether the router accepts the reviewed legs.
        /// Exits with 2 if it does not, with 1 if a node cannot be reached.
        #[arg(long)]
        online: bool,
    },
    /// Check the upstreams of a configuration.
    Upstreams {
        #[command(subcommand)]
        command: UpstreamsCommand,
    },
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::config(error)
    }
}

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        Self::config(error)
    }
}

/// Runs the command on the process's command line.
pub fn run() -> ExitCode {
    server_process::forbid_core_dumps();
    server_process::end("mcp-server", execute(Cli::parse().command))
}

fn execute(command: Command) -> Result<(), Failure> {
    match command {
        Command::Serve(arguments) => serve(&arguments.config),
        Command::Stdio { config } => serve_stdio(&config),
        Command::Demo(arguments) => demo(&arguments),
        Command::Tools { json } => {
            let tools = tools::describe(Config::default().brand());
            if json {
                let text = serde_json::to_string_pretty(&tools);
                return print(&text.map_err(io::Error::from)?);
            }
            let lines: Vec<String> = tools
                .iter()
                .map(|tool| format!("{:32} {}", tool.name, tool.title))
                .collect();
            print(&lines.join("\n"))
        }
        Command::Upstreams {
            command: UpstreamsCommand::Probe(arguments),
        } => probe(&arguments),
        Command::CheckConfig { config, online } => check_config(&config, online),
    }
}

#[cfg(feature = "demo")]
fn demo(arguments: &DemoArguments) -> Result<(), Failure> {
    block_on(crate::demo::run(arguments.listen, arguments.once))?.map_err(Failure::other)
}

#[cfg(not(feature = "demo"))]
fn demo(_: &DemoArguments) -> Result<(), Failure> {
    Err(Failure::no_demo("mcp-server"))
}

fn check_config(path: &Path, online: bool) -> Result<(), Failure> {
    let config = Config::load(path, environment())?;
    let policy = policy::read_to_serve(&config.plans)?;
    let report = check::report(&config, &policy.fees);
    let fees = policy.fees.clone();
    Parts::with_policy(&config, policy)?;
    print(&report)?;
    if !online {
        return Ok(());
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let nodes = Upstreams::new(&config, &clock).map_err(ServeError::from)?;
    show_findings(&block_on(check::online::ask(&config, &fees, &nodes))?)
}

/// `upstreams probe`.
fn probe(arguments: &ProbeArguments) -> Result<(), Failure> {
    let config = Config::load(&arguments.config, environment())?;
    let policy = policy::read_to_serve(&config.plans)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let upstreams = Upstreams::new(&config, &clock).map_err(ServeError::from)?;
    let found = block_on(upstreams.reviewed_by(&policy.fees).probe())?;
    let mut secrets = config.upstreams.secrets();
    secrets.extend(config.chains.secrets());
    let printed = arguments
        .print(&found, &secrets, clock.now())
        .map_err(Failure::other)?;
    show(&printed.text, printed.kept.as_deref(), printed.exit_code)
}

fn serve(path: &Path) -> Result<(), Failure> {
    let config = Config::load(path, environment())?;
    start_log(&config.log);
    let parts = open(&config)?.shared(&config);
    block_on(async {
        tracing::info!("{}", check::storage(&config));
        let kept = parts.keep(&config).await?;
        let server = McpServer::compose(&config, parts).await?;
        let shutdown = shutdown_signal();
        announce(server.local_addr());
        let keeping = kept.clone().map(|kept| tokio::spawn(kept.keep_up()));
        server.run(shutdown).await;
        if let (Some(kept), Some(keeping)) = (kept, keeping) {
            keeping.abort();
            kept.save().await;
        }
        Ok(())
    })?
}

fn serve_stdio(path: &Path) -> Result<(), Failure> {
    let config = Config::load(path, environment())?;
    start_log(&config.log);
    let parts = open(&config)?;
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let _kept = parts.keep(&config).await?;
        let dispatcher = Arc::new(dispatcher(&config, parts.toolbox));
        let input = BufReader::new(tokio::io::stdin());
        let most = config.server.max_body_bytes;
        tokio::select! {
            served = stdio::serve(dispatcher, most, input, tokio::io::stdout()) => Ok(served?),
            () = shutdown_signal() => Ok(()),
        }
    });
    // A thread may still wait for a line.
    runtime.shutdown_background();
    served
}

/// The parts of a server whose plans callers will sign.
fn open(config: &Config) -> Result<Parts<Tools<Upstreams>>, Failure> {
    let policy = policy::read_to_serve(&config.plans)?;
    Ok(Parts::with_policy(config, policy)?)
}

#[cfg(not(feature = "demo"))]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_the_demo_has_its_command() {
        let cli = Cli::try_parse_from(["mcp-server", "demo", "--once"]).unwrap();
        assert_eq!(execute(cli.command), Err(Failure::no_demo("mcp-server")));
    }
}
