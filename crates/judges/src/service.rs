//! The service under judgement, as its operators run it: the binary, a configuration file, signals.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use test_support::process::{Ended, Server};
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::binary::build;
use crate::{Account, JudgeError, PAYEE};

/// The configuration of an instance; everything else is the service's default.
#[derive(Debug, Clone)]
pub struct ServiceConfig {
    /// The chain on which payments settle.
    pub rpc_url: String,
    /// The settler: an x402 facilitator, or without one the service itself.
    pub facilitator_url: Option<String>,
    /// The stand-in for the DEX aggregator of OKX.
    pub okx_url: String,
    /// Further lines of the configuration file.
    pub more: String,
}

/// A running `api-server serve`; dropping it kills it.
#[derive(Debug)]
pub struct Service {
    process: Server,
    _folder: TempDir,
}

impl Service {
    /// Builds the binary where it is not up to date and starts it on a free port with an empty
    /// ledger.
    ///
    /// # Errors
    /// When it cannot be built.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start(config: &ServiceConfig) -> Result<Self, JudgeError> {
        static BINARY: OnceCell<PathBuf> = OnceCell::const_new();
        let binary = BINARY.get_or_try_init(|| build("api-server")).await?;
        let folder = tempfile::tempdir().map_err(|source| JudgeError::File {
            path: env::temp_dir(),
            source,
        })?;
        let file = write(&folder, "service.toml", &config.toml(folder.path()))?;
        write(&folder, "settler.key", Account::SETTLER.private_key)?;

        let mut command = Command::new(binary);
        command
            .arg("serve")
            .arg("--config")
            .arg(file)
            .current_dir(folder.path());
        for (name, value) in [
            ("API_KEY", "key"),
            ("SECRET_KEY", "secret"),
            ("PASSPHRASE", "words"),
        ] {
            command.env(format!("SVC__UPSTREAMS__OKX__{name}"), value);
        }
        Ok(Self {
            process: Server::start(command.as_std_mut()).await,
            _folder: folder,
        })
    }

    /// The URL of a path with its query.
    #[must_use]
    pub fn url(&self, path_and_query: &str) -> String {
        self.process.url(path_and_query)
    }

    /// The service's log so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Stops it as an operator would and waits for its end.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn terminate(self) -> Ended {
        self.process.terminate();
        self.process.ended().await
    }
}

impl ServiceConfig {
    fn toml(&self, folder: &Path) -> String {
        let (rpc_url, okx_url, pay_to) = (&self.rpc_url, &self.okx_url, PAYEE);
        let settlement = match &self.facilitator_url {
            Some(url) => format!("mode = \"facilitator\"\nfacilitator_url = \"{url}\""),
            None => format!(
                "mode = \"onchain\"\nprivate_key_file = \"{}\"",
                folder.join("settler.key").display()
            ),
        };
        let storage = folder.join("service.db");
        format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n\n\
             [payment]\npay_to = \"{pay_to}\"\n\n\
             [settlement]\n{settlement}\nrpc_url = \"{rpc_url}\"\n\n\
             [storage]\nurl = \"sqlite://{}\"\n\n\
             [upstreams.okx]\nbase_url = \"{okx_url}\"\n\n\
             [datasets]\nnews = false\nyields = false\n\n\
             [upstreams.defillama]\nenabled = false\n\n\
             [upstreams.dexscreener]\nenabled = false\n\n\
             [upstreams.coingecko]\nenabled = false\n{}",
            storage.display(),
            self.more
        )
    }
}

pub(crate) fn write(folder: &TempDir, name: &str, text: &str) -> Result<PathBuf, JudgeError> {
    let path = folder.path().join(name);
    fs::write(&path, text).map_err(|source| JudgeError::File {
        path: path.clone(),
        source,
    })?;
    Ok(path)
}
