//! Runs the service that is judged, as its operators do: from the binary, with a configuration
//! file, and by signals.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use test_support::process::{Ended, Server};
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::binary::build;
use crate::{Account, JudgeError, PAYEE};

/// The configuration of an instance. All other keys have the service's defaults.
#[derive(Debug, Clone)]
pub struct ApiServerConfig {
    /// The URL of the chain on which payments settle.
    pub rpc_url: String,
    /// The URL of an x402 facilitator that settles. Without one, the service settles itself.
    pub facilitator_url: Option<String>,
    /// The URL of the stand-in for the DEX aggregator of OKX.
    pub okx_url: String,
    /// The URL of the stand-in for DefiLlama's prices. Without one, no exchange can be judged.
    pub defillama_url: Option<String>,
    /// Further lines of the configuration file.
    pub more: String,
    /// More lines for the table `[payment]`.
    pub payment: String,
}

/// A running `api-server serve`. Dropping it kills the process.
#[derive(Debug)]
pub struct ApiServer {
    process: Server,
    binary: PathBuf,
    _folder: TempDir,
}

/// Builds the binary if it is not up to date.
async fn binary() -> Result<PathBuf, JudgeError> {
    static BINARY: OnceCell<PathBuf> = OnceCell::const_new();
    let binary = BINARY.get_or_try_init(|| build("api-server")).await?;
    Ok(binary.clone())
}

fn folder() -> Result<TempDir, JudgeError> {
    tempfile::tempdir().map_err(|source| JudgeError::File {
        path: env::temp_dir(),
        source,
    })
}

impl ApiServer {
    /// Builds the binary if it is not up to date, and starts it on a free port with an empty
    /// ledger.
    ///
    /// # Errors
    /// The binary cannot be built.
    ///
    /// # Panics
    /// The service does not start.
    pub async fn start(config: &ApiServerConfig) -> Result<Self, JudgeError> {
        let (binary, folder) = (binary().await?, folder()?);
        let file = write(&folder, "service.toml", &config.toml(folder.path()))?;
        write(&folder, "settler.key", Account::SETTLER.private_key)?;

        let mut command = Command::new(&binary);
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
            binary,
            _folder: folder,
        })
    }

    /// Builds the binary if it is not up to date, and starts its demo on a free port. Returns when
    /// the demo has printed the line that contains `last`, with all that it has printed.
    ///
    /// # Errors
    /// The binary cannot be built, or the demo ends before that line.
    ///
    /// # Panics
    /// The demo does not start.
    pub async fn demo(last: &str) -> Result<(Self, String), JudgeError> {
        let (binary, folder) = (binary().await?, folder()?);
        let mut command = Command::new(&binary);
        command.args(["demo", "--listen", "127.0.0.1:0"]);
        let process = Server::start(command.as_std_mut()).await;
        let line = process.wait_for_line(|line| line.contains(last).then_some(()));
        if line.await.is_none() {
            let ended = process.ended().await;
            return Err(JudgeError::Ended {
                program: "api-server demo".to_owned(),
                status: ended.code.to_string(),
                log: ended.stdout + &ended.stderr,
            });
        }
        let printed = process.stdout();
        let demo = Self {
            process,
            binary,
            _folder: folder,
        };
        Ok((demo, printed))
    }

    /// A command of the same program.
    #[must_use]
    pub fn command(&self) -> Command {
        Command::new(&self.binary)
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

    /// Stops the service as an operator would, and waits for its end.
    ///
    /// # Panics
    /// The service does not end in time.
    pub async fn terminate(self) -> Ended {
        self.process.terminate();
        self.process.ended().await
    }
}

impl ApiServerConfig {
    fn toml(&self, folder: &Path) -> String {
        let (rpc_url, okx_url, pay_to) = (&self.rpc_url, &self.okx_url, PAYEE);
        let settlement = match &self.facilitator_url {
            Some(url) => format!("mode = \"facilitator\"\nfacilitator_url = \"{url}\""),
            None => format!(
                "mode = \"onchain\"\nprivate_key_file = \"{}\"",
                folder.join("settler.key").display()
            ),
        };
        let prices = match &self.defillama_url {
            Some(url) => format!("coins_url = \"{url}\""),
            None => "enabled = false".to_owned(),
        };
        let (storage, payment) = (folder.join("service.db"), &self.payment);
        format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n\n\
             [payment]\npay_to = \"{pay_to}\"\n{payment}\n\
             [settlement]\n{settlement}\nrpc_url = \"{rpc_url}\"\n\n\
             [storage]\nurl = \"sqlite://{}\"\n\n\
             [upstreams.okx]\nbase_url = \"{okx_url}\"\n\n\
             [datasets]\nnews = false\nyields = false\n\n\
             [upstreams.defillama]\n{prices}\n\n\
             [upstreams.dexscreener]\nenabled = false\n\n\
             [upstreams.coingecko]\nenabled = false\n{}",
            storage.display(),
            self.more
        )
    }
}

pub(crate) fn write(folder: &TempDir, name: &str, text: &str) -> Result<PathBuf, JudgeError> {
    let path = folder.path().join(name);
    // Some of the files hold keys.
    let private = Permissions::from_mode(0o600);
    let written = fs::write(&path, text).and_then(|()| fs::set_permissions(&path, private));
    written.map_err(|source| JudgeError::File {
        path: path.clone(),
        source,
    })?;
    Ok(path)
}
