//! Runs the agent rail that is judged, as its operators do: from the binary, with a configuration
//! file, and by signals.

use std::env;
use std::path::PathBuf;

use tempfile::TempDir;
use test_support::process::{Ended, Server};
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::JudgeError;
use crate::api_server::write;
use crate::binary::build;

/// The configuration of an instance. All other keys have the server's defaults.
#[derive(Debug, Clone)]
pub struct McpServerConfig {
    /// The reviewed fee configuration, as TOML.
    pub fees: String,
    /// The URL of the aggregator of swaps.
    pub lifi_url: String,
    /// The URL of the service that states the fees of bridges.
    pub circle_url: String,
    /// The URL of the prediction market's order book.
    pub clob_url: String,
    /// The URL of the prediction market's listings.
    pub gamma_url: String,
    /// The URL of the perpetuals venue.
    pub hyperliquid_url: String,
    /// The URL of the source of tokens' prices.
    pub coins_url: String,
    /// The URL of the source of exchange pairs.
    pub dexscreener_url: String,
    /// The URLs of nodes, by the id of their chain.
    pub rpc_urls: Vec<(u64, String)>,
}

/// A running `mcp-server serve`. Dropping it kills the process.
#[derive(Debug)]
pub struct McpServer {
    process: Server,
    _program: McpProgram,
}

/// The binary with a configuration file, for clients that start the server themselves.
#[derive(Debug)]
pub struct McpProgram {
    binary: PathBuf,
    config: PathBuf,
    _folder: TempDir,
}

impl McpServer {
    /// Builds the binary if it is not up to date, and starts it on a free port.
    ///
    /// # Errors
    /// The binary cannot be built.
    ///
    /// # Panics
    /// The server does not start.
    pub async fn start(config: &McpServerConfig) -> Result<Self, JudgeError> {
        let program = McpProgram::install(config).await?;
        let mut command = Command::new(&program.binary);
        command.arg("serve").arg("--config").arg(&program.config);
        Ok(Self {
            process: Server::start(command.as_std_mut()).await,
            _program: program,
        })
    }

    /// The URL of the protocol's endpoint.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.process.url("/mcp")
    }

    /// The server's log so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Stops the server as an operator would, and waits for its end.
    ///
    /// # Panics
    /// The server does not end in time.
    pub async fn terminate(self) -> Ended {
        self.process.terminate();
        self.process.ended().await
    }
}

impl McpProgram {
    /// Builds the binary if it is not up to date, and writes the configuration. Dropping the result
    /// removes the files.
    ///
    /// # Errors
    /// The binary cannot be built, or the files cannot be written.
    pub async fn install(config: &McpServerConfig) -> Result<Self, JudgeError> {
        static BINARY: OnceCell<PathBuf> = OnceCell::const_new();
        let binary = BINARY.get_or_try_init(|| build("mcp-server")).await?;
        let folder = tempfile::tempdir().map_err(|source| JudgeError::File {
            path: env::temp_dir(),
            source,
        })?;
        write(&folder, "fees.toml", &config.fees)?;
        let file = write(&folder, "server.toml", &config.toml())?;
        Ok(Self {
            binary: binary.clone(),
            config: file,
            _folder: folder,
        })
    }

    /// The command line with which a client starts the server on its standard input and output.
    #[must_use]
    pub fn stdio(&self) -> [String; 4] {
        [
            self.binary.display().to_string(),
            "stdio".to_owned(),
            "--config".to_owned(),
            self.config.display().to_string(),
        ]
    }
}

impl McpServerConfig {
    fn toml(&self) -> String {
        let Self {
            lifi_url,
            circle_url,
            clob_url,
            gamma_url,
            hyperliquid_url,
            coins_url,
            dexscreener_url,
            ..
        } = self;
        let chains: String = self
            .rpc_urls
            .iter()
            .map(|(id, url)| format!("\n[chains.{id}]\nrpc_urls = [\"{url}\"]\n"))
            .collect();
        format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n\n\
             [plans]\nfee_config = \"fees.toml\"\n\n\
             [upstreams.lifi]\nbase_url = \"{lifi_url}\"\n\n\
             [upstreams.circle]\nbase_url = \"{circle_url}\"\n\n\
             [upstreams.polymarket]\nclob_url = \"{clob_url}\"\ngamma_url = \"{gamma_url}\"\n\n\
             [upstreams.hyperliquid]\nbase_url = \"{hyperliquid_url}\"\n\n\
             [upstreams.defillama]\ncoins_url = \"{coins_url}\"\n\n\
             [upstreams.dexscreener]\nbase_url = \"{dexscreener_url}\"\n{chains}"
        )
    }
}
